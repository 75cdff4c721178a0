/* Objects to inspect: a named communicator, a grid, a column of a matrix, a receive that no send matches. Rank 0
 * computes for ten minutes (or the number of seconds in the first argument) while the others wait for it. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    double matrix[3][4] = {{0}}, sum = 0, end;
    int rank, size, periods[1] = {1};
    MPI_Comm solver, grid;
    MPI_Datatype column;
    MPI_Request halo;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &solver);
    MPI_Comm_set_name(solver, "solver");
    MPI_Comm_rank(solver, &rank);
    MPI_Comm_size(solver, &size);
    MPI_Cart_create(solver, 1, &size, periods, 0, &grid);
    MPI_Type_vector(3, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_set_name(column, "column");
    MPI_Type_commit(&column);
    MPI_Irecv(matrix, 1, column, (rank + size - 1) % size, 9, grid, &halo);
    end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 600);
    while (rank == 0 && MPI_Wtime() < end)
        sum += matrix[0][0];
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, solver);
    MPI_Cancel(&halo);
    MPI_Wait(&halo, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
