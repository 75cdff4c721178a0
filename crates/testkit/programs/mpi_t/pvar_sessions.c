/* Performance experiment sessions: created, freed, and independent of one another. */
#include "tinfo.h"

static const char *const isolated = "operations in one session do not affect another";

static void check_life(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL, old;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count;
    CHECK_RC("SE-1", MPI_T_pvar_session_create(&session), MPI_SUCCESS, "a session is created");
    CHECK("SE-2", session != MPI_T_PVAR_SESSION_NULL, "a session has a handle other than the null handle");
    old = session;
    CHECK_RC("SE-3", MPI_T_pvar_session_free(&session), MPI_SUCCESS, "a session is freed");
    CHECK("SE-4", session == MPI_T_PVAR_SESSION_NULL, "freeing sets the session to MPI_T_PVAR_SESSION_NULL");
    CHECK_RC("SE-5", MPI_T_pvar_handle_alloc(old, 0, NULL, &handle, &count), MPI_T_ERR_INVALID_SESSION,
             "no call can be made in a freed session");
    CHECK_RC("SE-5", MPI_T_pvar_start(old, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION,
             "no call can be made in a freed session");
    CHECK_RC("SE-5", MPI_T_pvar_stop(old, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION,
             "no call can be made in a freed session");
    CHECK_RC("SE-5", MPI_T_pvar_reset(old, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION,
             "no call can be made in a freed session");
    CHECK_RC("SE-6", MPI_T_pvar_session_free(&old), MPI_T_ERR_INVALID_SESSION, "a session is freed only once");
    CHECK_RC("SE-7", MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION,
             "the null session cannot be freed");
    CHECK_REFUSED("SE-8", MPI_T_pvar_session_create(NULL), "a NULL pe_session is rejected and not dereferenced");
    CHECK_REFUSED("SE-8", MPI_T_pvar_session_free(NULL), "a NULL pe_session is rejected and not dereferenced");
    CHECK_RC("SE-9", MPI_T_pvar_handle_alloc(MPI_T_PVAR_SESSION_NULL, 0, NULL, &handle, &count),
             MPI_T_ERR_INVALID_SESSION, "no handle is allocated in the null session");
}

static void check_foreign(void)
{
    for (int i = 0; i < FOREIGN; i++) {
        MPI_T_pvar_session session = (MPI_T_pvar_session) foreign(i);
        MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
        int count;
        CHECK_RC("SE-10", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_T_ERR_INVALID_SESSION,
                 "a pointer that is not a session is detected and not dereferenced");
        CHECK_RC("SE-10", MPI_T_pvar_handle_alloc(session, 0, NULL, &handle, &count), MPI_T_ERR_INVALID_SESSION,
                 "a pointer that is not a session is detected and not dereferenced");
        CHECK_RC("SE-10", MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION,
                 "a pointer that is not a session is detected and not dereferenced");
    }
}

#define MANY 500

static void check_many(void)
{
    MPI_T_pvar_session all[MANY];
    int made = 0, distinct = 1;
    while (made < MANY && MPI_T_pvar_session_create(&all[made]) == MPI_SUCCESS)
        made++;
    for (int i = 0; i < made; i++)
        for (int j = 0; j < i; j++)
            distinct &= all[i] != all[j];
    CHECKF("SE-11", made == MANY, "many sessions can be open at once", "%d", made);
    CHECK("SE-12", distinct, "open sessions have different handles");
    for (int i = 0; i < made; i++)
        MPI_T_pvar_session_free(&all[i]);
}

/* One counter in two sessions. Both handles are stopped unless said otherwise, so that other threads do not matter. */
static void check_isolation(void)
{
    MPI_T_pvar_session one, two;
    struct pvar variable;
    struct gauge a, b;
    double before;
    if (!CHECK("SE-13", counter_of_calls(&variable), "there is a counter of all calls"))
        return;
    if (!CHECK("SE-14", variable.continuous == 0 && variable.readonly == 0,
               "the counter of all calls can be started, stopped and reset"))
        return;
    MPI_T_pvar_session_create(&one);
    MPI_T_pvar_session_create(&two);
    if (!CHECK("SE-15", gauge_open(&a, one, &variable, NULL) && gauge_open(&b, two, &variable, NULL),
               "one variable has handles in two sessions"))
        return;
    MPI_T_pvar_start(one, a.handle);
    work(20);
    CHECKF("SE-16", gauge_sum(&b) == 0, isolated, "after a start elsewhere: %g", gauge_sum(&b));
    CHECKF("SE-17", gauge_sum(&a) >= 20, "in the session that started the variable, it advances", "%g", gauge_sum(&a));
    MPI_T_pvar_start(two, b.handle);
    MPI_T_pvar_stop(one, a.handle);
    before = gauge_sum(&a);
    work(30);
    CHECKF("SE-18", gauge_sum(&b) >= 30, isolated, "after a stop elsewhere: %g", gauge_sum(&b));
    CHECKF("SE-19", gauge_sum(&a) == before, "in the session that stopped the variable, it does not change", "%g, %g",
           before, gauge_sum(&a));
    MPI_T_pvar_stop(two, b.handle);
    before = gauge_sum(&b);
    MPI_T_pvar_reset(one, a.handle);
    CHECKF("SE-20", gauge_sum(&a) == 0 && gauge_sum(&b) == before, isolated, "after a reset elsewhere: %g, not %g",
           gauge_sum(&b), before);
    MPI_T_pvar_read(one, a.handle, a.buffer);
    memset(a.buffer, 0x01, a.bytes);
    MPI_T_pvar_write(one, a.handle, a.buffer);
    CHECKF("SE-21", gauge_sum(&b) == before, isolated, "after a write elsewhere: %g, not %g", gauge_sum(&b), before);
    MPI_T_pvar_readreset(one, a.handle, a.buffer);
    CHECKF("SE-22", gauge_sum(&b) == before, isolated, "after a readreset elsewhere: %g, not %g", gauge_sum(&b),
           before);
    MPI_T_pvar_start(one, MPI_T_PVAR_ALL_HANDLES);
    work(10);
    CHECKF("SE-23", gauge_sum(&b) == before, isolated, "after a start of all handles elsewhere: %g, not %g",
           gauge_sum(&b), before);
    MPI_T_pvar_reset(two, MPI_T_PVAR_ALL_HANDLES);
    CHECKF("SE-24", gauge_sum(&b) == 0 && gauge_sum(&a) >= 10, isolated, "after a reset of all handles elsewhere: %g",
           gauge_sum(&a));
    gauge_close(&a);
    MPI_T_pvar_session_free(&one);
    MPI_T_pvar_start(two, b.handle);
    work(5);
    CHECKF("SE-25", gauge_sum(&b) >= 5, isolated, "after the other session was freed: %g", gauge_sum(&b));
    gauge_close(&b);
    MPI_T_pvar_session_free(&two);
}

/* A session is freed with handles in it: they become invalid, and everything else keeps working. */
static void check_orphans(void)
{
    MPI_T_pvar_session doomed, other;
    struct pvar variable;
    struct gauge g;
    for (int i = 0, n = pvar_count(); i < n; i++) {
        int usable;
        void *object;
        if (pvar_query(i, &variable) != MPI_SUCCESS)
            continue;
        object = object_of(variable.bind, &usable);
        if (!usable)
            continue;
        MPI_T_pvar_session_create(&doomed);
        MPI_T_pvar_session_create(&other);
        if (gauge_open(&g, doomed, &variable, object)) {
            MPI_T_pvar_session_free(&doomed);
            CHECK_RC("SE-26", MPI_T_pvar_read(other, g.handle, g.buffer), MPI_T_ERR_INVALID_HANDLE,
                     "a handle of a freed session is invalid");
            free(g.buffer);
        } else {
            MPI_T_pvar_session_free(&doomed);
        }
        MPI_T_pvar_session_free(&other);
    }
}

static void each(void)
{
    check_life();
    check_many();
    check_isolation();
    check_orphans();
    check_foreign();
}

static void alone(void)
{
    objects_make();
}

static void done(void)
{
    objects_free();
}

int main(int argc, char **argv)
{
    static const struct group group = { "pvar_sessions", each, alone, done };
    return conform_main(argc, argv, &group);
}
