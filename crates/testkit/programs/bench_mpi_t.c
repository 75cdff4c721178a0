/* Cost of calls of the tool information interface, in ns: the best of 9 runs.
 *
 *     bench_mpi_t read|readreset|startstop|info|index|cvar      on mpiscope's variable, or else the library's own
 *     bench_mpi_t read4                                         the same read, when four threads have called MPI
 *     bench_mpi_t last                                          index by name of the last variable
 *
 * Prints nan if the library has nothing to measure.
 */
#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;
static MPI_T_cvar_handle cvar;
static char name[512], buffer[1 << 16];
static int variable = -1, class;
static long sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static int info(int index)
{
    int verbosity, bind, readonly, continuous, atomic, name_len = sizeof name, desc_len = 0;
    MPI_Datatype type;
    MPI_T_enum names;
    if (MPI_T_pvar_get_info(index, name, &name_len, &verbosity, &class, &type, &names, NULL, &desc_len, &bind,
                            &readonly, &continuous, &atomic) != MPI_SUCCESS)
        return -1;
    return bind;
}

/* mpiscope's counter, or the first unbound readable variable. */
static int find(void)
{
    int count, n = 0;
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_get_index("mpiscope_calls_total", MPI_T_PVAR_CLASS_COUNTER, &variable) != MPI_SUCCESS) {
        MPI_T_pvar_get_num(&n);
        for (variable = 0; variable < n && info(variable) != MPI_T_BIND_NO_OBJECT; variable++)
            ;
        if (variable >= n)
            return 0;
    }
    info(variable);
    if (MPI_T_pvar_handle_alloc(session, variable, NULL, &handle, &count) != MPI_SUCCESS || count > 1)
        return 0;
    MPI_T_pvar_start(session, handle);
    return MPI_T_pvar_read(session, handle, buffer) == MPI_SUCCESS;
}

static const char *const calls[] = { "read", "readreset", "startstop", "info", "index", "cvar", "read4", "last" };
enum { READ, READRESET, STARTSTOP, INFO, INDEX, CVAR, READ4, LAST, CALLS };

static int once(int call)
{
    switch (call) {
    case READRESET: return MPI_T_pvar_readreset(session, handle, buffer);
    case STARTSTOP: return MPI_T_pvar_stop(session, handle) | MPI_T_pvar_start(session, handle);
    case INFO: return info(variable) < 0;
    case INDEX: case LAST: return MPI_T_pvar_get_index(name, class, &variable);
    case CVAR: return MPI_T_cvar_read(cvar, buffer);
    default: return MPI_T_pvar_read(session, handle, buffer);
    }
}

static pthread_barrier_t called, done;

static void *thread(void *unused)
{
    int flag;
    MPI_Initialized(&flag);
    pthread_barrier_wait(&called);
    pthread_barrier_wait(&done);
    return unused;
}

/* Threads that have called MPI, until finish_threads(). */
static pthread_t threads[3];

static void start_threads(void)
{
    pthread_barrier_init(&called, NULL, 4);
    pthread_barrier_init(&done, NULL, 4);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, thread, NULL);
    pthread_barrier_wait(&called);
}

static void finish_threads(void)
{
    pthread_barrier_wait(&done);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static double measure(int call)
{
    double best = INFINITY;
    for (int run = 0; run < 9; run++) {
        double start = now();
        for (int i = 0; i < 200000; i++)
            sink += once(call);
        double each = (now() - start) / 200000;
        if (each < best)
            best = each;
    }
    return best;
}

static double variables(const char *what)
{
    int count, index = 0, call = 0, last = 0;
    while (call < CALLS && strcmp(calls[call], what))
        call++;
    if (!find())
        return NAN;
    if (call == LAST && (MPI_T_pvar_get_num(&last) != MPI_SUCCESS || info(last - 1) < 0))
        return NAN;
    MPI_T_cvar_get_index("mpiscope_record_calls", &index);
    if (MPI_T_cvar_handle_alloc(index, NULL, &cvar, &count) != MPI_SUCCESS || once(call) != MPI_SUCCESS)
        return NAN;
    if (call == READ4)
        start_threads();
    double best = measure(call);
    if (call == READ4)
        finish_threads();
    return best;
}

int main(int argc, char **argv)
{
    int provided;
    const char *what = argc > 1 ? argv[1] : "read";
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    printf("value %f\n", variables(what));
    MPI_Finalize();
    return sink == 42;
}
