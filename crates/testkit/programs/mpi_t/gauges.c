/* Levels, watermarks, times, states and totals follow what the program does, step by step.
 *
 * If a variable may have another value before the program begins (requests of the library's own tools, objects
 * of an earlier phase), the steps are counted from that value.
 */
#include "functions.h"

#include <stdatomic.h>
#include <math.h>
#include <time.h>

#define MESSAGES 7
#define NAP 0.06

static MPI_T_pvar_session session;

/* A started handle on a variable of this name and class; the assertion `label` checks that there is one. */
static int open_bound(struct gauge *g, const char *label, const char *name, int class, void *object)
{
    struct pvar p;
    int open = pvar_find(name, class, &p) && gauge_open(g, session, &p, object);
    CHECKF(label, open, "the variable exists and can be opened", "%s", name);
    if (open && !p.continuous)
        MPI_T_pvar_start(session, g->handle);
    return open;
}

static int open_started(struct gauge *g, const char *label, const char *name, int class, MPI_Comm *comm)
{
    return open_bound(g, label, name, class, comm);
}

static double value_at(struct gauge *g, int i)
{
    return gauge_read(g) == MPI_SUCCESS && i >= 0 && i < g->count ? number_at(g->variable.type, g->buffer, i) : -1;
}

static double value(struct gauge *g)
{
    return value_at(g, 0);
}

static void is(const char *label, struct gauge *g, double expected, const char *sentence)
{
    double seen = value(g);
    CHECKF(label, seen == expected, sentence, "%s is %g, not %g", g->variable.name, seen, expected);
}

static void nap(double seconds)
{
    struct timespec pause = { 0, (long) (seconds * 1e9) };
    nanosleep(&pause, NULL);
}

/* A level with both watermarks. */
struct tide {
    struct gauge now, high, low;
    double base;
};

static int tide_open(struct tide *t, const char *label, const char *name)
{
    char high[80], low[80];
    snprintf(high, sizeof high, "%s_high", name);
    snprintf(low, sizeof low, "%s_low", name);
    int open = open_started(&t->now, label, name, MPI_T_PVAR_CLASS_LEVEL, NULL)
        && open_started(&t->high, label, high, MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL)
        && open_started(&t->low, label, low, MPI_T_PVAR_CLASS_LOWWATERMARK, NULL);
    if (open)
        t->base = value(&t->now);
    return open;
}

static void tide_is(const char *label, struct tide *t, double now, double high, double low)
{
    is(label, &t->now, t->base + now, "a level is the current number");
    is(label, &t->high, t->base + high, "a high watermark is the maximum since the start or the last reset");
    is(label, &t->low, t->base + low, "a low watermark is the minimum since the start or the last reset");
}

static void both_are(struct tide *requests, struct tide *receives, double now, double high, double low)
{
    tide_is("GA-1", requests, now, high, low);
    tide_is("GA-2", receives, now, high, low);
}

/* Receives are posted, some complete, the watermarks are reset in between, the rest complete. */
static void check_tides(void)
{
    struct tide requests, receives;
    MPI_Request pending[MESSAGES];
    int in[MESSAGES], out = 0;
    if (!tide_open(&requests, "GA-1", "mpiscope_pending_requests")
        || !tide_open(&receives, "GA-2", "mpiscope_posted_receives"))
        return;
    both_are(&requests, &receives, 0, 0, 0);
    for (int i = 0; i < MESSAGES; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &pending[i]);
    both_are(&requests, &receives, MESSAGES, MESSAGES, 0);
    for (int i = 0; i < 3; i++) {
        MPI_Send(&out, 1, MPI_INT, 0, i, MPI_COMM_SELF);
        MPI_Wait(&pending[i], MPI_STATUS_IGNORE);
    }
    both_are(&requests, &receives, MESSAGES - 3, MESSAGES, 0);
    MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES);
    both_are(&requests, &receives, MESSAGES - 3, MESSAGES - 3, MESSAGES - 3);
    for (int i = 3; i < MESSAGES; i++) {
        MPI_Send(&out, 1, MPI_INT, 0, i, MPI_COMM_SELF);
        MPI_Wait(&pending[i], MPI_STATUS_IGNORE);
    }
    both_are(&requests, &receives, 0, MESSAGES - 3, 0);
}

static void queue_is(struct gauge twins[2], struct gauge *other, int expected)
{
    for (int i = 0; i < 2; i++)
        is("GA-3", &twins[i], expected, "unexpected messages are counted, under both names");
    is("GA-4", other, 0, "messages of another communicator are not counted");
}

