/* Handles of performance variables: allocated, bound to objects, freed, and rejected if invalid. */
#include "tinfo.h"

static MPI_T_pvar_session session;

/* Every function that takes a handle, with one that must not be accepted. */
static void refuse(const char *label, MPI_T_pvar_session s, MPI_T_pvar_handle h, const char *sentence)
{
    static __thread unsigned char buffer[1 << 16];
    MPI_T_pvar_handle copy = h;
    CHECK_RC(label, MPI_T_pvar_start(s, h), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_pvar_stop(s, h), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_pvar_read(s, h, buffer), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_pvar_write(s, h, buffer), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_pvar_reset(s, h), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_pvar_readreset(s, h, buffer), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK_RC(label, MPI_T_pvar_handle_free(s, &copy), MPI_T_ERR_INVALID_HANDLE, sentence);
    CHECK("HA-1", copy == h, "a handle that could not be freed is unchanged");
}

static void check_allocated(const struct pvar *p, struct gauge *g)
{
    MPI_T_pvar_session other;
    MPI_T_pvar_handle old;
    int code;
    CHECKF("HA-2", g->handle != MPI_T_PVAR_HANDLE_NULL, "a handle is returned", "%s", p->name);
    CHECKF("HA-3", g->count >= 1, "count is the number of elements", "%s: %d", p->name, g->count);
    MPI_T_pvar_session_create(&other);
    refuse("HA-4", other, g->handle, "a handle of another session is MPI_T_ERR_INVALID_HANDLE");
    MPI_T_pvar_session_free(&other);
    old = g->handle;
    code = MPI_T_pvar_handle_free(g->session, &g->handle);
    CHECKF("HA-5", code == MPI_SUCCESS && g->handle == MPI_T_PVAR_HANDLE_NULL,
           "freeing sets the handle to MPI_T_PVAR_HANDLE_NULL", "%s: %s", p->name, code_name(code));
    refuse("HA-6", g->session, old, "a freed handle is MPI_T_ERR_INVALID_HANDLE");
    free(g->buffer);
}

/* An invalid pointer must not be dereferenced if the variable is unbound. */
static void check_unbound(const struct pvar *p)
{
    for (int i = -1; i < FOREIGN; i++) {
        MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
        int count = -1, code = -1;
        TRY("HA-7", code = MPI_T_pvar_handle_alloc(session, p->index, i < 0 ? NULL : foreign(i), &handle, &count),
            "obj_handle is ignored for an unbound variable",
            CHECKF("HA-7", code == MPI_SUCCESS || !is_own(p->name), "obj_handle is ignored for an unbound variable",
                   "%s: %s", p->name, code_name(code)));
        if (code == MPI_SUCCESS)
            MPI_T_pvar_handle_free(session, &handle);
    }
}

static void check_wrong_objects(const struct pvar *p)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    MPI_Comm no_comm = MPI_COMM_NULL;
    MPI_Win no_win = MPI_WIN_NULL;
    MPI_File no_file = MPI_FILE_NULL;
    void *none = NULL;
    int count;
    CHECK_REFUSED("HA-8", MPI_T_pvar_handle_alloc(session, p->index, NULL, &handle, &count),
                  "a bound variable needs an object");
    if (p->bind == MPI_T_BIND_MPI_COMM)
        none = &no_comm;
    else if (p->bind == MPI_T_BIND_MPI_WIN)
        none = &no_win;
    else if (p->bind == MPI_T_BIND_MPI_FILE)
        none = &no_file;
    if (none)
        CHECK_REFUSED("HA-9", MPI_T_pvar_handle_alloc(session, p->index, none, &handle, &count),
                      "a variable cannot be bound to a null handle");
}

