// Two ranks that wait for each other: rank 0 in an epoch of a window that only rank 1 has named, rank 1 in a receive on a
// communicator that only rank 0 has named.
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, other, never[2];
    double memory[8];
    MPI_Comm comm;
    MPI_Win win;
    MPI_Group all, target;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    other = 1 - rank;
    MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, comm, &win);
    if (rank == 0)
        MPI_Comm_set_name(comm, "solver");
    else
        MPI_Win_set_name(win, "halo");
    MPI_Barrier(comm);
    MPI_Irecv(&never[0], 1, MPI_INT, other, 5, comm, &request);
    if (rank == 0) {
        MPI_Comm_group(comm, &all);
        MPI_Group_incl(all, 1, &other, &target);
        MPI_Win_start(target, 0, win);
        MPI_Win_complete(win);
    } else {
        MPI_Recv(&never[1], 1, MPI_INT, other, 6, comm, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
