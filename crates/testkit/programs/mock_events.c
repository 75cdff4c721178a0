/* Events of the MPI library itself, as tools see them through the layer. For the mock library, whose MPI_Send raises them;
 * with MOCK_LOSE=3 it loses every third. Prints what it saw, for the test to compare.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

/* The mock's mpi.h does not declare the tool information interface; these are the declarations of the MPICH ABI. */
typedef void *handle;
typedef void event_function(handle instance, handle registration, int safety, void *data);
typedef void dropped_function(long long count, handle registration, int source, int safety, void *data);
int MPI_T_init_thread(int, int *), MPI_T_finalize(void);
int MPI_T_event_get_index(const char *, int *), MPI_T_event_get_num(int *);
int MPI_T_event_get_info(int, char *, int *, int *, MPI_Datatype *, long *, int *, handle *, int *, char *, int *, int *);
int MPI_T_event_handle_alloc(int, void *, int, handle *), MPI_T_event_handle_free(handle, void *, void *);
int MPI_T_event_register_callback(handle, int, int, void *, event_function *);
int MPI_T_event_set_dropped_handler(handle, dropped_function *);
int MPI_T_event_read(handle, int, void *), MPI_T_event_copy(handle, void *);
int MPI_T_event_get_timestamp(handle, long long *), MPI_T_event_get_source(handle, int *);
int MPI_T_source_get_info(int, char *, int *, char *, int *, int *, long long *, long long *, int *);
int MPI_T_source_get_timestamp(int, long long *);

#define INFO_NULL 0x1c000000
#define NONE 0
#define RESTRICTED 1
#define SENDS 9

struct ear {
    const char *name;
    int events, wrong, code, safety, source;
    long long dropped, sum_of_tags, sum_of_bytes, last;
};

static void heard(handle instance, handle registration, int safety, void *data)
{
    struct ear *e = data;
    struct { int tag; long long bytes; } copy;
    int tag = -1;
    long long bytes = -1, at = -1;
    (void) registration;
    e->events++;
    e->safety = safety;
    e->code = MPI_T_event_read(instance, 0, &tag);
    MPI_T_event_read(instance, 1, &bytes);
    MPI_T_event_get_timestamp(instance, &at);
    MPI_T_event_get_source(instance, &e->source);
    e->wrong += at <= e->last;
    e->last = at;
    if (e->code != MPI_SUCCESS)
        return;
    MPI_T_event_copy(instance, &copy);
    e->wrong += copy.tag != tag || copy.bytes != bytes;
    e->sum_of_tags += tag;
    e->sum_of_bytes += bytes;
}

static struct ear *dropping;

static void dropped(long long count, handle registration, int source, int safety, void *data)
{
    (void) registration;
    (void) source;
    (void) safety;
    (void) data;
    dropping->dropped += count;
}

static handle listen_to(struct ear *e, int level)
{
    handle registration = NULL;
    int index = -1, elements = 8, places_ok = 1, length = 0;
    MPI_Datatype types[8];
    long places[8];
    if (MPI_T_event_get_index(e->name, &index)
        || MPI_T_event_get_info(index, NULL, NULL, NULL, types, places, &elements, NULL, NULL, NULL, &length, NULL)
        || MPI_T_event_handle_alloc(index, NULL, INFO_NULL, &registration)
        || MPI_T_event_set_dropped_handler(registration, dropped)
        || MPI_T_event_register_callback(registration, level, INFO_NULL, e, heard))
        printf("%s cannot be listened to\n", e->name);
    if (elements == 2)
        places_ok = places[0] == 0 && places[1] == 8 && types[0] == MPI_INT;
    printf("%s: %d elements, %s\n", e->name, elements, places_ok ? "in place" : "out of place");
    dropping = e;
    return registration;
}

static void send_some(int n)
{
    char in[64], out[64] = "";
    for (int i = 1; i <= n; i++) {
        MPI_Send(out, i, MPI_CHAR, 0, 100 + i, MPI_COMM_WORLD);
        MPI_Recv(in, i, MPI_CHAR, 0, 100 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    struct ear sent = { .name = "mock_sent" }, low = { .name = "mock_sent" }, broken = { .name = "unexp_message_dequeued" };
    char name[64] = "";
    int provided, length = sizeof name, order = -1;
    long long ticks = 0, most = 0, now = -1;
    handle registration;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    registration = listen_to(&sent, RESTRICTED);
    send_some(SENDS);
    printf("%d delivered, %lld dropped, %d wrong, tags %lld, bytes %lld, level %d\n", sent.events, sent.dropped,
           sent.wrong, sent.sum_of_tags, sent.sum_of_bytes, sent.safety);
    MPI_T_source_get_info(sent.source, name, &length, NULL, NULL, &order, &ticks, &most, NULL);
    MPI_T_source_get_timestamp(sent.source, &now);
    printf("source %s, order %d, %lld ticks, %lld at most, %s\n", name, order, ticks, most,
           now >= sent.last ? "its clock goes on" : "its clock stands");
    MPI_T_event_handle_free(registration, NULL, NULL);
    send_some(1);
    printf("%d after it was freed\n", sent.events);
    registration = listen_to(&low, NONE);
    send_some(3);
    MPI_T_event_register_callback(registration, RESTRICTED, INFO_NULL, &low, heard);
    send_some(1);
    printf("%d delivered and %lld dropped for a callback of too low a level\n", low.events, low.dropped);
    MPI_T_event_handle_free(registration, NULL, NULL);
    registration = listen_to(&broken, RESTRICTED);
    send_some(1);
    printf("%d delivered that cannot be read, %s\n", broken.events, broken.code ? "refused" : "read");
    MPI_T_event_handle_free(registration, NULL, NULL);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
