/*
 * A callback that waits half a second in an MPI call, inside another MPI call; then each rank computes for as long.
 */
#include <mpi.h>
#include <time.h>

static int rank;

static void work(double seconds)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    double until = time.tv_sec + 1e-9 * time.tv_nsec + seconds, now = 0;
    while (now < until) {
        clock_gettime(CLOCK_MONOTONIC, &time);
        now = time.tv_sec + 1e-9 * time.tv_nsec;
    }
}

static int deleted(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    if (rank == 0)
        work(0.5);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int keyval;
    MPI_Comm copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, NULL);
    MPI_Comm_set_attr(copy, keyval, NULL);
    MPI_Comm_free(&copy);
    MPI_Comm_free_keyval(&keyval);
    work(0.5);
    MPI_Finalize();
    return 0;
}
