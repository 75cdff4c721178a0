/* Callbacks: which one is called, how often, with which arguments, and what it may do. */
#include "einfo.h"

struct tally {
    int calls, wrong_data, wrong_registration, level_too_low, last_required;
    MPI_T_cb_safety level;              /* of the registration of this callback */
    MPI_T_event_registration expected;
    struct tally *self;
};

static void count_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                        void *data)
{
    struct tally *t = data;
    (void) instance;
    t->calls++;
    t->wrong_data += t->self != t;
    t->wrong_registration += registration != t->expected;
    t->last_required = level_rank(safety);
    t->level_too_low += level_rank(safety) < 0 || level_rank(safety) > level_rank(t->level);
}

static struct tally tally_of(MPI_T_event_registration registration, MPI_T_cb_safety level)
{
    struct tally t;
    memset(&t, 0, sizeof t);
    t.level = level;
    t.expected = registration;
    return t;
}

static int add(MPI_T_event_registration registration, struct tally *t)
{
    t->self = t;
    return MPI_T_event_register_callback(registration, t->level, MPI_INFO_NULL, t, count_event);
}

/* If there are other threads, an unbound type receives their events too. */
static int exact(const struct event_type *e)
{
    return e->bind == MPI_T_BIND_MPI_COMM || conform_threads == 1;
}

