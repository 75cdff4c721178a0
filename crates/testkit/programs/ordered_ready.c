/* Ready sends whose receivers have told their senders, in every way a rank can, that the receives are posted.
 *
 * Every second rank sends to its neighbor. Nothing may be found, with and without `--check`.
 */
#include <mpi.h>
#include <stddef.h>

#define TAG 3
#define ROUNDS 4

static int rank, peer, values[4], others[4];

static void send(void)
{
    MPI_Rsend(values, 4, MPI_INT, peer, TAG, MPI_COMM_WORLD);
}

static void post(MPI_Request *request)
{
    MPI_Irecv(values, 4, MPI_INT, peer, TAG, MPI_COMM_WORLD, request);
}

static void after_a_barrier(void)
{
    MPI_Request request;
    if (rank % 2)
        post(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
        send();
}

static void after_a_message(void)
{
    MPI_Request request;
    if (rank % 2) {
        post(&request);
        MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send();
    }
}

/* The receive that is posted first takes the message, though it names no sender. */
static void to_any_source(void)
{
    MPI_Request requests[2];
    if (rank % 2) {
        MPI_Irecv(others, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
        post(&requests[1]);
        MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send();
        MPI_Send(values, 4, MPI_INT, peer, TAG, MPI_COMM_WORLD);
    }
}

static void persistent(void)
{
    MPI_Request request;
    if (rank % 2)
        MPI_Recv_init(values, 4, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    else
        MPI_Rsend_init(values, 4, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 2; i++) {
        if (rank % 2)
            MPI_Start(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank % 2 == 0)
            MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

static void to_itself(void)
{
    MPI_Request request;
    int received[4];
    MPI_Irecv(received, 4, MPI_INT, 0, TAG, MPI_COMM_SELF, &request);
    MPI_Rsend(values, 4, MPI_INT, 0, TAG, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = rank ^ 1;
    for (int i = 0; i < ROUNDS; i++) {
        after_a_barrier();
        after_a_message();
        to_any_source();
        persistent();
        to_itself();
    }
    MPI_Finalize();
    return 0;
}
