/* Read, write, reset, readreset, and the values that each class may have. */
#include "tinfo.h"

static int starts_at_zero(const struct pvar *p)
{
    return p->class == MPI_T_PVAR_CLASS_COUNTER || p->class == MPI_T_PVAR_CLASS_AGGREGATE
        || p->class == MPI_T_PVAR_CLASS_TIMER;
}

/* A stopped variable does not change, whatever the other threads do. */
static int quiet(const struct gauge *g)
{
    return !g->variable.continuous || starts_at_zero(&g->variable);
}

static int all_zero(const struct gauge *g)
{
    for (int i = 0; i < g->count; i++)
        if (number_at(g->variable.type, g->buffer, i) != 0)
            return 0;
    return 1;
}

static void check_read(struct gauge *g)
{
    MPI_T_pvar_session s = g->session;
    if (is_own(g->variable.name))
        CHECK_RC("VA-1", gauge_read(g), MPI_SUCCESS, "a variable is read");
    else
        TRY("VA-1", gauge_read(g), "a variable is read", CHECK("VA-1", 1, "a variable is read"));
    CHECKF("VA-2", gauge_intact(g), "a read writes count elements of the datatype and no more", "%s",
           g->variable.name);
    CHECK_REFUSED("VA-3", MPI_T_pvar_read(s, g->handle, NULL), "a NULL buffer is rejected and not dereferenced");
    for (int i = 0; i < g->count; i++) {
        double value = number_at(g->variable.type, g->buffer, i);
        if (g->variable.class == MPI_T_PVAR_CLASS_PERCENTAGE)
            CHECKF("VA-4", value >= 0 && value <= 1, "a percentage is between 0.0 and 1.0", "%s: %g",
                   g->variable.name, value);
        if (g->variable.class == MPI_T_PVAR_CLASS_TIMER)
            CHECKF("VA-5", value >= 0 && (g->variable.type != MPI_DOUBLE || value < 3600),
                   "a timer is in seconds since it was started", "%s: %g", g->variable.name, value);
    }
}

static void check_state(struct gauge *g)
{
    int number = 0, value, length, found = 0;
    char name[128];
    if (g->variable.class != MPI_T_PVAR_CLASS_STATE || g->variable.names == MPI_T_ENUM_NULL || gauge_read(g))
        return;
    length = sizeof name;
    MPI_T_enum_get_info(g->variable.names, &number, name, &length);
    for (int i = 0; i < number && !found; i++) {
        length = sizeof name;
        found = MPI_T_enum_get_item(g->variable.names, i, &value, name, &length) == MPI_SUCCESS
            && value == ((int *) g->buffer)[0];
    }
    CHECKF("VA-6", found, "a value is one of the items of the variable's enumeration", "%s: %d", g->variable.name,
           ((int *) g->buffer)[0]);
}

/* Integers are equal bit by bit; a timer may keep its seconds in ticks of its clock. */
static int equal(const struct gauge *g, const void *written)
{
    for (int i = 0; i < g->count; i++) {
        double difference = number_at(g->variable.type, g->buffer, i) - number_at(g->variable.type, written, i);
        if (difference < -1e-8 || difference > 1e-8)
            return 0;
    }
    return g->variable.type == MPI_DOUBLE || !memcmp(written, g->buffer, g->bytes);
}

/* The buffer holds the value that was read, so that a variable that is written nevertheless keeps its value. */
static void check_readonly(struct gauge *g)
{
    CHECK_RC("VA-7", MPI_T_pvar_write(g->session, g->handle, g->buffer), MPI_T_ERR_PVAR_NO_WRITE,
             "a read-only variable cannot be written");
    CHECK_RC("VA-8", MPI_T_pvar_reset(g->session, g->handle), MPI_T_ERR_PVAR_NO_WRITE,
             "a read-only variable cannot be reset");
}

