/*
 * Collectives for some milliseconds, then some while the trace is paused by MPI_Pcontrol, then some more. Each
 * rank prints the time of the clock, in nanoseconds since 1970, before and after MPI_Init, and at the end.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long long clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
    long long for_ns = argc > 1 ? atoll(argv[1]) * 1000000 : 0, before = clock_ns();
    int rank, size, value = 0, over, all;
    MPI_Init(&argc, &argv);
    long long behind = clock_ns();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    do {
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
        MPI_Barrier(MPI_COMM_WORLD);
        over = clock_ns() - behind >= for_ns;
        MPI_Allreduce(&over, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    } while (!all);
    MPI_Pcontrol(0);
    for (int i = 0; i < 3; i++)
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    for (int i = 0; i < 3; i++)
        MPI_Exscan(&rank, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    long long end = clock_ns();
    MPI_Finalize();
    printf("%d %lld %lld %lld\n", rank, before, behind, end);
    return 0;
}
