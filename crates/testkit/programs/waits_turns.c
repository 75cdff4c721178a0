/*
 * Two ranks that compute in turn: neither does more than the other, but each waits while the other one computes.
 * Iterations are marked by MPI_Pcontrol; there are no collectives. The argument is the number of iterations.
 */
#include "sleeps.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, count = argc > 1 ? atoi(argv[1]) : 100, value = 0, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double begin = now();
    for (int i = 0; i < count; i++) {
        MPI_Pcontrol(2);
        if (rank == i % 2)
            work(4000);
        MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, 1, &got, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Pcontrol(1);
    if (rank == 0)
        printf("%.6f\n", now() - begin);
    MPI_Finalize();
    return 0;
}