/* Messages of a process to itself wait until they are received; when one is received by its tag, the others keep waiting. */
static void check_unexpected(MPI_Comm *comm, MPI_Comm *elsewhere)
{
    struct gauge twins[2], other;
    MPI_Request sends[MESSAGES];
    int rank, out = 0, in;
    MPI_Comm_rank(*comm, &rank);
    if (!open_started(&twins[0], "GA-3", "MPI_T_UMQ_LENGTH", MPI_T_PVAR_CLASS_LEVEL, comm)
        || !open_started(&twins[1], "GA-3", "mpiscope_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, comm)
        || !open_started(&other, "GA-4", "mpiscope_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, elsewhere))
        return;
    CHECK("GA-3", twins[0].variable.type == MPI_INT && is_unsigned(twins[1].variable.type),
          "MPI_T_UMQ_LENGTH is an MPI_INT, its twin is unsigned");
    for (int i = 0; i < MESSAGES; i++) {
        queue_is(twins, &other, i);
        MPI_Isend(&out, 1, MPI_INT, rank, i, *comm, &sends[i]);
    }
    for (int i = MESSAGES; i > 0; i--) {
        queue_is(twins, &other, i);
        MPI_Recv(&in, 1, MPI_INT, i % 2 ? rank : MPI_ANY_SOURCE, i - 1, *comm, MPI_STATUS_IGNORE);
    }
    queue_is(twins, &other, 0);
    MPI_Waitall(MESSAGES, sends, MPI_STATUSES_IGNORE);
}

/* Position of a name among the items at the end of `list`, a description. */
static int kind_number(const char *list, const char *kind)
{
    const char *colon = strrchr(list, ':');
    int number = 0;
    while (colon) {
        colon += strspn(colon, ":, ");
        if (!strncmp(colon, kind, strlen(kind)))
            return number;
        number++;
        colon = strchr(colon, ',');
    }
    return -1;
}

static void check_objects(void)
{
    enum { COMMS = 4, TYPES = 3, REQUESTS = 5 };
    struct gauge now, most;
    MPI_Request requests[REQUESTS];
    MPI_Comm comms[COMMS];
    MPI_Datatype types[TYPES];
    if (!open_started(&now, "GA-5", "mpiscope_live_objects", MPI_T_PVAR_CLASS_LEVEL, NULL)
        || !open_started(&most, "GA-5", "mpiscope_live_objects_high", MPI_T_PVAR_CLASS_HIGHWATERMARK, NULL))
        return;
    int comm = kind_number(now.variable.desc, "MPI_Comm"), type = kind_number(now.variable.desc, "MPI_Datatype");
    int request = kind_number(now.variable.desc, "MPI_Request"), word;
    double old_comms = value_at(&now, comm), old_types = value_at(&now, type), old_requests = value_at(&now, request);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
    for (int i = 0; i < TYPES; i++)
        MPI_Type_contiguous(i + 2, MPI_INT, &types[i]);
    for (int i = 0; i < REQUESTS; i++)
        MPI_Recv_init(&word, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    CHECKF("GA-5", value_at(&now, request) == old_requests + REQUESTS, "created objects are counted by kind",
           "%g requests", value_at(&now, request) - old_requests);
    CHECKF("GA-5", value_at(&now, comm) == old_comms + COMMS && value_at(&now, type) == old_types + TYPES,
           "created objects are counted by kind", "%g communicators, %g datatypes", value_at(&now, comm) - old_comms,
           value_at(&now, type) - old_types);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    for (int i = 0; i < TYPES; i++)
        MPI_Type_free(&types[i]);
    for (int i = 0; i < REQUESTS; i++)
        MPI_Request_free(&requests[i]);
    CHECKF("GA-6", value_at(&now, request) == old_requests, "freed objects are not counted", "%g requests",
           value_at(&now, request) - old_requests);
    CHECKF("GA-6", value_at(&now, comm) == old_comms && value_at(&now, type) == old_types,
           "freed objects are not counted", "%g communicators, %g datatypes", value_at(&now, comm) - old_comms,
           value_at(&now, type) - old_types);
    CHECKF("GA-6", value_at(&most, comm) == old_comms + COMMS && value_at(&most, type) == old_types + TYPES,
           "their high watermark stays", "%g communicators, %g datatypes", value_at(&most, comm), value_at(&most, type));
}

static void check_sizes(void)
{
    static const int sizes[] = { 0, 1, 2, 3, 4, 7, 8, 1000, 1024 };
    static const struct { int class, messages; } expected[] = {
        { 0, 1 }, { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 1 }, { 5, 0 }, { 10, 1 }, { 11, 1 },
    };
    static char in[1024], out[1024];
    struct gauge sent, received;
    if (!open_started(&sent, "GA-7", "mpiscope_message_sizes_sent", MPI_T_PVAR_CLASS_COUNTER, NULL)
        || !open_started(&received, "GA-7", "mpiscope_message_sizes_received", MPI_T_PVAR_CLASS_COUNTER, NULL))
        return;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        MPI_Sendrecv(out, sizes[i], MPI_BYTE, 0, 1, in, sizeof in, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        CHECKF("GA-7", value_at(&sent, expected[i].class) == expected[i].messages
               && value_at(&received, expected[i].class) == expected[i].messages,
               "each message is in the class of its size", "class %d has %g sent and %g received, not %d",
               expected[i].class, value_at(&sent, expected[i].class), value_at(&received, expected[i].class),
               expected[i].messages);
}

/* A total of calls, and times of calls between the program's sleep and the time measured by its own clock. */
static void check_times(MPI_Comm *comm, MPI_Comm *elsewhere)
{
    struct gauge calls, time, by_function, waited, other;
    double begin, wall, least = conform_rank > 0 ? NAP / 2 : 0;
    if (!open_started(&calls, "GA-8", "mpiscope_calls_total", MPI_T_PVAR_CLASS_COUNTER, NULL)
        || !open_started(&time, "GA-9", "mpiscope_time_total", MPI_T_PVAR_CLASS_TIMER, NULL)
        || !open_started(&by_function, "GA-9", "mpiscope_time", MPI_T_PVAR_CLASS_TIMER, NULL)
        || !open_started(&waited, "GA-10", "mpiscope_collective_wait", MPI_T_PVAR_CLASS_TIMER, comm)
        || !open_started(&other, "GA-10", "mpiscope_collective_wait", MPI_T_PVAR_CLASS_TIMER, elsewhere))
        return;
    /* So that no rank enters the barrier below while others are still in this one. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES);
    begin = MPI_Wtime();
    if (conform_rank == 0)
        nap(NAP);
    MPI_Barrier(*comm);
    /* Two clocks: the system adjusts its own by up to 500 millionths. */
    wall = (MPI_Wtime() - begin) * 1.001 + 1e-6;
    is("GA-8", &calls, 1, "a total counts the calls of all functions");
    int barrier = element_of("MPI_Barrier");
    double all = value(&time), one = value_at(&by_function, barrier), wait = value(&waited);
    CHECKF("GA-9", all >= least && all <= wall, "the time in MPI is the duration of the calls", "%g s, not from %g to %g s", all,
           least, wall);
    /* The total is rounded once, each function's time separately. */
    CHECKF("GA-9", one >= least && one <= wall && fabs(one - all) < 1e-6, "the time of a function is the duration of its calls",
           "%g s, not from %g to %g s; %g s in all", one, least, wall, all);
    CHECKF("GA-10", wait >= least && wait <= wall, "the time in collectives of a communicator is their duration",
           "%g s, not from %g to %g s", wait, least, wall);
    is("GA-10", &other, 0, "another communicator's collectives do not count");
}

/* The main thread's state, as seen by another thread. */
struct watched {
    struct gauge state, function;
    atomic_int seen;
};

static void item_name(MPI_T_enum names, int value, char *name, int room)
{
    int number = 0, length = 0, item;
    name[0] = 0;
    MPI_T_enum_get_info(names, &number, NULL, &length);
    for (int i = 0; i < number; i++) {
        length = room;
        if (MPI_T_enum_get_item(names, i, &item, name, &length) == MPI_SUCCESS && item == value)
            return;
    }
    name[0] = 0;
}

static void state_name(struct gauge *g, char *name, int room)
{
    item_name(g->variable.names, (int) value(g), name, room);
}

/* Makes rank 1 release the main thread from its receive once the state was seen, or after ten seconds. */
static void *watch(void *argument)
{
    struct watched *w = argument;
    char state[128], function[128];
    int word = 0;
    for (int i = 0; i < 10000 && !atomic_load(&w->seen); i++) {
        state_name(&w->state, state, sizeof state);
        state_name(&w->function, function, sizeof function);
        atomic_store(&w->seen, !strcmp(state, "blocked in a receive or probe") && !strcmp(function, "MPI_Recv"));
        nap(0.001);
    }
    MPI_Send(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    return NULL;
}

/* Not with one rank: in MPICH 4.0 a process that waits for a message from itself blocks its other threads. */
static void check_blocked(struct watched *w)
{
    pthread_t thread;
    int level, word = 0;
    MPI_Query_thread(&level);
    if (level != MPI_THREAD_MULTIPLE || conform_size < 2) {
        skip("GA-12", "there is only one rank, or the library does not provide MPI_THREAD_MULTIPLE");
    } else if (conform_rank == 0) {
        pthread_create(&thread, NULL, watch, w);
        MPI_Recv(&word, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
        CHECK("GA-12", atomic_load(&w->seen), "another thread sees the state of a thread that is blocked in a receive");
    } else if (conform_rank == 1) {
        MPI_Recv(&word, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    }
}

static void check_state(void)
{
    struct watched w;
    char name[128];
    int open;
    atomic_init(&w.seen, 0);
    open = open_started(&w.state, "GA-11", "mpiscope_state", MPI_T_PVAR_CLASS_STATE, NULL)
        && open_started(&w.function, "GA-11", "mpiscope_function", MPI_T_PVAR_CLASS_STATE, NULL);
    if (!open)
        return;
    state_name(&w.state, name, sizeof name);
    CHECKF("GA-11", !strcmp(name, "computing"), "outside MPI the state is computing", "%s", name);
    check_blocked(&w);
}

static void check_window(void)
{
    struct gauge puts, gets, accumulates, size;
    int memory[4] = { 0 }, one = 1, got;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof memory[0], MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (open_bound(&puts, "GA-16", "mpiscope_puts", MPI_T_PVAR_CLASS_COUNTER, &win)
        && open_bound(&gets, "GA-16", "mpiscope_gets", MPI_T_PVAR_CLASS_COUNTER, &win)
        && open_bound(&accumulates, "GA-16", "mpiscope_accumulates", MPI_T_PVAR_CLASS_COUNTER, &win)
        && open_bound(&size, "GA-16", "mpiscope_window_size", MPI_T_PVAR_CLASS_SIZE, &win)) {
        MPI_Win_fence(0, win);
        for (int i = 0; i < 3; i++)
            MPI_Put(&one, 1, MPI_INT, conform_rank, i, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < 2; i++)
            MPI_Get(&got, 1, MPI_INT, conform_rank, i, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        MPI_Accumulate(&one, 1, MPI_INT, conform_rank, 3, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_fence(0, win);
        is("GA-16", &puts, 3, "operations on a window are counted by kind");
        is("GA-16", &gets, 2, "operations on a window are counted by kind");
        is("GA-16", &accumulates, 1, "operations on a window are counted by kind");
        is("GA-16", &size, sizeof memory, "the size of a window is its bytes");
    }
    MPI_Win_free(&win);
}

/* The important functions have counters and timers with their names. */
static void check_named(void)
{
    struct gauge calls, time;
    double begin = MPI_Wtime(), wall;
    if (!open_started(&calls, "GA-17", "mpiscope_MPI_Barrier", MPI_T_PVAR_CLASS_COUNTER, NULL)
        || !open_started(&time, "GA-17", "mpiscope_MPI_Barrier_time", MPI_T_PVAR_CLASS_TIMER, NULL))
        return;
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_size(MPI_COMM_WORLD, &(int) { 0 });
    wall = MPI_Wtime() - begin;
    is("GA-17", &calls, 5, "calls of an important function are counted under its name");
    CHECKF("GA-17", value(&time) > 0 && value(&time) < wall, "its time is measured under its name", "%g of %g s",
           value(&time), wall);
}

static void check_share_and_losses(void)
{
    struct gauge share, lost, version;
    if (open_started(&share, "GA-13", "mpiscope_mpi_share", MPI_T_PVAR_CLASS_PERCENTAGE, NULL))
        CHECKF("GA-13", value(&share) > 0 && value(&share) < 1, "a share of time is from 0.0 to 1.0", "%g", value(&share));
    if (open_started(&lost, "GA-14", "mpiscope_lost_records", MPI_T_PVAR_CLASS_COUNTER, NULL))
        is("GA-14", &lost, 0, "nothing is lost");
    if (open_started(&version, "GA-15", "mpiscope_version", MPI_T_PVAR_CLASS_GENERIC, NULL))
        CHECK("GA-15", gauge_read(&version) == MPI_SUCCESS && version.variable.type == MPI_CHAR
              && (int) strlen(version.buffer) + 1 == version.count, "the version is a string of count characters");
}

static void alone(void)
{
    MPI_Comm comm, elsewhere;
    if (conform_phase != BETWEEN)
        return;
    MPI_T_pvar_session_create(&session);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &elsewhere);
    check_tides();
    check_unexpected(&comm, &elsewhere);
    check_objects();
    check_sizes();
    check_times(&comm, &elsewhere);
    check_state();
    check_window();
    check_named();
    check_share_and_losses();
    MPI_T_pvar_session_free(&session);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&elsewhere);
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "gauges", each, alone, NULL };
    conform_multiple = 1;
    return conform_main(argc, argv, &group);
}
