/* A rank that is idle after a call until its first argument names an existing file. For `cargo xtask bench discover`. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int value = 0;
    if (argc < 2)
        return 2;
    MPI_Init(&argc, &argv);
    MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    puts("ready");
    fflush(stdout);
    while (access(argv[1], F_OK) != 0)
        usleep(200000);
    MPI_Finalize();
    return 0;
}
