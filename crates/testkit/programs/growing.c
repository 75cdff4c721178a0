/*
 * The last rank allocates memory and does not free it, in steps of the number of bytes in the first
 * argument; the others allocate as much and free it. The last one prints how many seconds that took.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sleeps.h"

enum { STEPS = 150, STEP = 20000 };

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 1 << 18;
    static char *taken[STEPS];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double began = now();
    for (int step = 0; step < STEPS; step++) {
        taken[step] = malloc(bytes);
        if (!taken[step])
            MPI_Abort(MPI_COMM_WORLD, 1);
        memset(taken[step], step + 1, bytes);
        if (rank != size - 1)
            free(taken[step]);
        work(STEP);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == size - 1)
        printf("%.6f\n", now() - began);
    MPI_Finalize();
    return 0;
}
