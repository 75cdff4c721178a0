/*
 * Thousands of collectives with known waits: more than a process remembers, so that they can only be observed while it runs.
 *
 * In the first half all ranks compute alike between two barriers; in the second half rank 1 computes longer. "Work" is
 * sleep, so that load does not change its duration. The first rank prints: barriers, total seconds that ranks waited
 * in them, the line. Then each rank creates ready.RANK in the given directory, and continues when there is a file go.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "sleeps.h"

enum { MOST = 8 };

static void stand_still(const char *dir, int rank)
{
    char name[4096];
    snprintf(name, sizeof name, "%s/ready.%d", dir, rank);
    FILE *ready = fopen(name, "w");
    if (ready)
        fclose(ready);
    snprintf(name, sizeof name, "%s/go", dir);
    while (access(name, F_OK))
        work(1000);
}

int main(int argc, char **argv)
{
    int half = argc > 1 ? atoi(argv[1]) : 500, rank, size, line = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *entered = malloc(2 * half * sizeof *entered), *all = malloc(2 * half * MOST * sizeof *all);
    for (int i = 0; i < 2 * half; i++) {
        work(i < half ? 1000 : rank == 1 ? 3000 : 300);
        entered[i] = now();
        MPI_Barrier(MPI_COMM_WORLD), line = __LINE__;
    }
    MPI_Gather(entered, 2 * half, MPI_DOUBLE, all, 2 * half, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    double waited = 0;
    for (int i = 0; rank == 0 && i < 2 * half; i++) {
        double last = 0;
        for (int who = 0; who < size; who++)
            last = all[who * 2 * half + i] > last ? all[who * 2 * half + i] : last;
        for (int who = 0; who < size; who++)
            waited += last - all[who * 2 * half + i];
    }
    if (rank == 0)
        printf("%d %.6f %d\n", 2 * half, waited, line);
    fflush(stdout);
    if (argc > 2)
        stand_still(argv[2], rank);
    free(entered), free(all);
    MPI_Finalize();
    return 0;
}
