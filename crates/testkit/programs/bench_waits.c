/* Waits of known length. The argument selects a case: one rank computes by spinning, and another one repeatedly waits
 * for it in one function. Each rank records when it enters and leaves the call in which it waits, and when the late
 * one has finished computing; the wait is the time between, on one clock. Prints `known SECONDS`, and `cases end at
 * LINE`: calls after that line do not belong to the case. Without an argument it prints the names of all cases. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 40, LARGE = 1 << 20, MOST = 64 };
static const double WORK = 0.02;

static int rank, size, round_;
static double entered[TIMES], left[TIMES], worked[TIMES];
static int value, values[MOST], results[MOST], ones[MOST], places[MOST];
static double *large;
static MPI_Comm world, half, both;
static MPI_Group first, others;
static MPI_Win window;
static MPI_Request requests[2], persistent = MPI_REQUEST_NULL;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

static void work(void)
{
    double until = now() + WORK;
    while (now() < until)
        ;
    worked[round_] = now();
}

/* Waits in the rest of the line, which is the line of the call. */
#define WAIT(...) do { entered[round_] = now(); __VA_ARGS__; left[round_] = now(); } while (0)

/* One end of a late message. */
static void send_late(int messages)
{
    work();
    for (int i = 0; i < messages; i++)
        MPI_Send(&value, 1, MPI_INT, 1, i, world);
}

static void receives(void)
{
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, 0, i, world, &requests[i]);
}

static void late_sender(int messages, void (*wait)(void))
{
    if (rank == 0)
        send_late(messages);
    if (rank == 1)
        wait();
}

static void in_recv(void) { WAIT(MPI_Recv(&value, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE)); }
static void recv_(void) { late_sender(1, in_recv); }
static void in_any(void) { WAIT(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, world, MPI_STATUS_IGNORE)); }
static void any_source(void) { late_sender(1, in_any); }

static void in_wait(void)
{
    MPI_Irecv(&value, 1, MPI_INT, 0, 0, world, requests);
    WAIT(MPI_Wait(requests, MPI_STATUS_IGNORE));
}
static void wait_(void) { late_sender(1, in_wait); }

static void in_waitall(void)
{
    receives();
    WAIT(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
}
static void waitall(void) { late_sender(2, in_waitall); }

static void in_waitany(void)
{
    int which;
    receives();
    WAIT(MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE); MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE));
}
static void waitany(void) { late_sender(2, in_waitany); }

static void in_waitsome(void)
{
    int count, done = 0, which[2];
    receives();
    WAIT(while (done < 2) { MPI_Waitsome(2, requests, &count, which, MPI_STATUSES_IGNORE); done += count; });
}
static void waitsome(void) { late_sender(2, in_waitsome); }

static void in_test(void)
{
    int done = 0;
    MPI_Irecv(&value, 1, MPI_INT, 0, 0, world, requests);
    WAIT(while (!done) MPI_Test(requests, &done, MPI_STATUS_IGNORE));
}
static void test_loop(void) { late_sender(1, in_test); }

static void in_iprobe(void)
{
    int there = 0;
    WAIT(while (!there) MPI_Iprobe(0, 0, world, &there, MPI_STATUS_IGNORE));
    MPI_Recv(&value, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
}
static void iprobe_loop(void) { late_sender(1, in_iprobe); }

static void in_probe(void)
{
    WAIT(MPI_Probe(0, 0, world, MPI_STATUS_IGNORE));
    MPI_Recv(&value, 1, MPI_INT, 0, 0, world, MPI_STATUS_IGNORE);
}
static void probe(void) { late_sender(1, in_probe); }

static void late_receiver(void (*wait)(void), int count, MPI_Datatype type)
{
    if (rank == 0)
        wait();
    if (rank == 1) {
        work();
        MPI_Recv(large, count, type, 0, 0, world, MPI_STATUS_IGNORE);
    }
}
static void in_ssend(void) { WAIT(MPI_Ssend(&value, 1, MPI_INT, 1, 0, world)); }
static void ssend(void) { late_receiver(in_ssend, 1, MPI_INT); }
static void in_send(void) { WAIT(MPI_Send(large, LARGE, MPI_DOUBLE, 1, 0, world)); }
static void send_large(void) { late_receiver(in_send, LARGE, MPI_DOUBLE); }

static void sendrecv(void)
{
    if (rank == 0)
        work();
    if (rank < 2)
        WAIT(MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, 0, values, 1, MPI_INT, 1 - rank, 0, world, MPI_STATUS_IGNORE));
}

