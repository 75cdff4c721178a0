/* Four threads raise events at full speed while registrations are created and freed: nothing is called after its
 * free-callback, which is called once; and each thread receives exactly the events of its own communicator.
 */
#include "einfo.h"

#define RAISERS 4
#define EACH 20000
#define ROUNDS 300

struct listener {
    atomic_int calls, frees, after_free;
};

static atomic_int running, coming;
static struct listener *listeners;
static struct event_type type;

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    struct listener *l = data;
    unsigned char buffer[1024];
    (void) registration;
    (void) safety;
    if (atomic_load(&l->frees))
        atomic_fetch_add(&l->after_free, 1);
    MPI_T_event_copy(instance, buffer);
    atomic_fetch_add(&l->calls, 1);
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    struct listener *l = data;
    (void) registration;
    (void) safety;
    atomic_fetch_add(&l->frees, 1);
}

struct exact {
    atomic_int calls;
};

static void on_exact(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    struct exact *x = data;
    (void) instance;
    (void) registration;
    (void) safety;
    atomic_fetch_add(&x->calls, 1);
}

static void *raise_body(void *argument)
{
    struct exact x;
    MPI_T_event_registration registration;
    conform_thread = (int) (long) argument;
    atomic_init(&x.calls, 0);
    if (MPI_T_event_handle_alloc(type.index, &own_comm[conform_thread], MPI_INFO_NULL, &registration) != MPI_SUCCESS)
        return NULL;
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &x, on_exact);
    for (int i = 0; i < EACH && atomic_load(&running); i++)
        raise_events(1);
    if (atomic_load(&running))
        CHECKF("EM-1", atomic_load(&x.calls) == EACH, "each thread's registration receives exactly the events of its communicator",
               "%d of %d", atomic_load(&x.calls), EACH);
    /* On a loaded machine all of these may be over before the first registration of the other thread. */
    while (atomic_load(&coming))
        raise_events(1);
    MPI_T_event_handle_free(registration, NULL, NULL);
    return NULL;
}

/* Registers on each thread's communicator in turn, replaces the callback, frees. */
static void come_and_go(void)
{
    MPI_Count stamp;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_T_event_registration registration;
        struct listener *l = &listeners[i];
        if (MPI_T_event_handle_alloc(type.index, &own_comm[i % RAISERS], MPI_INFO_NULL, &registration) != MPI_SUCCESS)
            break;
        MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, l, on_event);
        usleep(200);
        MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, NULL);
        MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, l, on_event);
        MPI_T_source_get_timestamp(0, &stamp);
        usleep(200);
        MPI_T_event_handle_free(registration, l, on_free);
    }
}

static void check_listeners(void)
{
    int heard = 0, freed_once = 1, after = 0;
    for (int i = 0; i < ROUNDS; i++) {
        heard += atomic_load(&listeners[i].calls);
        freed_once &= atomic_load(&listeners[i].frees) == 1;
        after += atomic_load(&listeners[i].after_free);
    }
    CHECKF("EM-2", heard > 0, "registrations receive events of other threads", "%d", heard);
    CHECK("EM-3", freed_once, "each free-callback is called once");
    CHECKF("EM-4", after == 0, "no callback is called after the free-callback", "%d times", after);
}

static void alone(void)
{
    pthread_t threads[RAISERS];
    if (!events_here("EM-5") || conform_phase != BETWEEN)
        return;
    if (!CHECK("EM-6", event_find(EVENT_SEND, &type) && type.bind == MPI_T_BIND_MPI_COMM,
               "sends are events, bound to a communicator"))
        return;
    for (int i = 0; i < RAISERS; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &own_comm[i]);
    listeners = calloc(ROUNDS, sizeof *listeners);
    atomic_store(&running, 1);
    atomic_store(&coming, 1);
    for (long i = 0; i < RAISERS; i++)
        pthread_create(&threads[i], NULL, raise_body, (void *) i);
    come_and_go();
    atomic_store(&coming, 0);
    for (int i = 0; i < RAISERS; i++)
        pthread_join(threads[i], NULL);
    check_listeners();
    for (int i = 0; i < RAISERS; i++)
        MPI_Comm_free(&own_comm[i]);
    free(listeners);
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_hammer", each, alone, NULL };
    conform_multiple = 1;
    return conform_main(argc, argv, &group);
}