static void check_writable(struct gauge *g)
{
    int code = MPI_T_pvar_reset(g->session, g->handle);
    CHECKF("VA-9", code == MPI_SUCCESS, "a variable that is not read-only is reset", "%s: %s", g->variable.name,
           code_name(code));
    gauge_read(g);
    if (starts_at_zero(&g->variable) && quiet(g) && !g->variable.continuous)
        CHECKF("VA-10", all_zero(g), "a reset counter, aggregate or timer is 0", "%s", g->variable.name);
    CHECK_REFUSED("VA-11", MPI_T_pvar_write(g->session, g->handle, NULL), "a NULL buffer is rejected and not dereferenced");
    if (!starts_at_zero(&g->variable) || g->variable.continuous)
        return;
    if (g->variable.type == MPI_DOUBLE)
        for (int i = 0; i < g->count; i++)
            ((double *) g->buffer)[i] = 0.25 * (i + 1);
    else
        for (int i = 0; i < g->count; i++) {
            memset((char *) g->buffer + (size_t) i * type_size(g->variable.type), 0, type_size(g->variable.type));
            ((char *) g->buffer)[(size_t) i * type_size(g->variable.type)] = (char) (i % 100 + 1);
        }
    void *written = malloc(g->bytes);
    memcpy(written, g->buffer, g->bytes);
    code = MPI_T_pvar_write(g->session, g->handle, written);
    CHECKF("VA-12", code == MPI_SUCCESS, "a variable that is not read-only is written", "%s: %s", g->variable.name,
           code_name(code));
    memset(g->buffer, 0, g->bytes);
    gauge_read(g);
    CHECKF("VA-13", equal(g, written), "reading a stopped variable returns the written value", "%s",
           g->variable.name);
    free(written);
    MPI_T_pvar_reset(g->session, g->handle);
}

static void check_readreset(struct gauge *g)
{
    int code = -1, expected = MPI_SUCCESS;
    if (!g->variable.atomic)
        expected = MPI_T_ERR_PVAR_NO_ATOMIC;
    /* Which of the two errors a variable that allows neither returns is unspecified. */
    TRY("VA-14", code = MPI_T_pvar_readreset(g->session, g->handle, g->buffer),
        "readreset works for atomic variables and is MPI_T_ERR_PVAR_NO_ATOMIC for others",
        CHECKF("VA-14", code == expected || (g->variable.readonly && code == MPI_T_ERR_PVAR_NO_WRITE),
               "readreset works for atomic variables and is MPI_T_ERR_PVAR_NO_ATOMIC for others", "%s: %s",
               g->variable.name, code_name(code)));
    CHECKF("VA-15", !g->variable.atomic || !g->variable.readonly, "a variable with readreset can be reset", "%s",
           g->variable.name);
    if (g->variable.atomic)
        CHECK_REFUSED("VA-16", MPI_T_pvar_readreset(g->session, g->handle, NULL),
                      "a NULL buffer is rejected and not dereferenced");
}

static void check_every_variable(MPI_T_pvar_session session)
{
    for (int i = 0, n = pvar_count(); i < n; i++) {
        struct pvar p;
        struct gauge g;
        int usable;
        void *object;
        if (pvar_query(i, &p) != MPI_SUCCESS)
            continue;
        object = object_of(p.bind, &usable);
        if (!usable || !gauge_open(&g, session, &p, object))
            continue;
        check_read(&g);
        check_state(&g);
        if (p.readonly)
            check_readonly(&g);
        else
            check_writable(&g);
        check_readreset(&g);
        gauge_close(&g);
    }
}

