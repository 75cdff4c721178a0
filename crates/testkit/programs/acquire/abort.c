/* abort DIR: waits for the file DIR/go.1; then rank 2 calls MPI_Abort. */
#include "steps.h"

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2)
        return 2;
    dir = argv[1];
    arrive("idle");
    step("idle", 1);
    if (rank == 2)
        MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
