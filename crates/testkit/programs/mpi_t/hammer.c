/* Sessions in threads of their own on one variable, as fast as they can.
 *
 * A worker makes a known number of calls. One session counts them undisturbed; one adds up what its readresets return;
 * one starts, stops, resets and writes all the time. At the end the first two have exactly the number of calls.
 */
#include "functions.h"

#include <stdatomic.h>

#define CALLS 200000

static atomic_int running;
static struct gauge watcher, collector, vandal;
static int which;

static unsigned long long value_of(struct gauge *g)
{
    return element(g, which);
}

static void *watch(void *unused)
{
    unsigned long long last = 0;
    (void) unused;
    while (atomic_load(&running)) {
        unsigned long long now = value_of(&watcher);
        CHECKF("HM-1", now >= last && now <= CALLS, "a session's value only grows, whatever another session does",
               "%llu after %llu", now, last);
        last = now;
    }
    return NULL;
}

static unsigned long long collected;

static void *collect(void *unused)
{
    (void) unused;
    while (atomic_load(&running))
        if (MPI_T_pvar_readreset(collector.session, collector.handle, collector.buffer) == MPI_SUCCESS)
            collected += ((unsigned long long *) collector.buffer)[which];
    return NULL;
}

static void *destroy(void *unused)
{
    unsigned long long *buffer = calloc((size_t) vandal.count, sizeof *buffer), stopped;
    (void) unused;
    while (atomic_load(&running)) {
        MPI_T_pvar_start(vandal.session, vandal.handle);
        MPI_T_pvar_reset(vandal.session, vandal.handle);
        MPI_T_pvar_stop(vandal.session, vandal.handle);
        stopped = value_of(&vandal);
        CHECKF("HM-3", value_of(&vandal) == stopped, "a stopped variable stands still while others count", "%llu",
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

static void alone(void)
{
    void *(*const bodies[])(void *) = { watch, collect, destroy };
    pthread_t threads[3];
    MPI_T_pvar_session sessions[3];
    int open = 1, rank;
    if (conform_phase != BETWEEN)
        return;
    for (int i = 0; i < 3; i++)
        MPI_T_pvar_session_create(&sessions[i]);
    which = element_of(WORK_FUNCTION);
    open = which >= 0 && calls_open(&watcher, sessions[0]) && calls_open(&collector, sessions[1])
        && calls_open(&vandal, sessions[2]);
    if (CHECK("HM-6", open, "there is a counter of calls per function")) {
        MPI_T_pvar_start(sessions[0], watcher.handle);
        MPI_T_pvar_start(sessions[1], collector.handle);
        atomic_store(&running, 1);
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], NULL, bodies[i], NULL);
        for (int i = 0; i < CALLS; i++)
            MPI_Comm_rank(MPI_COMM_SELF, &rank);
        atomic_store(&running, 0);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        CHECKF("HM-2", value_of(&watcher) == CALLS, "a session's counts add up exactly", "%llu, not %d",
               value_of(&watcher), CALLS);
        if (collector.variable.atomic) {
            collected += value_of(&collector);
            CHECKF("HM-5", collected == CALLS, "what readresets return adds up exactly", "%llu, not %d", collected,
                   CALLS);
        } else {
            skip("HM-5", "mpiscope_calls is not atomic");
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