/* Counter: start, count, reset, count, readreset. */
static void check_counter(MPI_T_pvar_session session)
{
    struct pvar p;
    struct gauge g;
    double value;
    if (!CHECK("VA-17", counter_of_calls(&p) && gauge_open(&g, session, &p, NULL), "there is a counter of all calls"))
        return;
    CHECKF("VA-18", gauge_sum(&g) == 0 || p.continuous, "a new handle's counter starts at 0, whatever was counted before",
           "%g", gauge_sum(&g));
    MPI_T_pvar_start(session, g.handle);
    work(40);
    MPI_T_pvar_stop(session, g.handle);
    value = gauge_sum(&g);
    CHECKF("VA-19", value >= 40, "a counter counts", "%g", value);
    MPI_T_pvar_reset(session, g.handle);
    CHECKF("VA-20", gauge_sum(&g) == 0, "a reset counter reads 0", "%g", gauge_sum(&g));
    MPI_T_pvar_start(session, g.handle);
    work(40);
    MPI_T_pvar_stop(session, g.handle);
    if (p.atomic) {
        memset(g.buffer, 0, g.bytes);
        CHECK_RC("VA-21", MPI_T_pvar_readreset(session, g.handle, g.buffer), MPI_SUCCESS,
                 "readreset reads and resets");
        CHECKF("VA-22", number_at(p.type, g.buffer, 0) >= 40, "readreset returns the value before the reset", "%g",
               number_at(p.type, g.buffer, 0));
        CHECKF("VA-23", gauge_sum(&g) == 0, "after readreset the variable has its starting value", "%g",
               gauge_sum(&g));
    } else {
        skip("VA-21", "the counter of all calls is not atomic");
    }
    gauge_close(&g);
}

static void check_all_handles(void)
{
    static __thread unsigned char buffer[1 << 16];
    MPI_T_pvar_session session;
    struct pvar p, constant;
    struct gauge a, b, c;
    MPI_T_pvar_handle all = MPI_T_PVAR_ALL_HANDLES;
    int readonly = 0;
    MPI_T_pvar_session_create(&session);
    CHECK_RC("VA-24", MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, buffer), MPI_T_ERR_INVALID_HANDLE,
             "read does not accept MPI_T_PVAR_ALL_HANDLES");
    CHECK_RC("VA-25", MPI_T_pvar_write(session, MPI_T_PVAR_ALL_HANDLES, buffer), MPI_T_ERR_INVALID_HANDLE,
             "write does not accept MPI_T_PVAR_ALL_HANDLES");
    CHECK_RC("VA-26", MPI_T_pvar_readreset(session, MPI_T_PVAR_ALL_HANDLES, buffer), MPI_T_ERR_INVALID_HANDLE,
             "readreset does not accept MPI_T_PVAR_ALL_HANDLES");
    CHECK_RC("VA-27", MPI_T_pvar_handle_free(session, &all), MPI_T_ERR_INVALID_HANDLE,
             "handle_free does not accept MPI_T_PVAR_ALL_HANDLES");
    CHECK_RC("VA-28", MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
             "resetting all handles of an empty session succeeds");
    for (int i = 0, n = pvar_count(); i < n && !readonly; i++)
        readonly = pvar_query(i, &constant) == MPI_SUCCESS && constant.readonly
            && constant.bind == MPI_T_BIND_NO_OBJECT && gauge_open(&c, session, &constant, NULL);
    if (readonly)
        CHECK_RC("VA-29", MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
                 "resetting all handles succeeds when all are read-only");
    else
        skip("VA-29", "no variable is read-only and unbound");
    if (counter_of_calls(&p) && gauge_open(&a, session, &p, NULL) && gauge_open(&b, session, &p, NULL)) {
        MPI_T_pvar_start(session, a.handle);
        MPI_T_pvar_start(session, b.handle);
        work(10);
        MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES);
        CHECKF("VA-30", gauge_sum(&a) >= 10 && gauge_sum(&b) >= 10, "both handles counted", "%g, %g", gauge_sum(&a),
               gauge_sum(&b));
        CHECK_RC("VA-31", MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS,
                 "resetting all handles ignores read-only variables");
        CHECKF("VA-32", gauge_sum(&a) == 0 && gauge_sum(&b) == 0, "resetting all handles resets each", "%g, %g",
               gauge_sum(&a), gauge_sum(&b));
        gauge_close(&a);
        gauge_close(&b);
    }
    if (readonly)
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

