/* Sessions in separate threads on one variable, at full speed.
 *
 * A worker makes calls and counts them, at least until every thread below has completed a few rounds. One session only counts them;
 * in another one, two threads add up what their readresets of one handle return; a third one constantly starts, stops, resets and
 * writes. At the end the first two have exactly the number of calls.
 */
#include "functions.h"

#include <stdatomic.h>

#define CALLS 200000
#define ROUNDS 20

enum { WATCH, COLLECT, COLLECT_TOO, DESTROY, THREADS };

static atomic_int running, rounds[THREADS];
static atomic_ullong made;
static struct gauge watcher, collector, vandal;
static int which;

static unsigned long long value_of(struct gauge *g)
{
    return element(g, which);
}

/* Whether a thread must do another round; counts the rounds. */
static int again(void *argument)
{
    atomic_fetch_add(&rounds[(long) argument], 1);
    return atomic_load(&running);
}

static void *watch(void *argument)
{
    unsigned long long last = 0;
    while (again(argument)) {
        unsigned long long now = value_of(&watcher), most = atomic_load(&made);
        CHECKF("HM-1", now >= last && now <= most, "a session's value only grows, whatever another session does",
               "%llu after %llu, of %llu", now, last, most);
        last = now;
    }
    return NULL;
}

static atomic_ullong collected;

/* Two of these share a handle on the total, which is read and reset much faster than the array: each gets a part, and
 * no call is lost or counted twice. */
static void *collect(void *argument)
{
    unsigned long long part;
    while (again(argument))
        if (MPI_T_pvar_readreset(collector.session, collector.handle, &part) == MPI_SUCCESS)
            atomic_fetch_add(&collected, part);
    return NULL;
}

static void *destroy(void *argument)
{
    unsigned long long *buffer = calloc((size_t) vandal.count, sizeof *buffer), stopped;
    while (again(argument)) {
        MPI_T_pvar_start(vandal.session, vandal.handle);
        MPI_T_pvar_reset(vandal.session, vandal.handle);
        MPI_T_pvar_stop(vandal.session, vandal.handle);
        stopped = value_of(&vandal);
        CHECKF("HM-3", value_of(&vandal) == stopped, "a stopped variable does not change while others count", "%llu",
               stopped);
        buffer[which] = 12345678;
        if (MPI_T_pvar_write(vandal.session, vandal.handle, buffer) == MPI_SUCCESS)
            CHECKF("HM-4", value_of(&vandal) == 12345678, "a written value is read back in its session", "%llu",
                   value_of(&vandal));
        MPI_T_pvar_start(vandal.session, MPI_T_PVAR_ALL_HANDLES);
        MPI_T_pvar_reset(vandal.session, MPI_T_PVAR_ALL_HANDLES);
        MPI_T_pvar_stop(vandal.session, MPI_T_PVAR_ALL_HANDLES);
    }
    free(buffer);
    return NULL;
}

static int all_went_round(void)
{
    for (int i = 0; i < THREADS; i++)
        if (atomic_load(&rounds[i]) < ROUNDS)
            return 0;
    return 1;
}

/* Calls, with all threads at work. */
static void make_calls(void)
{
    static void *(*const bodies[THREADS])(void *) = { watch, collect, collect, destroy };
    pthread_t threads[THREADS];
    int rank;
    atomic_store(&running, 1);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, bodies[i], (void *) i);
    while (atomic_load(&made) < CALLS || !all_went_round()) {
        atomic_fetch_add(&made, 1);
        MPI_Comm_rank(MPI_COMM_SELF, &rank);
    }
    atomic_store(&running, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void alone(void)
{
    MPI_T_pvar_session sessions[3];
    struct pvar total;
    int open = 1;
    if (conform_phase != BETWEEN)
        return;
    for (int i = 0; i < 3; i++)
        MPI_T_pvar_session_create(&sessions[i]);
    which = element_of(WORK_FUNCTION);
    open = which >= 0 && calls_open(&watcher, sessions[0]) && counter_of_calls(&total)
        && total.type == MPI_UNSIGNED_LONG_LONG && gauge_open(&collector, sessions[1], &total, NULL)
        && calls_open(&vandal, sessions[2]);
    if (CHECK("HM-6", open, "there are counters of calls")) {
        MPI_T_pvar_start(sessions[0], watcher.handle);
        MPI_T_pvar_start(sessions[1], collector.handle);
        make_calls();
        unsigned long long calls = atomic_load(&made);
        CHECKF("HM-2", value_of(&watcher) == calls, "a session's counts add up exactly", "%llu, not %llu",
               value_of(&watcher), calls);
        if (collector.variable.atomic) {
            unsigned long long all = atomic_load(&collected) + element(&collector, 0);
            CHECKF("HM-5", all == calls, "the values returned by readresets add up exactly", "%llu, not %llu", all, calls);
        } else {
            skip("HM-5", "mpiscope_calls_total is not atomic");
        }
    }
    for (int i = 0; i < 3; i++)
        MPI_T_pvar_session_free(&sessions[i]);
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "hammer", each, alone, NULL };
    conform_multiple = 1;
    return conform_main(argc, argv, &group);
}
