/* A tool that reconstructs the messages of its rank from events alone, on all communicators.
 *
 * Preloaded with libmpiscope.so, before it. It receives the event of each new communicator, and listens to its messages from
 * then on. At MPI_Finalize it writes $EVENT_RECORD.RANK, one line for each event:
 *
 *     send HANDLE PEER TAG BYTES            in the order in which they were started
 *     recv HANDLE PEER TAG BYTES POSTED     POSTED in ticks
 *     sent, posted, matched, cancelled HANDLE PEER TAG
 *     started, completed, freed KIND
 *     ready COUNT, arrived
 *     dropped COUNT                         always, at the end
 */
#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS 8
#define BYTES 256

struct type {
    const char *name, *word;
    int shown;                          /* number of elements in a line */
    int index, elements, of_comm;
    MPI_Datatype types[ELEMENTS];
    MPI_Aint places[ELEMENTS];
};

static struct type types[] = {
    { .name = "mpiscope.send_posted", .word = "send", .shown = 3, .of_comm = 1 },
    { .name = "mpiscope.receive_completed", .word = "recv", .shown = 4, .of_comm = 1 },
    { .name = "mpiscope.send_completed", .word = "sent", .shown = 2, .of_comm = 1 },
    { .name = "mpiscope.receive_posted", .word = "posted", .shown = 2, .of_comm = 1 },
    { .name = "mpiscope.receive_matched", .word = "matched", .shown = 2, .of_comm = 1 },
    { .name = "mpiscope.receive_cancelled", .word = "cancelled", .shown = 2, .of_comm = 1 },
    { .name = "mpiscope.request_started", .word = "started", .shown = 1 },
    { .name = "mpiscope.request_completed", .word = "completed", .shown = 1 },
    { .name = "mpiscope.request_freed", .word = "freed", .shown = 1 },
    { .name = "mpiscope.partition_ready", .word = "ready" },
    { .name = "mpiscope.partition_arrived", .word = "arrived" },
};
#define TYPES (int) (sizeof types / sizeof types[0])

/* The data of a callback. */
struct listener {
    const struct type *type;
    unsigned long long comm;
};

static struct type created = { .name = "mpiscope.object_created" };
static FILE *out;
static long long dropped;

static long long number(const struct type *t, int element, const unsigned char *copy)
{
    int narrow;
    long long wide;
    if (t->types[element] == MPI_INT) {
        memcpy(&narrow, copy + t->places[element], sizeof narrow);
        return narrow;
    }
    memcpy(&wide, copy + t->places[element], sizeof wide);
    return wide;
}

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    const struct listener *l = data;
    unsigned char copy[BYTES];
    (void) registration;
    (void) safety;
    if (MPI_T_event_copy(instance, copy) != MPI_SUCCESS)
        abort();
    flockfile(out);
    fprintf(out, "%s", l->type->word);
    if (l->type->of_comm)
        fprintf(out, " %llu", l->comm);
    for (int i = 0; i < l->type->shown; i++)
        fprintf(out, " %lld", number(l->type, i, copy));
    /* The number of partitions that are ready. */
    if (!strcmp(l->type->word, "ready"))
        fprintf(out, " %lld", number(l->type, 1, copy));
    fprintf(out, "\n");
    funlockfile(out);
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                       void *data)
{
    (void) registration;
    (void) source;
    (void) safety;
    (void) data;
    __atomic_fetch_add(&dropped, (long long) count, __ATOMIC_RELAXED);
}

static void find(struct type *t)
{
    t->elements = ELEMENTS;
    if (MPI_T_event_get_index(t->name, &t->index) != MPI_SUCCESS
        || MPI_T_event_get_info(t->index, NULL, NULL, NULL, t->types, t->places, &t->elements, NULL, NULL, NULL, NULL,
                                NULL) != MPI_SUCCESS) {
        fprintf(stderr, "event_recorder: no event type %s\n", t->name);
        abort();
    }
}

static void listen_to(const struct type *t, void *object, unsigned long long comm)
{
    MPI_T_event_registration registration;
    struct listener *l = malloc(sizeof *l);
    l->type = t;
    l->comm = comm;
    if (MPI_T_event_handle_alloc(t->index, object, MPI_INFO_NULL, &registration) != MPI_SUCCESS
        || MPI_T_event_set_dropped_handler(registration, on_dropped) != MPI_SUCCESS
        || MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, l, on_event)
            != MPI_SUCCESS)
        abort();
}

static void listen_on(MPI_Comm comm)
{
    unsigned long long word = 0;
    memcpy(&word, &comm, sizeof comm);
    for (int i = 0; i < TYPES; i++)
        if (types[i].of_comm)
            listen_to(&types[i], &comm, word);
}

/* Kind 0 is a communicator. */
static void on_created(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                       void *data)
{
    unsigned char copy[BYTES];
    unsigned long long word;
    MPI_Comm comm;
    (void) registration;
    (void) safety;
    (void) data;
    MPI_T_event_copy(instance, copy);
    if (number(&created, 0, copy) != 0)
        return;
    word = (unsigned long long) number(&created, 2, copy);
    memcpy(&comm, &word, sizeof comm);
    listen_on(comm);
}

static void begin(void)
{
    MPI_T_event_registration registration;
    char path[4096];
    int provided, rank;
    const char *name = getenv("EVENT_RECORD");
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", name ? name : "events", rank);
    out = fopen(path, "w");
    if (!out)
        abort();
    find(&created);
    for (int i = 0; i < TYPES; i++) {
        find(&types[i]);
        if (!types[i].of_comm)
            listen_to(&types[i], NULL, 0);
    }
    listen_on(MPI_COMM_WORLD);
    if (MPI_T_event_handle_alloc(created.index, NULL, MPI_INFO_NULL, &registration) != MPI_SUCCESS
        || MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, NULL, on_created)
            != MPI_SUCCESS)
        abort();
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

int MPI_Finalize(void)
{
    int code = PMPI_Finalize();
    fprintf(out, "dropped %lld\n", dropped);
    fclose(out);
    return code;
}
