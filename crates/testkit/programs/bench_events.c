/* Cost of an event in ns, and event rates.
 *
 *     bench_events elsewhere      added cost of raising while another type has a callback
 *     bench_events empty          added cost of an event with an empty callback and its time stamp
 *     bench_events stamp|element|copy      added cost of reading that in the callback, compared with an empty one
 *     bench_events rate N         million events per second, with N concurrent threads
 *     bench_events factor events|loop      speedup of two threads over one: for events, or for a loop that shares nothing,
 *                                          which is the best that this machine allows at the moment
 *
 * The event is the end of MPI_Comm_rank. The cost with and without it is measured in turns, so that changes in the machine's
 * speed affect both alike; the value is the difference of the best runs.
 */
#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS 50000
#define RUNS 41
/* Concurrent threads: runs so short that some are not interrupted on a loaded machine, and many of them. */
#define SHORT 4000
#define MANY 1500

static MPI_T_event_registration registration, other;
static char mode;
static long sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static void heard(MPI_T_event_instance instance, MPI_T_event_registration r, MPI_T_cb_safety safety, void *data)
{
    MPI_Count stamp = 0;
    char buffer[256];
    (void) r;
    (void) safety;
    (void) data;
    if (mode == 's')
        MPI_T_event_get_timestamp(instance, &stamp);
    else if (mode == 'l')
        MPI_T_event_read(instance, 3, buffer);
    else if (mode == 'c')
        MPI_T_event_copy(instance, buffer);
}

static void listen_to(const char *name, MPI_T_event_registration *to, int on)
{
    int index;
    if (!on) {
        MPI_T_event_handle_free(*to, NULL, NULL);
        return;
    }
    if (MPI_T_event_get_index(name, &index) != MPI_SUCCESS
        || MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, to) != MPI_SUCCESS
        || MPI_T_event_register_callback(*to, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, heard) != MPI_SUCCESS)
        exit(3);
}

static void call(int n)
{
    int rank, sum = 0;
    for (int i = 0; i < n; i++) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        sum += rank;
    }
    /* Outside the loop: threads must not write to a shared cache line. */
    if (sum == 42)
        sink = sum;
}

static void step(int n)
{
    for (volatile int i = 0; i < n * 50; i++)
        ;
}

static double calls(void)
{
    double start = now();
    call(CALLS);
    return (now() - start) / CALLS;
}

/* The measured state (1), or its baseline (0). */
static void set(const char *what, int on)
{
    if (!strcmp(what, "elsewhere"))
        listen_to("mpiscope.object_freed", &other, on);
    else if (!strcmp(what, "empty"))
        listen_to("mpiscope.call_ended", &registration, on);
    else
        mode = on ? (!strcmp(what, "element") ? 'l' : what[0]) : 0;
}

static double difference(const char *what)
{
    double with = INFINITY, without = INFINITY;
    if (strcmp(what, "elsewhere") && strcmp(what, "empty"))
        listen_to("mpiscope.call_ended", &registration, 1);
    for (int run = 0; run < RUNS; run++) {
        without = fmin(without, calls());
        set(what, 1);
        with = fmin(with, calls());
        set(what, 0);
    }
    return with - without;
}

static pthread_barrier_t gate;
static void (*work)(int);

static void *worker(void *unused)
{
    (void) unused;
    for (int run = 0; run < MANY; run++) {
        pthread_barrier_wait(&gate);
        work(SHORT);
        pthread_barrier_wait(&gate);
    }
    return NULL;
}

static double rate(int threads)
{
    double best = 0;
    pthread_t all[64];
    pthread_barrier_init(&gate, NULL, (unsigned) threads);
    for (int i = 1; i < threads; i++)
        pthread_create(&all[i], NULL, worker, NULL);
    for (int run = 0; run < MANY; run++) {
        pthread_barrier_wait(&gate);
        double start = now();
        work(SHORT);
        pthread_barrier_wait(&gate);
        best = fmax(best, (double) SHORT * threads / (now() - start) * 1e3);
    }
    for (int i = 1; i < threads; i++)
        pthread_join(all[i], NULL);
    return best;
}

static double factor(void)
{
    double one = rate(1), two = rate(2);
    return fmax(two, rate(2)) / fmax(one, rate(1));
}

int main(int argc, char **argv)
{
    int provided;
    const char *what = argc > 1 ? argv[1] : "empty", *of = argc > 2 ? argv[2] : "1";
    int compare = !strcmp(what, "factor"), many = compare || !strcmp(what, "rate");
    int threads = compare ? 2 : atoi(of);
    MPI_Init_thread(&argc, &argv, many && threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_T_init_thread(provided, &provided);
    work = compare && !strcmp(of, "loop") ? step : call;
    if (!MPISCOPE_HAS(MPI_T_event_get_num)) {
        printf("value nan\n");
    } else {
        if (many && work == call)
            listen_to("mpiscope.call_ended", &registration, 1);
        printf("value %f\n", compare ? factor() : many ? rate(threads) : difference(what));
    }
    MPI_Finalize();
    return sink == 42;
}
