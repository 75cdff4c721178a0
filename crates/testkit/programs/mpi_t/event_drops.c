/* Forced drops: a full queue, and a callback of too low a level. Every event is either delivered or reported as dropped before the
 * next event of its source. */
#include "einfo.h"

#define MANY 64
#define SMALL 8

struct account {
    long long raised, delivered, reported;
    int handler_calls, budget, more;
    MPI_Comm comm;
};

/* A message to itself with a unique tag, so that it is received by its own receive, even if a callback does this
 * between another receive and its send. */
static void send_apart(struct account *a)
{
    static int tag;
    char out = 0, in;
    tag = (tag + 1) % 30000;
    MPI_Sendrecv(&out, 1, MPI_CHAR, 0, tag, &in, 1, MPI_CHAR, 0, tag, a->comm, MPI_STATUS_IGNORE);
    a->raised++;
}

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    struct account *a = data;
    (void) instance;
    (void) registration;
    (void) safety;
    a->delivered++;
    for (int i = 0; i < a->more && a->budget > 0; i++) {
        a->budget--;
        send_apart(a);
    }
}

static struct account *account;

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                       void *data)
{
    (void) registration;
    (void) source;
    (void) safety;
    (void) data;
    account->handler_calls++;
    account->reported += count;
}

static int queue_of(int events)
{
    int index, count, before = 0;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index("mpiscope_event_queue", &index) != MPI_SUCCESS
        || MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return 0;
    MPI_T_cvar_read(handle, &before);
    int written = MPI_T_cvar_write(handle, &events) == MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return written ? before : 0;
}

static int open_account(struct account *a, const char *name, void *object, MPI_T_cb_safety level,
                        MPI_T_event_registration *registration)
{
    struct event_type e;
    account = a;
    return event_find(name, &e)
        && MPI_T_event_handle_alloc(e.index, object, MPI_INFO_NULL, registration) == MPI_SUCCESS
        && MPI_T_event_set_dropped_handler(*registration, on_dropped) == MPI_SUCCESS
        && MPI_T_event_register_callback(*registration, level, MPI_INFO_NULL, a, on_event) == MPI_SUCCESS;
}

/* One call that causes more events than the queue holds. */
static void check_full(void)
{
    struct account a;
    MPI_T_event_registration registration;
    MPI_Request requests[MANY];
    MPI_Status statuses[MANY];
    char in[MANY], out = 0;
    int before;
    memset(&a, 0, sizeof a);
    MPI_Comm_dup(MPI_COMM_SELF, &a.comm);
    before = queue_of(SMALL);
    CHECKF("EF-1", before >= SMALL, "the number of events kept is a control variable", "%d", before);
    if (!CHECK("EF-2", open_account(&a, EVENT_RECEIVED, &a.comm, MPI_T_CB_REQUIRE_NONE, &registration),
               "receives are events"))
        return;
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(&in[i], 1, MPI_CHAR, 0, i, a.comm, &requests[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Send(&out, 1, MPI_CHAR, 0, i, a.comm);
    MPI_Waitall(MANY, requests, statuses);
    CHECKF("EF-3", a.delivered >= 1 && a.delivered <= SMALL, "a full queue keeps the first events", "%lld delivered",
           a.delivered);
    long long kept = a.delivered;
    MPI_Sendrecv(&out, 1, MPI_CHAR, 0, 5, in, 1, MPI_CHAR, 0, 5, a.comm, MPI_STATUS_IGNORE);
    CHECKF("EF-4", a.delivered == kept + 1 && a.delivered + a.reported == MANY + 1 && a.handler_calls >= 1,
           "events that do not fit into a full queue are reported as dropped before the next event", "%lld and %lld of %d",
           a.delivered, a.reported, MANY + 1);
    MPI_T_event_handle_free(registration, NULL, NULL);
    queue_of(before);
    MPI_Comm_free(&a.comm);
}

static int calls_inside;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    int size;
    (void) comm;
    (void) keyval;
    (void) extra;
    (void) in;
    (void) out;
    for (int i = 0; i < 5; i++) {
        MPI_Comm_size(MPI_COMM_SELF, &size);
        calls_inside++;
    }
    *flag = 0;
    return MPI_SUCCESS;
}

/* Calls by a function of the program that the library calls: MPI is restricted there. */
static void check_level(void)
{
    struct account a;
    MPI_T_event_registration registration;
    MPI_Comm comm, other;
    int keyval, size;
    memset(&a, 0, sizeof a);
    calls_inside = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(comm, keyval, &keyval);
    if (!CHECK("EF-5", open_account(&a, "mpiscope.call_ended", NULL, MPI_T_CB_REQUIRE_NONE, &registration),
               "calls are events"))
        return;
    MPI_Comm_dup(comm, &other);
    MPI_Comm_size(MPI_COMM_SELF, &size);
    CHECKF("EF-6", calls_inside == 5 && a.reported == calls_inside && a.handler_calls == 1 && a.delivered == 2,
           "an event is dropped if the required level is above that of every callback, and reported before the next",
           "%d calls inside, %lld reported, %lld delivered", calls_inside, a.reported, a.delivered);
    /* A callback of the level receives the same events. */
    a.delivered = a.reported = 0;
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &a, on_event);
    MPI_Comm_free(&other);
    a.delivered = a.reported = 0;
    MPI_Comm_dup(comm, &other);
    CHECKF("EF-7", a.delivered == 6 && a.reported == 0, "a callback of a sufficient level gets them", "%lld of 6",
           a.delivered);
    MPI_T_event_handle_free(registration, NULL, NULL);
    MPI_Comm_free(&other);
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&keyval);
}

/* Each callback sends two more messages: its own registration receives none of them, and loses none of the program's. */
static void check_reentrancy(void)
{
    struct account a;
    MPI_T_event_registration registration;
    int before;
    memset(&a, 0, sizeof a);
    MPI_Comm_dup(MPI_COMM_SELF, &a.comm);
    before = queue_of(SMALL);
    if (!CHECK("EF-8", open_account(&a, EVENT_SEND, &a.comm, MPI_T_CB_REQUIRE_NONE, &registration), "sends are events"))
        return;
    a.more = 2;
    a.budget = 4 * MANY;
    for (int i = 0; i < MANY; i++)
        send_apart(&a);
    CHECKF("EF-9", a.raised == 3 * MANY && a.delivered == MANY && a.reported == 0,
           "calls of a callback neither reach its own registration nor fill its queue", "%lld and %lld of %d",
           a.delivered, a.reported, MANY);
    MPI_T_event_handle_free(registration, NULL, NULL);
    queue_of(before);
    MPI_Comm_free(&a.comm);
}

static void alone(void)
{
    if (!events_here("EF-10") || conform_phase != BETWEEN)
        return;
    check_full();
    check_level();
    check_reentrancy();
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_drops", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
