/* Nanoseconds for one MPI call, on one process: bench_calls rank|p2p.
 *
 * Prints the time of the fastest of many short batches, since interrupted batches do not show the cost of the call. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 200 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double) t.tv_sec + (double) t.tv_nsec;
}

static void rank_batch(int n)
{
    int rank;
    for (int i = 0; i < n; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

/* Three calls each. */
static void p2p_batch(int n)
{
    double in, out = 1.0;
    MPI_Request requests[2];
    for (int i = 0; i < n; i++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int p2p = argc > 1 && !strcmp(argv[1], "p2p"), n = p2p ? 5000 : 50000;
    double best = 1e18;
    MPI_Init(&argc, &argv);
    for (int batch = 0; batch < BATCHES; batch++) {
        double start = now();
        if (p2p)
            p2p_batch(n);
        else
            rank_batch(n);
        double each = (now() - start) / n / (p2p ? 3 : 1);
        if (each < best)
            best = each;
    }
    printf("value %.3f\n", best);
    MPI_Finalize();
    return 0;
}
