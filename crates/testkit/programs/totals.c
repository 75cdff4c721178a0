/*
 * Traffic of every kind, whose totals the program knows: totals
 * ROUNDS DIRECTORY. Each rank then idles until DIRECTORY/go exists.
 *
 * The first rank prints the number of messages sent by all, their bytes, and one rank's calls of each function that it counts.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include "stand.h"

enum { ELEMENTS = 250 };

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[1]) : 100, rank, size;
    static int out[ELEMENTS], in[ELEMENTS], exposed[ELEMENTS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, before = (rank + size - 1) % size, known = 0;
    MPI_Win window;
    MPI_Request requests[2];
    MPI_Win_create(exposed, sizeof exposed, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int round = 0; round < rounds; round++) {
        MPI_Sendrecv(out, ELEMENTS, MPI_INT, next, 1, in, ELEMENTS, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(in, ELEMENTS, MPI_INT, before, 2, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, ELEMENTS, MPI_INT, next, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Send(out, 1, MPI_INT, next, 3, MPI_COMM_WORLD);
        MPI_Probe(before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(in, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Bcast(out, ELEMENTS, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Allreduce(out, in, ELEMENTS, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        MPI_Win_fence(0, window);
        MPI_Put(out, 10, MPI_INT, next, 0, 10, MPI_INT, window);
        MPI_Win_fence(0, window);
        known += 3;
    }
    MPI_Win_free(&window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("messages %d bytes %d rounds %d\n", known * size, size * rounds * (2 * ELEMENTS + 1) * (int)sizeof(int), rounds);
        fflush(stdout);
    }
    say(argv[argc - 1], "ready", rank);
    wait_for(argv[argc - 1], "go");
    MPI_Finalize();
    return 0;
}
