/* Smooths values along a ring of ranks, with an error: values that are being sent are changed. `mpiscope run --check` shows it. */
#include <mpi.h>
#include <stdio.h>

#define COUNT 1000

static double own[COUNT], left[COUNT];

int main(int argc, char **argv)
{
    int rank, size;
    double sum = 0, total;
    MPI_Request requests[2];
    MPI_Status statuses[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COUNT; i++)
        own[i] = rank;
    for (int step = 0; step < 10; step++) {
        MPI_Irecv(left, COUNT, MPI_DOUBLE, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(own, COUNT, MPI_DOUBLE, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
        for (int i = 0; i < COUNT; i++)
            own[i] *= 0.5;
        MPI_Waitall(2, requests, statuses);
        for (int i = 0; i < COUNT; i++)
            own[i] += 0.5 * left[i];
    }
    for (int i = 0; i < COUNT; i++)
        sum += own[i];
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("total: %g\n", total);
    MPI_Finalize();
    return 0;
}
