/* A tool to preload: reconstructs every message of the job with both its ends, using only the descriptions of the
 * event types from MPI_T_event_get_info.
 *
 * One registration per type receives the events of all communicators. An operation's events are joined by `id`; the two
 * ends of a message by communicator, sender, receiver and tag, in the order in which sends and receives were posted. At
 * the end the lists of all ranks are joined on rank 0, which prints
 *
 *     pairs N of SENDS sends and RECEIVES receives, FAULTS faults
 */
#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENT, SEND_DONE, SEND_GONE, POSTED, MATCHED, RECEIVED, RECEIVE_GONE, STARTED, COMPLETED, TYPES };
enum { MOST = 16, BYTES = 256 };

static struct type {
    const char *name;
    int elements;
    MPI_Datatype types[MOST];
    MPI_Aint places[MOST];
    char names[MOST][64];
} types[TYPES] = {
    [SENT] = { .name = "mpiscope.any.send_posted" },
    [SEND_DONE] = { .name = "mpiscope.any.send_completed" },
    [SEND_GONE] = { .name = "mpiscope.any.send_cancelled" },
    [POSTED] = { .name = "mpiscope.any.receive_posted" },
    [MATCHED] = { .name = "mpiscope.any.receive_matched" },
    [RECEIVED] = { .name = "mpiscope.any.receive_completed" },
    [RECEIVE_GONE] = { .name = "mpiscope.any.receive_cancelled" },
    [STARTED] = { .name = "mpiscope.request_started" },
    [COMPLETED] = { .name = "mpiscope.request_completed" },
};

struct event { int type; long long id, comm, peer, tag, bytes, partitions, posted, started, stamp; };

/* One end of a message. */
struct end { long long comm, from, to, tag, partitioned, id, bytes, stamp; };

static struct event *events;
static long count, room, faults;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void fault(const char *what, const struct event *e)
{
    if (faults++ < 5)
        fprintf(stderr, "message_pairs: %s: %s id %lld comm %lld peer %lld tag %lld bytes %lld\n", what, types[e->type].name,
                e->id, e->comm, e->peer, e->tag, e->bytes);
}

/* The element with this name in the payload; -1 if the type has none. */
static long long element(const struct type *t, const char *name, const unsigned char *payload)
{
    for (int i = 0; i < t->elements; i++)
        if (!strcmp(t->names[i], name)) {
            int narrow;
            long long wide;
            if (t->types[i] == MPI_INT)
                return memcpy(&narrow, payload + t->places[i], sizeof narrow), narrow;
            return memcpy(&wide, payload + t->places[i], sizeof wide), wide;
        }
    return -1;
}

static void heard(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    const struct type *t = data;
    unsigned char payload[BYTES];
    MPI_Count stamp = 0;
    (void) registration;
    (void) safety;
    if (MPI_T_event_copy(instance, payload) != MPI_SUCCESS || MPI_T_event_get_timestamp(instance, &stamp) != MPI_SUCCESS)
        abort();
    struct event e = {
        (int) (t - types), element(t, "id", payload), element(t, "comm_id", payload), element(t, "world_peer", payload),
        element(t, "tag", payload), element(t, "bytes", payload), element(t, "partitions", payload),
        element(t, "posted", payload), element(t, "started", payload), stamp
    };
    pthread_mutex_lock(&lock);
    if (count == room)
        events = realloc(events, (size_t) (room = 2 * room + 1024) * sizeof *events);
    events[count++] = e;
    pthread_mutex_unlock(&lock);
}

static void dropped(MPI_Count lost, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *data)
{
    (void) registration;
    (void) source;
    (void) safety;
    (void) data;
    faults += (long) lost;
}

static void listen_to(struct type *t)
{
    MPI_T_event_registration registration;
    MPI_T_enum names;
    int index, value, length, bind;
    t->elements = MOST;
    if (MPI_T_event_get_index(t->name, &index) != MPI_SUCCESS
        || MPI_T_event_get_info(index, NULL, NULL, NULL, t->types, t->places, &t->elements, &names, NULL, NULL, NULL, &bind)
            != MPI_SUCCESS || bind != MPI_T_BIND_NO_OBJECT) {
        fprintf(stderr, "message_pairs: no unbound event type %s\n", t->name);
        exit(3);
    }
    for (int i = 0; i < t->elements; i++) {
        length = sizeof t->names[i];
        MPI_T_enum_get_item(names, i, &value, t->names[i], &length);
    }
    if (MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration) != MPI_SUCCESS
        || MPI_T_event_set_dropped_handler(registration, dropped) != MPI_SUCCESS
        || MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, t, heard) != MPI_SUCCESS)
        exit(3);
}

static void begin(void)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < TYPES; i++)
        listen_to(&types[i]);
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    begin();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    begin();
    return code;
}

/* The events by operation, those of one type in the order of their arrival. */
static int by_operation(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : x->type - y->type;
}

