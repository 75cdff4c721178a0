/* Starting and stopping, of one handle and of all. */
#include "tinfo.h"

static double grown(struct gauge *g, int calls)
{
    double before = gauge_sum(g);
    work(calls);
    return gauge_sum(g) - before;
}

/* Reads twice; returns 1 if the bytes are the same. */
static int still(struct gauge *g)
{
    void *copy = malloc(g->bytes);
    int equal;
    gauge_read(g);
    memcpy(copy, g->buffer, g->bytes);
    work(3);
    gauge_read(g);
    equal = !memcmp(copy, g->buffer, g->bytes);
    free(copy);
    return equal;
}

static void check_continuous(struct gauge *g)
{
    const char *sentence = "a continuous variable cannot be started or stopped";
    CHECK_RC("ST-1", MPI_T_pvar_start(g->session, g->handle), MPI_T_ERR_PVAR_NO_STARTSTOP, sentence);
    CHECK_RC("ST-1", MPI_T_pvar_stop(g->session, g->handle), MPI_T_ERR_PVAR_NO_STARTSTOP, sentence);
    CHECKF("ST-2", gauge_read(g) == MPI_SUCCESS, "a continuous variable may be read at any time", "%s",
           g->variable.name);
}

static void check_stopped(struct gauge *g)
{
    CHECKF("ST-3", still(g), "a variable is stopped when its handle is allocated", "%s", g->variable.name);
    CHECK_RC("ST-4", MPI_T_pvar_start(g->session, g->handle), MPI_SUCCESS, "a variable is started");
    CHECKF("ST-5", gauge_read(g) == MPI_SUCCESS, "a started variable is read", "%s", g->variable.name);
    CHECK_RC("ST-6", MPI_T_pvar_stop(g->session, g->handle), MPI_SUCCESS, "a variable is stopped");
    CHECKF("ST-7", still(g), "the value of a stopped variable does not change", "%s", g->variable.name);
    CHECK_RC("ST-4", MPI_T_pvar_start(g->session, g->handle), MPI_SUCCESS, "a variable is started");
    CHECK_RC("ST-6", MPI_T_pvar_stop(g->session, g->handle), MPI_SUCCESS, "a variable is stopped");
}

static void check_every_variable(MPI_T_pvar_session session)
{
    struct pvar p;
    struct gauge g;
    int startable = 0;
    for (int i = 0, n = pvar_count(); i < n; i++) {
        int usable;
        void *object;
        if (pvar_query(i, &p) != MPI_SUCCESS)
            continue;
        object = object_of(p.bind, &usable);
        if (!usable || !gauge_open(&g, session, &p, object))
            continue;
        startable += p.continuous == 0;
        if (p.continuous)
            check_continuous(&g);
        else
            check_stopped(&g);
        CHECKF("ST-8", gauge_intact(&g), "a read writes count elements and no more", "%s", p.name);
        gauge_close(&g);
    }
    CHECK("ST-9", startable > 0, "some variables can be started and stopped");
}

static void check_counter(MPI_T_pvar_session session)
{
    struct pvar p;
    struct gauge g;
    double value;
    if (!CHECK("ST-10", counter_of_calls(&p) && p.continuous == 0 && gauge_open(&g, session, &p, NULL),
               "the counter of all calls can be started and stopped"))
        return;
    CHECK("ST-11", gauge_sum(&g) == 0 && grown(&g, 50) == 0, "a counter counts nothing before it is started");
    MPI_T_pvar_start(session, g.handle);
    value = grown(&g, 50);
    CHECKF("ST-12", value >= 50 && (conform_threads > 1 || value < 100), "a started counter counts", "%g", value);
    MPI_T_pvar_stop(session, g.handle);
    value = gauge_sum(&g);
    CHECKF("ST-13", grown(&g, 50) == 0 && gauge_sum(&g) == value, "a stopped counter keeps its value", "%g", value);
    MPI_T_pvar_start(session, g.handle);
    CHECKF("ST-14", gauge_sum(&g) >= value && gauge_sum(&g) < value + (conform_threads > 1 ? 1e9 : 50),
           "a counter that is started again continues from its value", "%g, then %g", value, gauge_sum(&g));
    MPI_T_pvar_stop(session, g.handle);
    gauge_close(&g);
}

static void check_all_handles(void)
{
    MPI_T_pvar_session session;
    struct pvar p, constant;
    struct gauge a, b, c;
    int has_continuous = 0;
    double value;
    MPI_T_pvar_session_create(&session);
    CHECK_RC("ST-15", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
             "starting all handles of an empty session succeeds");
    CHECK_RC("ST-16", MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
             "stopping all handles of an empty session succeeds");
    for (int i = 0, n = pvar_count(); i < n && !has_continuous; i++)
        has_continuous = pvar_query(i, &constant) == MPI_SUCCESS && constant.continuous
            && constant.bind == MPI_T_BIND_NO_OBJECT && gauge_open(&c, session, &constant, NULL);
    if (has_continuous) {
        CHECK_RC("ST-17", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
                 "starting all handles succeeds when all are continuous");
        CHECK_RC("ST-18", MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
                 "stopping all handles succeeds when all are continuous");
    } else {
        skip("ST-17", "no variable is continuous and unbound");
        skip("ST-18", "no variable is continuous and unbound");
    }
    if (counter_of_calls(&p) && p.continuous == 0 && gauge_open(&a, session, &p, NULL)
        && gauge_open(&b, session, &p, NULL)) {
        MPI_T_pvar_start(session, a.handle);
        work(10);
        value = gauge_sum(&a);
        CHECK_RC("ST-19", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
                 "starting all handles ignores those that are already started");
        CHECKF("ST-20", gauge_sum(&a) >= value && value >= 10,
               "a handle that is already started keeps its value when all are started", "%g, then %g", value,
               gauge_sum(&a));
        CHECKF("ST-21", grown(&a, 10) >= 10 && grown(&b, 10) >= 10, "starting all handles starts each", "%g, %g",
               gauge_sum(&a), gauge_sum(&b));
        MPI_T_pvar_stop(session, a.handle);
        CHECK_RC("ST-22", MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
                 "stopping all handles ignores those that are already stopped");
        CHECKF("ST-23", grown(&a, 10) == 0 && grown(&b, 10) == 0, "stopping all handles stops each", "%g, %g",
               gauge_sum(&a), gauge_sum(&b));
        gauge_close(&a);
        gauge_close(&b);
    }
    if (has_continuous)
        gauge_close(&c);
    MPI_T_pvar_session_free(&session);
}

static void each(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_session_create(&session);
    check_every_variable(session);
    check_counter(session);
    MPI_T_pvar_session_free(&session);
    check_all_handles();
}

int main(int argc, char **argv)
{
    static const struct group group = { "pvar_startstop", each, objects_make, objects_free };
    return conform_main(argc, argv, &group);
}
