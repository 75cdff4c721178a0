/* Buffers that are reused as soon as the program knows that their sends are complete, however it learns it.
 *
 * Every second rank sends to its neighbor. Nothing may be found, with and without `--check`.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define SIZES 3
#define TAG 3

static const int sizes[SIZES] = {1, 1000, 1 << 19};
static int rank, peer, count;
static int *values;

static void change(void)
{
    for (int i = 0; i < count; i++)
        values[i]++;
}

static void receive(int times)
{
    for (int i = 0; i < times; i++)
        MPI_Recv(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The neighbor receives the same number of messages for each of these. */
static void waited_for(void)
{
    MPI_Request request;
    MPI_Isend(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    change();
    MPI_Issend(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    for (int done = 0; !done;)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    change();
}

/* Queried first, so that the buffer may be changed before the call that frees the request. */
static void queried(void)
{
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Isend(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
        for (int done = 0; !done;)
            MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
    change();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Starts two sends from two buffers. Returns the second one. */
static int *start_two(MPI_Request requests[2])
{
    int *second = malloc(count * sizeof(int));
    memcpy(second, values, count * sizeof(int));
    MPI_Isend(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(second, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[1]);
    return second;
}

static void one_by_one(void)
{
    MPI_Request requests[2];
    int *second = start_two(requests);
    for (int i = 0; i < 2; i++) {
        int which;
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        int *complete = which ? second : values;
        for (int k = 0; k < count; k++)
            complete[k] = -k;
    }
    free(second);
}

static void in_order(void)
{
    MPI_Request requests[2];
    int *second = start_two(requests);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    change();
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    second[0]++;
    free(second);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Send_init(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[1]);
    change();
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    change();
    for (int i = 0; i < 2; i++) {
        MPI_Start(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        change();
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void buffered(void)
{
    int room = 2 * (count * sizeof(int) + MPI_BSEND_OVERHEAD);
    void *space = malloc(room);
    MPI_Request requests[2];
    MPI_Buffer_attach(space, room);
    for (int i = 0; i < 2; i++)
        MPI_Ibsend(values, count, MPI_INT, peer, TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    change();
    MPI_Buffer_detach(&space, &room);
    free(space);
}

/* A send that the program asked to cancel completes whatever the receiver does. Short, since libraries that cannot
 * cancel sends complete only those. */
static void cancelled(void)
{
    int one = 1, flag = 0;
    MPI_Request request;
    MPI_Status status;
    if (rank % 2) {
        MPI_Recv(&flag, 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (!flag)
            MPI_Recv(&one, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    MPI_Isend(&one, 1, MPI_INT, peer, TAG, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    MPI_Send(&flag, 1, MPI_INT, peer, TAG + 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = rank ^ 1;
    for (int i = 0; i < SIZES; i++) {
        count = sizes[i];
        values = calloc(count, sizeof(int));
        if (rank % 2) {
            receive(14);
        } else {
            waited_for();
            queried();
            one_by_one();
            in_order();
            persistent();
            buffered();
        }
        free(values);
    }
    cancelled();
    MPI_Finalize();
    return 0;
}