/* The only event of a type among those of an operation. */
static const struct event *only(int type, const struct event *from, const struct event *to)
{
    const struct event *found = NULL;
    for (; from < to; from++)
        if (from->type == type) {
            if (found)
                fault("two events where one belongs", from);
            found = from;
        }
    return found;
}

/* One operation: its ends of messages. */
static void operation(const struct event *from, const struct event *to, int me, struct end **sends, struct end **receives)
{
    const struct event *sent = only(SENT, from, to), *send_done = only(SEND_DONE, from, to);
    const struct event *posted = only(POSTED, from, to), *matched = only(MATCHED, from, to);
    const struct event *received = only(RECEIVED, from, to), *gone = only(RECEIVE_GONE, from, to);
    const struct event *started = only(STARTED, from, to), *completed = only(COMPLETED, from, to);
    if (sent && !only(SEND_GONE, from, to)) {
        *(*sends)++ = (struct end) { sent->comm, me, sent->peer, sent->tag, sent->partitions > 0, sent->id, sent->bytes,
            sent->stamp };
        if (send_done && (send_done->comm != sent->comm || send_done->bytes != sent->bytes || send_done->stamp < sent->stamp))
            fault("the end of a send does not agree with its beginning", send_done);
        if (started && started->stamp != sent->stamp)
            fault("a send and its request begin at different times", started);
    }
    if (received) {
        *(*receives)++ = (struct end) { received->comm, received->peer, me, received->tag, received->partitions > 0,
            received->id, received->bytes, received->stamp };
        if (!posted && !matched)
            fault("a receive without a beginning", received);
        if (posted && (posted->comm != received->comm || posted->stamp != received->posted))
            fault("a receive does not agree with when it was posted", received);
        if (!posted && matched && matched->bytes != received->bytes)
            fault("a matched message of another size", received);
        if (completed && !sent && completed->bytes != received->bytes)
            fault("a request of another size", completed);
        if (completed && completed->stamp != received->stamp)
            fault("a receive and its request end at different times", completed);
    } else if (posted && !gone)
        fault("a receive without an end", posted);
    if (completed && started && completed->started != started->stamp)
        fault("a request does not agree with when it was started", completed);
}

static int by_message(const void *a, const void *b)
{
    const struct end *x = a, *y = b;
    const long long left[] = { x->comm, x->from, x->to, x->tag, x->partitioned, x->id };
    const long long right[] = { y->comm, y->from, y->to, y->tag, y->partitioned, y->id };
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* The ends of all ranks, on rank 0. */
static struct end *gather(const struct end *mine, long number, long *all)
{
    int rank, size, bytes = (int) (number * (long) sizeof *mine), *counts, *places, total = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    counts = calloc((size_t) size, sizeof *counts);
    places = calloc((size_t) size, sizeof *places);
    PMPI_Gather(&bytes, 1, MPI_INT, counts, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        places[i] = total;
        total += counts[i];
    }
    struct end *together = malloc((size_t) total + sizeof *together);
    PMPI_Gatherv((void *) mine, bytes, MPI_BYTE, together, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD);
    *all = total / (long) sizeof *together;
    qsort(together, (size_t) *all, sizeof *together, by_message);
    return together;
}

int MPI_Finalize(void)
{
    struct end *sends = calloc((size_t) count + 1, sizeof *sends), *receives = calloc((size_t) count + 1, sizeof *receives);
    struct end *next_send = sends, *next_receive = receives;
    long all_sends, all_receives, pairs = 0, all_faults = 0;
    int me;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    /* The calls from here on are this tool's. */
    long mine = count;
    qsort(events, (size_t) mine, sizeof *events, by_operation);
    for (long i = 0, next; i < mine; i = next) {
        for (next = i; next < mine && events[next].id == events[i].id; next++)
            ;
        if (events[i].id <= 0)
            fault("an event without an operation", &events[i]);
        operation(&events[i], &events[next], me, &next_send, &next_receive);
    }
    struct end *s = gather(sends, next_send - sends, &all_sends), *r = gather(receives, next_receive - receives, &all_receives);
    PMPI_Reduce(&faults, &all_faults, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) {
        for (long i = 0; i < all_sends && i < all_receives; i++) {
            int same = s[i].comm == r[i].comm && s[i].from == r[i].from && s[i].to == r[i].to && s[i].tag == r[i].tag
                && s[i].partitioned == r[i].partitioned && s[i].bytes == r[i].bytes && s[i].stamp <= r[i].stamp;
            pairs += same;
            if (!same && i - pairs < 3)
                fprintf(stderr, "message_pairs: comm %llx %lld to %lld tag %lld %lld bytes is not comm %llx %lld to %lld tag "
                        "%lld %lld bytes\n", (unsigned long long) s[i].comm, s[i].from, s[i].to, s[i].tag, s[i].bytes,
                        (unsigned long long) r[i].comm, r[i].from, r[i].to, r[i].tag, r[i].bytes);
        }
        fprintf(stderr, "pairs %ld of %ld sends and %ld receives, %ld faults\n", pairs, all_sends, all_receives, all_faults);
    }
    return PMPI_Finalize();
}
