/* Dropped events are counted, and reported to the registered handler before the next event of their source.
 *
 * An event is dropped if no callback of a sufficient level is registered, which happens if a level above
 * MPI_T_CB_REQUIRE_NONE is required. A message sent by a callback is neither an event for its registration nor a loss.
 * Dropped and delivered events add up to those raised.
 */
#include "einfo.h"

#define NESTED 50

struct account {
    long long delivered, reported, handler_calls, raised;
    int nest, wrong_data, wrong_registration, wrong_source, wrong_level, late;
    MPI_T_event_registration registration;
    int sources, source;
};

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    struct account *a = data;
    (void) registration;
    MPI_T_event_get_source(instance, &a->source);
    a->delivered++;
    if (a->nest > 0 && level_rank(safety) == 0) {
        a->nest--;
        send_on(own_comm[conform_thread]);
    }
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                       void *data)
{
    struct account *a = data;
    a->handler_calls++;
    a->reported += count;
    a->wrong_data += count < 1;
    a->wrong_registration += registration != a->registration;
    a->wrong_source += source < 0 || source >= a->sources;
    a->wrong_level += level_rank(safety) < 0;
}

static void send_counted(struct account *a, int n)
{
    for (int i = 0; i < n; i++) {
        a->raised++;
        send_on(own_comm[conform_thread]);
    }
}

/* Each outer event's callback sends once more. After the next event of the source everything is accounted for. */
static void check_reentrancy(void)
{
    struct account a;
    struct event_type e;
    memset(&a, 0, sizeof a);
    MPI_T_source_get_num(&a.sources);
    if (!CHECK("ED-1", registration_open(&a.registration, &e), "sends are events, bound to a communicator"))
        return;
    CHECK_RC("ED-2", MPI_T_event_set_dropped_handler(a.registration, on_dropped), MPI_SUCCESS,
             "a dropped handler is set");
    MPI_T_event_register_callback(a.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &a, on_event);
    for (int i = 0; i < NESTED; i++) {
        long long missing;
        a.nest = 1;
        send_counted(&a, 1);
        /* The next event comes after the report on those before it. */
        a.nest = 0;
        send_counted(&a, 1);
        missing = a.raised - a.delivered - a.reported;
        a.late += missing != 0;
    }
    CHECKF("ED-3", a.delivered + a.reported == a.raised, "delivered and dropped events add up to those raised",
           "%lld and %lld of %lld", a.delivered, a.reported, a.raised);
    CHECKF("ED-4", a.late == 0, "a handler is called before the next event of its source is raised", "%d times late",
           a.late);
    CHECKF("ED-5", a.wrong_data == 0 && a.wrong_registration == 0 && a.wrong_source == 0 && a.wrong_level == 0,
           "a handler gets count, registration, source, level and the user's data", "%d %d %d %d wrong", a.wrong_data,
           a.wrong_registration, a.wrong_source, a.wrong_level);
    if (a.handler_calls == 0)
        skip("ED-5", "nothing was dropped: a callback suffices, and the messages it sends are not events for it");
    /* Without a handler nothing is counted. */
    MPI_T_event_set_dropped_handler(a.registration, NULL);
    a.reported = 0;
    a.nest = 1;
    send_counted(&a, 2);
    MPI_T_event_set_dropped_handler(a.registration, on_dropped);
    send_counted(&a, 1);
    CHECKF("ED-6", a.reported == 0, "with a NULL handler no loss is recorded or reported", "%lld", a.reported);
    MPI_T_event_handle_free(a.registration, NULL, NULL);
}

static long long second_calls;

static void second_handler(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                           void *data)
{
    (void) registration;
    (void) source;
    (void) safety;
    (void) data;
    __atomic_fetch_add(&second_calls, count, __ATOMIC_RELAXED);
}

static void check_replaced(void)
{
    struct account a;
    struct event_type e;
    memset(&a, 0, sizeof a);
    MPI_T_source_get_num(&a.sources);
    if (!registration_open(&a.registration, &e))
        return;
    MPI_T_event_set_dropped_handler(a.registration, on_dropped);
    CHECK_RC("ED-7", MPI_T_event_set_dropped_handler(a.registration, second_handler), MPI_SUCCESS,
             "another handler replaces the previous one");
    MPI_T_event_register_callback(a.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &a, on_event);
    a.nest = 5;
    send_counted(&a, 6);
    a.nest = 0;
    send_counted(&a, 1);
    CHECKF("ED-8", a.handler_calls == 0, "a replaced handler is no longer called", "%lld",
           a.handler_calls);
    MPI_T_event_handle_free(a.registration, NULL, NULL);
}

/* Without any callback, the handler is not called either. */
static void check_without_callback(void)
{
    struct account a;
    struct event_type e;
    memset(&a, 0, sizeof a);
    MPI_T_source_get_num(&a.sources);
    if (!registration_open(&a.registration, &e))
        return;
    MPI_T_event_set_dropped_handler(a.registration, on_dropped);
    send_counted(&a, 10);
    CHECKF("ED-9", a.handler_calls == 0, "without a callback of a sufficient level the handler is not called", "%lld",
           a.handler_calls);
    MPI_T_event_handle_free(a.registration, NULL, NULL);
}

static void each(void)
{
    if (!events_here("ED-10") || conform_phase != BETWEEN)
        return;
    check_reentrancy();
    check_replaced();
    check_without_callback();
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_dropped", each, comms_make, comms_free };
    return conform_main(argc, argv, &group);
}