static void check_counts(void)
{
    MPI_T_event_registration registration;
    struct event_type e;
    if (!CHECK("EC-1", registration_open(&registration, &e), "sends are events, bound to a communicator"))
        return;
    raise_events(5);
    struct tally t = tally_of(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
    CHECKF("EC-2", t.calls == 0, "without a callback nothing is called", "%d", t.calls);
    add(registration, &t);
    raise_events(10);
    CHECKF("EC-3", exact(&e) ? t.calls == 10 : t.calls >= 10, "a callback is called for each event", "%d of 10", t.calls);
    CHECKF("EC-4", t.wrong_data == 0, "the callback gets the user's data", "%d wrong", t.wrong_data);
    CHECKF("EC-5", t.wrong_registration == 0, "the callback gets its registration", "%d wrong", t.wrong_registration);
    CHECKF("EC-6", t.level_too_low == 0, "no callback is called if the required level is higher than its own",
           "%d times", t.level_too_low);
    struct tally other = tally_of(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
    add(registration, &other);
    t.calls = 0;
    raise_events(10);
    CHECKF("EC-7", t.calls == 0 && other.calls >= 10, "a second callback for a level replaces the first",
           "%d old, %d new", t.calls, other.calls);
    MPI_T_event_register_callback(registration, other.level, MPI_INFO_NULL, NULL, NULL);
    other.calls = 0;
    raise_events(10);
    CHECKF("EC-8", other.calls == 0, "a NULL callback removes the callback of its level", "%d", other.calls);
    add(registration, &t);
    MPI_T_event_handle_free(registration, NULL, NULL);
    t.calls = 0;
    raise_events(10);
    CHECKF("EC-9", t.calls == 0, "no event is raised for a freed registration", "%d", t.calls);
}

static void check_levels(void)
{
    MPI_T_event_registration registration;
    struct event_type e;
    struct tally t[4];
    int total = 0, chosen = -1;
    if (!registration_open(&registration, &e))
        return;
    for (int i = 3; i >= 0; i--) {
        t[i] = tally_of(registration, levels[i]);
        add(registration, &t[i]);
    }
    raise_events(10);
    for (int i = 3; i >= 0; i--) {
        total += t[i].calls;
        if (t[i].calls)
            chosen = i;
    }
    CHECKF("EC-10", exact(&e) ? total == 10 : total >= 10, "one callback is called for an event, however many levels "
           "have one", "%d of 10", total);
    if (chosen >= 0) {
        CHECKF("EC-11", t[chosen].last_required == chosen, "the callback with the lowest valid level is called",
               "level %d where %d is required", chosen, t[chosen].last_required);
        CHECKF("EC-12", chosen == 0, "an event of the caller's own thread does not restrict the callback", "level %d", chosen);
    }
    /* The lowest one is removed; the next one is called. */
    MPI_T_event_register_callback(registration, levels[0], MPI_INFO_NULL, NULL, NULL);
    t[1].calls = 0;
    raise_events(5);
    CHECKF("EC-13", t[1].calls >= 5, "without the lowest level the next one is called", "%d of 5", t[1].calls);
    MPI_T_event_handle_free(registration, NULL, NULL);
}

static void check_registrations(void)
{
    MPI_T_event_registration one, two, elsewhere;
    struct event_type e;
    struct tally a, b, c;
    MPI_Comm other;
    if (!registration_open(&one, &e) || !registration_open(&two, &e))
        return;
    a = tally_of(one, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
    b = tally_of(two, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
    add(one, &a);
    add(two, &b);
    raise_events(10);
    CHECKF("EC-14", a.calls >= 10 && b.calls >= 10, "two registrations of one type are both called", "%d, %d", a.calls,
           b.calls);
    MPI_T_event_handle_free(one, NULL, NULL);
    a.calls = b.calls = 0;
    raise_events(10);
    CHECKF("EC-15", a.calls == 0 && b.calls >= 10, "freeing one registration leaves the other", "%d, %d", a.calls,
           b.calls);
    /* Another communicator of the same ranks; in only one thread, since creating one may be collective. */
    if (e.bind == MPI_T_BIND_MPI_COMM && conform_threads == 1) {
        MPI_Comm_dup(MPI_COMM_SELF, &other);
        if (MPI_T_event_handle_alloc(e.index, &other, MPI_INFO_NULL, &elsewhere) == MPI_SUCCESS) {
            c = tally_of(elsewhere, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE);
            add(elsewhere, &c);
            raise_events(10);
            CHECKF("EC-16", c.calls == 0, "a bound registration receives no events of other objects", "%d", c.calls);
            send_on(other);
            CHECKF("EC-17", c.calls == 1, "a bound registration receives the events of its object", "%d", c.calls);
            MPI_T_event_handle_free(elsewhere, NULL, NULL);
        }
        MPI_Comm_free(&other);
    }
    MPI_T_event_handle_free(two, NULL, NULL);
}

struct suicide {
    int calls, after_free, frees, wrong;
    int code;
};

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    struct suicide *s = data;
    (void) registration;
    s->wrong += level_rank(safety) < 0;
    s->frees++;
}

static void free_myself(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                        void *data)
{
    struct suicide *s = data;
    (void) instance;
    (void) safety;
    s->after_free += s->frees;
    if (s->calls++ == 0)
        s->code = MPI_T_event_handle_free(registration, s, on_free);
}

static void check_free_inside(void)
{
    MPI_T_event_registration registration;
    struct event_type e;
    struct suicide s;
    memset(&s, 0, sizeof s);
    if (!registration_open(&registration, &e))
        return;
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &s, free_myself);
    raise_events(10);
    CHECKF("EC-18", s.calls == 1 && s.code == MPI_SUCCESS, "a callback may free its own registration and is then the last one",
           "%d calls, %s", s.calls, code_name(s.code));
    CHECKF("EC-19", s.frees == 1 && s.after_free == 0 && s.wrong == 0, "the free-callback is called once, after all "
           "others", "%d times, %d callbacks after it", s.frees, s.after_free);
}

struct busy {
    int calls, inaccessible, failed, depth, deepest, nested;
    struct gauge gauge;
    int with_gauge;
    MPI_T_event_registration registration;
};

/* Functions that a callback may call, including some that must always succeed. */
static void do_everything(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                          void *data)
{
    struct busy *b = data;
    unsigned char buffer[1024];
    MPI_Count stamp;
    int source = -1, n, codes[11], k = 0;
    struct event_type e;
    b->calls++;
    if (++b->depth > b->deepest)
        b->deepest = b->depth;
    codes[k++] = MPI_T_event_get_source(instance, &source);
    codes[k++] = MPI_T_event_get_timestamp(instance, &stamp);
    codes[k++] = MPI_T_event_read(instance, 0, buffer);
    codes[k++] = MPI_T_event_copy(instance, buffer);
    codes[k++] = MPI_T_source_get_timestamp(source, &stamp);
    if (b->with_gauge) {
        codes[k++] = MPI_T_pvar_start(b->gauge.session, b->gauge.handle);
        codes[k++] = MPI_T_pvar_stop(b->gauge.session, b->gauge.handle);
        codes[k++] = MPI_T_pvar_read(b->gauge.session, b->gauge.handle, b->gauge.buffer);
        codes[k++] = MPI_T_pvar_write(b->gauge.session, b->gauge.handle, b->gauge.buffer);
        codes[k++] = MPI_T_pvar_reset(b->gauge.session, b->gauge.handle);
        codes[k++] = MPI_T_pvar_readreset(b->gauge.session, b->gauge.handle, b->gauge.buffer);
    }
    for (int i = 0; i < k; i++) {
        b->inaccessible += codes[i] == MPI_T_ERR_NOT_ACCESSIBLE;
        b->failed += codes[i] != MPI_SUCCESS;
    }
    b->failed += event_find(EVENT_SEND, &e) == 0 || MPI_T_pvar_get_num(&n) != MPI_SUCCESS || MPI_Wtime() < 0;
    MPI_T_event_registration extra;
    if (MPI_T_event_handle_alloc(e.index, &own_comm[conform_thread], MPI_INFO_NULL, &extra) == MPI_SUCCESS)
        b->failed += MPI_T_event_handle_free(extra, NULL, NULL) != MPI_SUCCESS;
    b->failed += registration != b->registration;
    if (level_rank(safety) == 0 && b->nested < 3) {
        b->nested++;
        raise_events(1);
    }
    b->depth--;
}

static void check_inside(void)
{
    MPI_T_pvar_session session;
    struct event_type e;
    struct pvar p;
    struct busy b;
    memset(&b, 0, sizeof b);
    if (!registration_open(&b.registration, &e))
        return;
    MPI_T_pvar_session_create(&session);
    b.with_gauge = counter_of_calls(&p) && p.continuous == 0 && p.atomic && gauge_open(&b.gauge, session, &p, NULL);
    MPI_T_event_register_callback(b.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &b, do_everything);
    raise_events(10);
    CHECKF("EC-20", b.inaccessible == 0, "the functions of Table 22 never return MPI_T_ERR_NOT_ACCESSIBLE in a callback",
           "%d times", b.inaccessible);
    CHECKF("EC-21", b.failed == 0, "a callback may call every function of the interface", "%d failed in %d calls",
           b.failed, b.calls);
    CHECKF("EC-22", exact(&e) ? b.calls == 10 : b.calls >= 10,
           "events caused by a callback do not reach its own registration", "%d calls", b.calls);
    CHECKF("EC-23", b.deepest <= 16, "callbacks do not recurse without bound", "%d deep", b.deepest);
    MPI_T_event_handle_free(b.registration, NULL, NULL);
    MPI_T_pvar_session_free(&session);
}

static void each(void)
{
    if (!events_here("EC-24") || conform_phase != BETWEEN)
        return;
    check_counts();
    check_levels();
    check_registrations();
    check_free_inside();
    check_inside();
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_callbacks", each, comms_make, comms_free };
    return conform_main(argc, argv, &group);
}
