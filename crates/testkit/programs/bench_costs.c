/* Nanoseconds per MPI call on two ranks, and per reading of the processor's clock: `cost NANOSECONDS WHAT`, the
 * median of many short batches, which take turns so that changes in the machine's speed affect all alike. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 61 };

static int rank, number, flag;
static double in, out = 1.0;

static unsigned long long counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    unsigned long long ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double) t.tv_sec + (double) t.tv_nsec;
}

static volatile unsigned long long sink;

static void reading(void)
{
    sink = counter();
}

static void comm_rank(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
}

static void initialized(void)
{
    MPI_Initialized(&flag);
}

static void type_size(void)
{
    MPI_Type_size(MPI_DOUBLE, &number);
}

static void starts(void)
{
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void ping_pong(void)
{
    if (rank == 0) {
        MPI_Send(&out, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&in, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    }
}

static void sendrecv(void)
{
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, 1 - rank, 1, &in, 1, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(void)
{
    MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void allreduce(void)
{
    MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* `alone`: the other rank waits meanwhile. `parts`: the divisor of the time. */
static struct {
    const char *title;
    void (*body)(void);
    int alone, calls, parts;
    double values[ROUNDS];
} cases[] = {
    { "clock reading", reading, 1, 2000, 1, { 0 } },
    { "MPI_Comm_rank", comm_rank, 1, 2000, 1, { 0 } },
    { "MPI_Initialized", initialized, 1, 2000, 1, { 0 } },
    { "MPI_Type_size", type_size, 1, 2000, 1, { 0 } },
    { "MPI_Irecv, MPI_Isend, MPI_Waitall", starts, 1, 500, 1, { 0 } },
    { "MPI_Send, MPI_Recv (one way)", ping_pong, 0, 500, 2, { 0 } },
    { "MPI_Sendrecv", sendrecv, 0, 500, 1, { 0 } },
    { "MPI_Barrier", barrier, 0, 500, 1, { 0 } },
    { "MPI_Bcast", bcast, 0, 500, 1, { 0 } },
    { "MPI_Allreduce", allreduce, 0, 500, 1, { 0 } },
};

enum { CASES = sizeof cases / sizeof *cases };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2) {
        fprintf(stderr, "bench_costs needs 2 ranks\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CASES; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            int calls = cases[i].alone && rank != 0 ? 0 : cases[i].calls;
            double begun = now();
            for (int call = 0; call < calls; call++)
                cases[i].body();
            cases[i].values[round] = (now() - begun) / cases[i].calls / cases[i].parts;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < CASES && rank == 0; i++) {
        qsort(cases[i].values, ROUNDS, sizeof cases[i].values[0], ascending);
        printf("cost %.3f %s\n", cases[i].values[ROUNDS / 2], cases[i].title);
    }
    MPI_Finalize();
    return 0;
}
