/* Every way to send: standard, buffered, synchronous, ready; blocking, non-blocking, persistent; combined. */
#include "expect.h"

static int peer;
static long sum;

static void take(int tag)
{
    int got = 0;
    MPI_Status status;
    CALL(MPI_Recv, &got, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &status);
    sum += got;
}

static void blocking(void)
{
    int value = expect_rank + 1, size = 0;
    static char room[65536];
    void *old;
    CALL(MPI_Buffer_attach, room, sizeof room);
    for (int i = 0; i < 3; i++) {
        if (expect_rank % 2 == 0) {
            CALL(MPI_Send, &value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
            CALL(MPI_Ssend, &value, 1, MPI_INT, peer, 2, MPI_COMM_WORLD);
            take(3);
        } else {
            take(1);
            take(2);
            CALL(MPI_Send, &value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);
        }
        CALL(MPI_Bsend, &value, 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
        take(4);
    }
    CALL(MPI_Buffer_detach, &old, &size);
    sum += size == (int) sizeof room;
}

/* A ready send needs its receive posted first, which the empty message announces. */
static void ready(void)
{
    int value = expect_rank + 1, got = 0;
    MPI_Request request;
    CALL(MPI_Irecv, &got, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &request);
    CALL(MPI_Sendrecv, NULL, 0, MPI_INT, peer, 6, NULL, 0, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CALL(MPI_Rsend, &value, 1, MPI_INT, peer, 5, MPI_COMM_WORLD);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    sum += got;
}

static void nonblocking(void)
{
    int values[4] = {1, 2, 3, expect_rank}, got[4] = {0};
    MPI_Request requests[8];
    static char room[65536];
    void *old;
    int size;
    CALL(MPI_Buffer_attach, room, sizeof room);
    for (int i = 0; i < 4; i++)
        CALL(MPI_Irecv, &got[i], 1, MPI_INT, peer, 10 + i, MPI_COMM_WORLD, &requests[i]);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_Isend, &values[0], 1, MPI_INT, peer, 10, MPI_COMM_WORLD, &requests[4]);
    CALL(MPI_Ibsend, &values[1], 1, MPI_INT, peer, 11, MPI_COMM_WORLD, &requests[5]);
    CALL(MPI_Issend, &values[2], 1, MPI_INT, peer, 12, MPI_COMM_WORLD, &requests[6]);
    CALL(MPI_Irsend, &values[3], 1, MPI_INT, peer, 13, MPI_COMM_WORLD, &requests[7]);
    CALL(MPI_Waitall, 8, requests, MPI_STATUSES_IGNORE);
    CALL(MPI_Buffer_detach, &old, &size);
    for (int i = 0; i < 4; i++)
        sum += got[i];
}

static void persistent(void)
{
    int values[4] = {5, 6, 7, 8}, got[4] = {0};
    MPI_Request sends[4], receives[4];
    static char room[65536];
    void *old;
    int size;
    CALL(MPI_Buffer_attach, room, sizeof room);
    for (int i = 0; i < 4; i++)
        CALL(MPI_Recv_init, &got[i], 1, MPI_INT, peer, 20 + i, MPI_COMM_WORLD, &receives[i]);
    CALL(MPI_Send_init, &values[0], 1, MPI_INT, peer, 20, MPI_COMM_WORLD, &sends[0]);
    CALL(MPI_Bsend_init, &values[1], 1, MPI_INT, peer, 21, MPI_COMM_WORLD, &sends[1]);
    CALL(MPI_Ssend_init, &values[2], 1, MPI_INT, peer, 22, MPI_COMM_WORLD, &sends[2]);
    CALL(MPI_Rsend_init, &values[3], 1, MPI_INT, peer, 23, MPI_COMM_WORLD, &sends[3]);
    for (int round = 0; round < 5; round++) {
        CALL(MPI_Startall, 4, receives);
        CALL(MPI_Barrier, MPI_COMM_WORLD);
        for (int i = 0; i < 4; i++)
            CALL(MPI_Start, &sends[i]);
        CALL(MPI_Waitall, 4, sends, MPI_STATUSES_IGNORE);
        CALL(MPI_Waitall, 4, receives, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 4; i++)
            sum += got[i];
    }
    for (int i = 0; i < 4; i++) {
        CALL(MPI_Request_free, &sends[i]);
        CALL(MPI_Request_free, &receives[i]);
    }
    CALL(MPI_Buffer_detach, &old, &size);
}

static void combined(void)
{
    int value = expect_rank, got = 0;
    MPI_Status status;
    CALL(MPI_Sendrecv, &value, 1, MPI_INT, peer, 30, &got, 1, MPI_INT, MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &status);
    sum += got + status.MPI_SOURCE;
    CALL(MPI_Sendrecv_replace, &value, 1, MPI_INT, peer, 31, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    sum += value + status.MPI_TAG;
#if HAVE_MPI_4_PARTS
    MPI_Request request;
    CALL(MPI_Isendrecv, &value, 1, MPI_INT, peer, 32, &got, 1, MPI_INT, peer, 32, MPI_COMM_WORLD, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Isendrecv_replace, &value, 1, MPI_INT, peer, 33, peer, 33, MPI_COMM_WORLD, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    sum += value;
#endif
    CALL(MPI_Send, &value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    CALL(MPI_Recv, &got, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv);
    peer = expect_rank ^ 1;
    blocking();
    ready();
    nonblocking();
    persistent();
    combined();
    expect_summary("p2p_modes", sum);
    expect_finish();
    return 0;
}
