/* Callbacks that call MPI: which registrations receive those calls, and at what cost; and concurrent callbacks. */
#include "einfo.h"

#include <time.h>

#define CALLS 100

/* A registration whose callback makes MPI calls. */
struct caller {
    long heard;
    int inside;                         /* how many MPI calls a callback makes */
    MPI_T_event_registration registration;
};

static void call_mpi(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    struct caller *c = data;
    int size;
    (void) instance;
    (void) registration;
    (void) safety;
    c->heard++;
    for (int i = 0; i < c->inside; i++)
        MPI_Comm_size(MPI_COMM_SELF, &size);
}

static int caller_open(struct caller *c, const char *name, int inside)
{
    struct event_type e;
    memset(c, 0, sizeof *c);
    c->inside = inside;
    return event_find(name, &e)
        && MPI_T_event_handle_alloc(e.index, NULL, MPI_INFO_NULL, &c->registration) == MPI_SUCCESS
        && MPI_T_event_register_callback(c->registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, c, call_mpi)
        == MPI_SUCCESS;
}

static void caller_close(struct caller *c)
{
    MPI_T_event_handle_free(c->registration, NULL, NULL);
}

static void calls(int n)
{
    int size;
    for (int i = 0; i < n; i++)
        MPI_Comm_size(MPI_COMM_SELF, &size);
}

/* Whatever a callback calls, its own registration receives only the program's calls. */
static void check_alone(void)
{
    struct caller c;
    for (int inside = 0; inside <= 3; inside++) {
        if (!CHECK("EO-1", caller_open(&c, "mpiscope.call_ended", inside), "calls are events"))
            return;
        calls(CALLS);
        CHECKF("EO-2", c.heard == CALLS, "a call made by a callback is not an event for its registration",
               "%d calls in the callback: %ld callbacks for %d calls", inside, c.heard, CALLS);
        caller_close(&c);
    }
}

/* Others receive it once; calls of their callbacks raise no further events: the cost stays proportional. */
static void check_others(void)
{
    struct caller quiet, first, second;
    long one = 0;
    for (int rounds = 1; rounds <= 4; rounds *= 2) {
        if (!CHECK("EO-3", caller_open(&quiet, "mpiscope.call_ended", 0) && caller_open(&first, "mpiscope.call_started", 2)
                   && caller_open(&second, "mpiscope.call_ended", 1), "calls are events"))
            return;
        calls(rounds * CALLS);
        /* The program's call, two of the first callback's, one of the second's. */
        CHECKF("EO-4", quiet.heard == 4L * rounds * CALLS, "other registrations receive each call of a callback once",
               "%ld of %d", quiet.heard, 4 * rounds * CALLS);
        /* Of the other callbacks' calls: those made for events that the program caused. */
        CHECKF("EO-5", first.heard == 2L * rounds * CALLS && second.heard == 3L * rounds * CALLS,
               "two registrations do not receive their own calls through each other", "%ld and %ld for %d calls", first.heard,
               second.heard, rounds * CALLS);
        if (rounds == 1)
            one = first.heard + second.heard + quiet.heard;
        CHECKF("EO-6", first.heard + second.heard + quiet.heard == rounds * one, "the cost grows with the program's calls",
               "%ld for %d times as many, %ld for once", first.heard + second.heard + quiet.heard, rounds, one);
        caller_close(&second);
        caller_close(&first);
        caller_close(&quiet);
    }
}

static void alone(void)
{
    comms_make();
    if (!events_here("EO-7") || conform_phase != BETWEEN || conform_threads > 1)
        return;
    check_alone();
    check_others();
}

/* Number of threads that are in the callback now. */
static _Atomic int inside;

struct meeting {
    int together, level;
};

static void meet(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    struct meeting *m = data;
    time_t late = time(NULL) + 30;
    (void) instance;
    (void) registration;
    m->level = level_rank(safety);
    for (inside++; inside < conform_threads && time(NULL) < late;)
        nanosleep(&(struct timespec) { 0, 100000 }, NULL);
    m->together = inside >= conform_threads;
}

/* Number of threads that have called MPI. */
static _Atomic int known;

/* A thread that is the only one to have called MPI is alone, and its callbacks may do more: so all have called it first. */
static void all_are_known(void)
{
    int initialized;
    time_t late = time(NULL) + 30;
    MPI_Initialized(&initialized);
    for (known++; known < conform_threads && time(NULL) < late;)
        nanosleep(&(struct timespec) { 0, 100000 }, NULL);
}

/* Callbacks that are all thread-safe run concurrently. */
static void each(void)
{
    MPI_T_event_registration registration;
    struct event_type e;
    struct meeting m = { 0, -1 };
    if (conform_phase != BETWEEN || conform_threads < 2 || !events_here("EO-7"))
        return;
    if (!CHECK("EO-8", registration_open(&registration, &e), "sends are events"))
        return;
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &m, meet);
    all_are_known();
    send_on(own_comm[conform_thread]);
    CHECKF("EO-9", m.together, "thread-safe callbacks of several threads run at the same time", "%d of %d", (int) inside,
           conform_threads);
    CHECKF("EO-10", m.level == 2, "a callback that may run concurrently with others is called as thread-safe", "level %d", m.level);
    MPI_T_event_handle_free(registration, NULL, NULL);
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_origins", each, alone, comms_free };
    return conform_main(argc, argv, &group);
}
