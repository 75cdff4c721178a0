/*
 * Ranks that compute equally long, so that their communication causes no waiting, whether they arrive at the same moment (a
 * barrier, an exchange, a fence) or it is already done (a message that has arrived, requests that are complete).
 *
 * "Work" is sleep, so that its duration does not depend on the load of the machine. The first rank prints the line of
 * a receive and that of a completion that do not wait, and the total seconds of skew between ranks at the other calls.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include "sleeps.h"

enum { ROUNDS = 30, MEETINGS = 3, LONG = 20000 };

int main(int argc, char **argv)
{
    int rank, size, mine = 0, theirs = 0, sum, receive = 0, completion = 0, count = 0;
    double entered[ROUNDS * MEETINGS], late[ROUNDS * MEETINGS], apart = 0, all;
    MPI_Request requests[2];
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int after = (rank + 1) % size, before = (rank + size - 1) % size;
    static char buffered[MPI_BSEND_OVERHEAD * 4 + 64];
    MPI_Buffer_attach(buffered, sizeof buffered);
    MPI_Win_create(&mine, sizeof mine, sizeof mine, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int round = 0; round < ROUNDS; round++) {
        work(LONG);
        entered[count++] = now();
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Irecv(&theirs, 1, MPI_INT, before, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&rank, 1, MPI_INT, after, 0, MPI_COMM_WORLD, &requests[1]);
        work(LONG);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), completion = __LINE__;
        entered[count++] = now();
        MPI_Sendrecv(&rank, 1, MPI_INT, after, 1, &theirs, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Bsend(&rank, 1, MPI_INT, after, 2, MPI_COMM_WORLD);
        work(LONG);
        MPI_Recv(&theirs, 1, MPI_INT, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), receive = __LINE__;
        entered[count++] = now();
        MPI_Win_fence(0, window);
    }
    MPI_Allreduce(entered, late, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int meeting = 0; meeting < count; meeting++)
        apart += late[meeting] - entered[meeting];
    MPI_Reduce(&apart, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d %d %.6f\n", receive, completion, all);
    void *detached;
    int room;
    MPI_Buffer_detach(&detached, &room);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
