/* Receive buffers that are used as soon as the program knows that the messages have arrived, however it learns it.
 *
 * Every second rank receives from its neighbor. Nothing may be found, with and without `--check`.
 */
#include <mpi.h>
#include <stdlib.h>

#define SIZES 3
#define TAG 3

static const int sizes[SIZES] = {1, 1000, 1 << 19};
static int rank, peer, count;
static int *values, *others;

static void use(int *received)
{
    for (int i = 0; i < count; i++)
        received[i] = -i - rank;
}

/* Different contents each time, so that a message in the wrong place would be seen. */
static void send(int times)
{
    static int next = 1;
    for (int i = 0; i < times; i++, next++) {
        for (int k = 0; k < count; k++)
            values[k] = next * 100 + k % 100;
        MPI_Send(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD);
    }
}

/* The neighbor sends the same number of messages for each of these. */
static void waited_for(void)
{
    MPI_Request request;
    use(values);
    MPI_Irecv(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(values);
    MPI_Irecv(values, count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
    for (int done = 0; !done;)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    use(values);
}

/* Queried first, so that the buffer may be used before the call that frees the request. */
static void queried(void)
{
    MPI_Request request;
    MPI_Irecv(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    for (int done = 0; !done;)
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    use(values);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Two messages in two buffers, the first of them longer than what is sent; completed one by one. */
static void one_by_one(void)
{
    MPI_Request requests[2];
    MPI_Irecv(others, 2 * count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        int which;
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        use(which ? values : others);
    }
}

static void some_of_them(void)
{
    MPI_Request requests[2];
    MPI_Irecv(others, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[1]);
    for (int left = 2; left;) {
        int complete, which[2];
        MPI_Testsome(2, requests, &complete, which, MPI_STATUSES_IGNORE);
        for (int i = 0; i < complete; i++, left--)
            use(which[i] ? values : others);
    }
}

static void persistent(void)
{
    MPI_Request request;
    MPI_Recv_init(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 3; i++) {
        use(values);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

/* The receive is cancelled, or got the message: then the buffer belongs to the program. */
static void cancelled(void)
{
    MPI_Request request;
    MPI_Irecv(values, count, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(values);
}

static void matched(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Mprobe(peer, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(values, count, MPI_INT, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(values);
}

/* Another message is received into the buffer after the probe, and taken out of it before the matched receive. */
static void between_probe_and_receive(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Mprobe(peer, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Irecv(values, count, MPI_INT, 0, TAG, MPI_COMM_SELF, &request);
    MPI_Send(others, count, MPI_INT, 0, TAG, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(values);
    MPI_Mrecv(values, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    use(values);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = rank ^ 1;
    for (int i = 0; i < SIZES; i++) {
        count = sizes[i];
        values = calloc(count, sizeof(int));
        others = calloc(2 * count, sizeof(int));
        if (rank % 2) {
            send(12);
        } else {
            waited_for();
            queried();
            one_by_one();
            some_of_them();
            persistent();
            cancelled();
            matched();
            between_probe_and_receive();
        }
        free(values);
        free(others);
    }
    MPI_Finalize();
    return 0;
}
