/* A program that works normally; names.c has its functions with the names of C library functions that the layer calls. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int namesakes_called(char *into, size_t size);

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm pair;
    MPI_Comm_dup(MPI_COMM_WORLD, &pair);
    MPI_Comm_set_name(pair, "pair");
    int sum = 0, from = -1;
    for (int i = 0; i < 100; i++) {
        MPI_Request both[2];
        MPI_Irecv(&from, 1, MPI_INT, (rank + size - 1) % size, i, pair, &both[0]);
        MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, i, pair, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&from, &sum, 1, MPI_INT, MPI_SUM, pair);
    }
    MPI_Comm_free(&pair);
    MPI_Finalize();
    char called[4096];
    int n = namesakes_called(called, sizeof called);
    if (n > 0) {
        printf("called by the layer: %s\n", called);
    }
    printf("rank %d of %d: %d\n", rank, size, sum);
    return n > 0;
}