static void start(void)
{
    if (rank > 1)
        return;
    if (rank == 0)
        work();
    MPI_Start(&persistent);
    WAIT(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
}

/* All wait for rank 0. */
#define COLLECTIVE(name, ...) static void name(void) { if (rank == 0) work(); WAIT(__VA_ARGS__); }
COLLECTIVE(barrier, MPI_Barrier(world))
COLLECTIVE(allreduce, MPI_Allreduce(&value, results, 1, MPI_INT, MPI_SUM, world))
COLLECTIVE(alltoall, MPI_Alltoall(values, 1, MPI_INT, results, 1, MPI_INT, world))
COLLECTIVE(alltoallv, MPI_Alltoallv(values, ones, places, MPI_INT, results, ones, places, MPI_INT, world))
COLLECTIVE(allgather, MPI_Allgather(&value, 1, MPI_INT, results, 1, MPI_INT, world))
COLLECTIVE(reduce_scatter, MPI_Reduce_scatter_block(values, results, 1, MPI_INT, MPI_SUM, world))
COLLECTIVE(bcast, MPI_Bcast(&value, 1, MPI_INT, 0, world))
COLLECTIVE(scatter, MPI_Scatter(values, 1, MPI_INT, results, 1, MPI_INT, 0, world))
COLLECTIVE(scan, MPI_Scan(&value, results, 1, MPI_INT, MPI_SUM, world))
COLLECTIVE(ibarrier, MPI_Ibarrier(world, requests); MPI_Wait(requests, MPI_STATUS_IGNORE))
COLLECTIVE(iallreduce, MPI_Iallreduce(&value, results, 1, MPI_INT, MPI_SUM, world, requests); MPI_Wait(requests, MPI_STATUS_IGNORE))
COLLECTIVE(ibarrier_test, int done = 0; MPI_Ibarrier(world, requests); while (!done) MPI_Test(requests, &done, MPI_STATUS_IGNORE))
COLLECTIVE(comm_dup, MPI_Comm copy; MPI_Comm_dup(world, &copy); MPI_Comm_free(&copy))
COLLECTIVE(barrier_between_groups, MPI_Barrier(both))
COLLECTIVE(fence, MPI_Win_fence(0, window))

/* The root waits for the last rank. */
#define TO_ROOT(name, call) \
    static void name(void) { if (rank == size - 1) work(); if (rank == 0) WAIT(call); else call; }
TO_ROOT(reduce, MPI_Reduce(&value, results, 1, MPI_INT, MPI_SUM, 0, world))
TO_ROOT(gather, MPI_Gather(&value, 1, MPI_INT, results, 1, MPI_INT, 0, world))

static void barrier_of_half(void)
{
    if (rank == 0)
        work();
    if (rank % 2 == 0)
        WAIT(MPI_Barrier(half));
}

static void put_in_epoch(void)
{
    MPI_Win_start(first, 0, window);
    MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
    MPI_Win_complete(window);
}

static void access_epoch(void)
{
    if (rank == 0) {
        work();
        MPI_Win_post(others, 0, window);
        MPI_Win_wait(window);
    } else {
        WAIT(put_in_epoch());
    }
}

static void exposure_epoch(void)
{
    if (rank == 0) {
        MPI_Win_post(others, 0, window);
        WAIT(MPI_Win_wait(window));
    } else {
        if (rank == 1)
            work();
        put_in_epoch();
    }
}

static const int CASES_END = __LINE__;

#define CASE(title, body) { title, body }

static const struct {
    const char *title;
    void (*body)(void);
} cases[] = {
    CASE("MPI_Recv", recv_), CASE("MPI_Recv of any", any_source), CASE("MPI_Wait", wait_), CASE("MPI_Waitall", waitall),
    CASE("MPI_Waitany", waitany), CASE("MPI_Waitsome", waitsome), CASE("MPI_Test in a loop", test_loop),
    CASE("MPI_Iprobe in a loop", iprobe_loop), CASE("MPI_Probe", probe), CASE("MPI_Ssend", ssend),
    CASE("MPI_Send of 8 MiB", send_large), CASE("MPI_Sendrecv", sendrecv), CASE("MPI_Start, MPI_Wait", start),
    CASE("MPI_Barrier", barrier), CASE("MPI_Allreduce", allreduce), CASE("MPI_Alltoall", alltoall),
    CASE("MPI_Alltoallv", alltoallv), CASE("MPI_Allgather", allgather), CASE("MPI_Reduce_scatter_block", reduce_scatter),
    CASE("MPI_Bcast", bcast), CASE("MPI_Scatter", scatter), CASE("MPI_Reduce", reduce), CASE("MPI_Gather", gather),
    CASE("MPI_Scan", scan), CASE("MPI_Ibarrier, MPI_Wait", ibarrier), CASE("MPI_Iallreduce, MPI_Wait", iallreduce),
    CASE("MPI_Ibarrier, MPI_Test in a loop", ibarrier_test), CASE("MPI_Comm_dup", comm_dup),
    CASE("MPI_Barrier of every second rank", barrier_of_half), CASE("MPI_Barrier between groups", barrier_between_groups),
    CASE("MPI_Win_fence", fence), CASE("MPI_Win_start to MPI_Win_complete", access_epoch), CASE("MPI_Win_wait", exposure_epoch),
};

static void make_objects(void)
{
    const int zero = 0;
    int *memory;
    MPI_Group all;
    for (int i = 0; i < MOST; i++)
        ones[i] = 1, places[i] = i;
    large = calloc(LARGE, sizeof *large);
    MPI_Win_allocate(MOST * sizeof(int), sizeof(int), MPI_INFO_NULL, world, &memory, &window);
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &zero, &first);
    MPI_Group_excl(all, 1, &zero, &others);
    MPI_Group_free(&all);
    MPI_Comm_split(world, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, world, rank % 2 ? 0 : 1, 3, &both);
    if (rank == 0)
        MPI_Send_init(&value, 1, MPI_INT, 1, 7, world, &persistent);
    if (rank == 1)
        MPI_Recv_init(&value, 1, MPI_INT, 0, 7, world, &persistent);
}

static void free_objects(void)
{
    if (persistent != MPI_REQUEST_NULL)
        MPI_Request_free(&persistent);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Group_free(&first);
    MPI_Group_free(&others);
    MPI_Win_free(&window);
}

/* The wait of this rank: until the work was done, or until it left, if that was earlier. */
static double waited(void)
{
    double done[TIMES], sum = 0;
    MPI_Allreduce(worked, done, TIMES, MPI_DOUBLE, MPI_MAX, world);
    for (int i = 0; i < TIMES; i++) {
        double until = done[i] < left[i] ? done[i] : left[i];
        if (until > entered[i] && entered[i] > 0)
            sum += until - entered[i];
    }
    return sum;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            puts(cases[i].title);
        return 0;
    }
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    make_objects();
    MPI_Barrier(world);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (round_ = 0; !strcmp(cases[i].title, argv[1]) && round_ < TIMES; round_++)
            cases[i].body();
    double own = waited(), sum = 0;
    MPI_Reduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, world);
    if (rank == 0)
        printf("known %.6f\ncases end at %d\n", sum, CASES_END);
    free_objects();
    MPI_Finalize();
    return 0;
}