/* A level with its two watermarks: pending requests, which this rank creates and completes. */
static void check_watermarks(void)
{
    MPI_T_pvar_session session;
    struct pvar p;
    struct gauge level, high, low;
    MPI_Request requests[8];
    MPI_Status statuses[8];
    int words[8];
    double now, top, bottom;
    MPI_T_pvar_session_create(&session);
    if (!CHECK("VA-33", pvar_find("mpiscope_pending_requests", MPI_T_PVAR_CLASS_LEVEL, &p)
               && gauge_open(&level, session, &p, NULL)
               && pvar_find("mpiscope_pending_requests_high", MPI_T_PVAR_CLASS_HIGHWATERMARK, &p)
               && gauge_open(&high, session, &p, NULL)
               && pvar_find("mpiscope_pending_requests_low", MPI_T_PVAR_CLASS_LOWWATERMARK, &p)
               && gauge_open(&low, session, &p, NULL),
               "a level has watermarks")) {
        MPI_T_pvar_session_free(&session);
        return;
    }
    MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    now = gauge_sum(&level);
    CHECKF("VA-34", gauge_sum(&high) == now && gauge_sum(&low) == now, "a watermark starts at the current level",
           "%g, high %g, low %g", now, gauge_sum(&high), gauge_sum(&low));
    for (int i = 0; i < 8; i++)
        MPI_Irecv(&words[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    CHECKF("VA-35", gauge_sum(&level) == now + 8, "a level is the current value", "%g after %g and 8 receives",
           gauge_sum(&level), now);
    for (int i = 0; i < 8; i++)
        MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    MPI_Waitall(8, requests, statuses);
    top = gauge_sum(&high);
    bottom = gauge_sum(&low);
    CHECKF("VA-36", top == now + 8, "a high watermark is the highest level, even if nobody read it meanwhile", "%g", top);
    CHECKF("VA-37", bottom == now, "a low watermark is the lowest level", "%g", bottom);
    if (!high.variable.readonly) {
        MPI_T_pvar_reset(session, high.handle);
        CHECKF("VA-38", gauge_sum(&high) == gauge_sum(&level), "a reset watermark is the current level", "%g",
               gauge_sum(&high));
    }
    gauge_close(&level);
    gauge_close(&high);
    gauge_close(&low);
    MPI_T_pvar_session_free(&session);
}

/* A timer of all calls grows by no more than the elapsed time. */
static void check_timer(void)
{
    MPI_T_pvar_session session;
    struct pvar p;
    struct gauge g;
    double start, passed, value;
    MPI_T_pvar_session_create(&session);
    if (CHECK("VA-39", pvar_find("mpiscope_time_total", MPI_T_PVAR_CLASS_TIMER, &p)
              && gauge_open(&g, session, &p, NULL), "there is a timer of all calls")) {
        MPI_T_pvar_start(session, g.handle);
        MPI_T_pvar_reset(session, g.handle);
        start = MPI_Wtime();
        for (int i = 0; i < 2000; i++)
            MPI_Barrier(MPI_COMM_SELF);
        passed = MPI_Wtime() - start;
        value = gauge_sum(&g);
        if (p.type != MPI_DOUBLE)
            value = 0;
        CHECKF("VA-40", value > 0 && value <= passed * 1.05 + 1e-4, "a timer counts seconds like MPI_Wtime",
               "%g of %g", value, passed);
        gauge_close(&g);
    }
    MPI_T_pvar_session_free(&session);
}

static void alone(void)
{
    if (conform_phase == BETWEEN) {
        check_watermarks();
        check_timer();
    }
    objects_make();
}

int main(int argc, char **argv)
{
    static const struct group group = { "pvar_values", each, alone, objects_free };
    return conform_main(argc, argv, &group);
}
