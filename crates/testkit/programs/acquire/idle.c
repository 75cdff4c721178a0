/* idle [DIR]: prints its identity and waits for the file DIR/go.1, or for a second. */
#include "steps.h"

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("rank %d of %d is process %d\n", rank, size, (int)getpid());
    fflush(stdout);
    if (argc > 1) {
        dir = argv[1];
        arrive("idle");
        step("idle", 1);
    } else {
        sleep(1);
    }
    MPI_Finalize();
    return 0;
}