static void each(void)
{
    struct pvar p;
    struct gauge g;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count, n = pvar_count();
    static const int wrong[] = { -1, INT_MIN, INT_MAX, 1000000 };
    for (int i = 0; i < n; i++) {
        int usable;
        void *object;
        if (pvar_query(i, &p) != MPI_SUCCESS)
            continue;
        object = object_of(p.bind, &usable);
        if (p.bind == MPI_T_BIND_NO_OBJECT)
            check_unbound(&p);
        else
            check_wrong_objects(&p);
        if (!usable)
            continue;
        count = gauge_open(&g, session, &p, object);
        CHECKF("HA-10", count || !is_own(p.name), "a handle is allocated for every variable", "%s", p.name);
        if (count)
            check_allocated(&p, &g);
        CHECK_REFUSED("HA-11", MPI_T_pvar_handle_alloc(session, p.index, object, NULL, &count),
                      "a NULL handle argument is rejected and not dereferenced");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_RC("HA-12", MPI_T_pvar_handle_alloc(session, wrong[i], NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX,
                 "an index out of range is MPI_T_ERR_INVALID_INDEX");
    CHECK_RC("HA-12", MPI_T_pvar_handle_alloc(session, n, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX,
             "an index out of range is MPI_T_ERR_INVALID_INDEX");
    refuse("HA-13", session, MPI_T_PVAR_HANDLE_NULL, "the null handle is MPI_T_ERR_INVALID_HANDLE");
    CHECK_REFUSED("HA-14", MPI_T_pvar_handle_free(session, NULL), "a NULL pointer to a handle is rejected");
    for (int i = 0; i < FOREIGN; i++)
        refuse("HA-15", session, (MPI_T_pvar_handle) foreign(i),
               "a pointer that is not a handle is detected and not dereferenced");
}

#define ROUNDS 20000

static void check_rounds(void)
{
    struct pvar p;
    MPI_T_pvar_handle handle;
    int count, done = 0;
    if (!counter_of_calls(&p))
        return;
    while (done < ROUNDS && MPI_T_pvar_handle_alloc(session, p.index, NULL, &handle, &count) == MPI_SUCCESS
           && MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS)
        done++;
    CHECKF("HA-16", done == ROUNDS, "freeing releases the resources of a handle", "%d rounds", done);
}

/* Two handles in one session are two measurements. */
static void check_pair(void)
{
    struct pvar p;
    struct gauge a, b;
    if (!counter_of_calls(&p) || p.continuous || !gauge_open(&a, session, &p, NULL)
        || !gauge_open(&b, session, &p, NULL))
        return;
    MPI_T_pvar_start(session, a.handle);
    work(7);
    CHECKF("HA-17", gauge_sum(&b) == 0 && gauge_sum(&a) >= 7, "two handles of one variable are started independently",
           "%g, %g", gauge_sum(&a), gauge_sum(&b));
    MPI_T_pvar_stop(session, a.handle);
    gauge_close(&a);
    gauge_close(&b);
}

static void check_count_of(const char *name)
{
    struct pvar p;
    struct gauge g;
    MPI_Comm comms[2] = { MPI_COMM_SELF, MPI_COMM_WORLD };
    int sizes[2] = { 1, conform_size };
    if (!pvar_find(name, MPI_T_PVAR_CLASS_COUNTER, &p))
        return;
    for (int i = 0; i < 2; i++) {
        if (!gauge_open(&g, session, &p, &comms[i]))
            continue;
        CHECKF("HA-18", g.count == sizes[i], "the count follows the size of the communicator", "%s: %d for %d ranks",
               name, g.count, sizes[i]);
        gauge_close(&g);
    }
}

/* The communicator is freed before the handle: reading fails or returns the last value, and the process survives. */
static void check_dead_object(void)
{
    for (int i = 0, n = pvar_count(); i < n; i++) {
        struct pvar p;
        struct gauge g;
        MPI_Comm comm;
        int code = 0;
        if (pvar_query(i, &p) != MPI_SUCCESS || p.bind != MPI_T_BIND_MPI_COMM)
            continue;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        if (gauge_open(&g, session, &p, &comm)) {
            MPI_Comm_free(&comm);
            TRY("HA-19", code = gauge_read(&g), "reading a variable of a freed object is harmless",
                CHECKF("HA-19", gauge_intact(&g), "reading a variable of a freed object is harmless", "%s: %d",
                       p.name, code));
            gauge_close(&g);
        } else {
            MPI_Comm_free(&comm);
        }
    }
}

static void alone(void)
{
    MPI_T_pvar_session_create(&session);
    objects_make();
    check_rounds();
    check_pair();
    if (conform_phase != BETWEEN)
        return;
    check_count_of("mpiscope_messages_sent");
    check_count_of("mpiscope_messages_received");
    check_count_of("mpiscope_bytes_sent");
    check_count_of("mpiscope_bytes_received");
    check_dead_object();
}

static void done(void)
{
    objects_free();
    MPI_T_pvar_session_free(&session);
}

int main(int argc, char **argv)
{
    static const struct group group = { "pvar_handles", each, alone, done };
    return conform_main(argc, argv, &group);
}
