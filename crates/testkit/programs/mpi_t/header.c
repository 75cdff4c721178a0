/* The header alone: it declares every name of the interface once, with its type. Compiled as C and as C++.
 *
 * When run, it reports which functions can be called: all 51 under the layer, on any library. */
#include <mpi.h>
#include <mpiscope/mpi_t.h>
/* Including it twice must be harmless. */
#include <mpiscope/mpi_t.h>
#include <stdio.h>

#ifdef __cplusplus
#define C_LINKAGE extern "C"
#else
#define C_LINKAGE
#endif

C_LINKAGE void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
        void *data);
C_LINKAGE void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data);
C_LINKAGE void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
        void *data);

C_LINKAGE void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
        void *data)
{
    (void) instance;
    (void) registration;
    (void) safety;
    (void) data;
}

C_LINKAGE void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data)
{
    (void) registration;
    (void) safety;
    (void) data;
}

C_LINKAGE void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
        void *data)
{
    (void) count;
    (void) registration;
    (void) source;
    (void) safety;
    (void) data;
}

/* Only compiled, to check the prototypes: nothing calls it with more than 1. */
static int types_fit(int argc)
{
    MPI_T_event_registration registration;
    MPI_T_source_order order;
    MPI_Count ticks, most;
    MPI_Info info;
    MPI_Datatype types[2];
    MPI_Aint places[2];
    MPI_T_enum names;
    int count = 2, bind, index, rc = 0;
    if (argc < 1000)
        return 0;
    rc |= MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, &order, &ticks, &most, &info);
    rc |= MPI_T_event_get_info(0, NULL, NULL, NULL, types, places, &count, &names, &info, NULL, NULL, &bind);
    rc |= MPI_T_event_get_index("none", &index);
    rc |= MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration);
    rc |= MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_event);
    rc |= MPI_T_event_set_dropped_handler(registration, on_dropped);
    rc |= MPI_T_event_handle_free(registration, NULL, on_free);
    return rc;
}

static int constants[] = {
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_T_SOURCE_ORDERED, MPI_T_SOURCE_UNORDERED,
    MPI_T_BIND_NO_OBJECT, MPI_T_BIND_MPI_COMM, MPI_T_BIND_MPI_DATATYPE, MPI_T_BIND_MPI_ERRHANDLER, MPI_T_BIND_MPI_FILE,
    MPI_T_BIND_MPI_GROUP, MPI_T_BIND_MPI_OP, MPI_T_BIND_MPI_REQUEST, MPI_T_BIND_MPI_WIN, MPI_T_BIND_MPI_MESSAGE,
    MPI_T_BIND_MPI_INFO, MPI_T_BIND_MPI_SESSION,
    MPI_T_ERR_CANNOT_INIT, MPI_T_ERR_NOT_ACCESSIBLE, MPI_T_ERR_NOT_INITIALIZED, MPI_T_ERR_NOT_SUPPORTED,
    MPI_T_ERR_MEMORY, MPI_T_ERR_INVALID, MPI_T_ERR_INVALID_INDEX, MPI_T_ERR_INVALID_ITEM, MPI_T_ERR_INVALID_SESSION,
    MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_NAME, MPI_T_ERR_OUT_OF_HANDLES, MPI_T_ERR_OUT_OF_SESSIONS,
    MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_ERR_CVAR_SET_NEVER, MPI_T_ERR_PVAR_NO_WRITE, MPI_T_ERR_PVAR_NO_STARTSTOP,
    MPI_T_ERR_PVAR_NO_ATOMIC,
};

static int missing;

#define ASK(name) \
    do { \
        if (!MPISCOPE_HAS(MPI_T_##name)) { printf("not here: MPI_T_" #name "\n"); missing++; } \
        if (!MPISCOPE_HAS(PMPI_T_##name)) { printf("not here: PMPI_T_" #name "\n"); missing++; } \
    } while (0)

static void ask_variables(void)
{
    ASK(init_thread); ASK(finalize);
    ASK(cvar_get_num); ASK(cvar_get_info); ASK(cvar_get_index); ASK(cvar_handle_alloc); ASK(cvar_handle_free);
    ASK(cvar_read); ASK(cvar_write);
    ASK(pvar_get_num); ASK(pvar_get_info); ASK(pvar_get_index); ASK(pvar_session_create); ASK(pvar_session_free);
    ASK(pvar_handle_alloc); ASK(pvar_handle_free); ASK(pvar_start); ASK(pvar_stop); ASK(pvar_read); ASK(pvar_write);
    ASK(pvar_reset); ASK(pvar_readreset);
    ASK(enum_get_info); ASK(enum_get_item);
    ASK(category_get_num); ASK(category_get_info); ASK(category_get_index); ASK(category_get_cvars);
    ASK(category_get_pvars); ASK(category_get_categories); ASK(category_changed);
}

static void ask_events(void)
{
    ASK(source_get_num); ASK(source_get_info); ASK(source_get_timestamp);
    ASK(event_get_num); ASK(event_get_info); ASK(event_get_index); ASK(event_handle_alloc); ASK(event_handle_set_info);
    ASK(event_handle_get_info); ASK(event_handle_free); ASK(event_register_callback); ASK(event_callback_set_info);
    ASK(event_callback_get_info); ASK(event_set_dropped_handler); ASK(event_read); ASK(event_copy);
    ASK(event_get_timestamp); ASK(event_get_source);
    ASK(category_get_num_events); ASK(category_get_events);
}

int main(int argc, char **argv)
{
    (void) argv;
    ask_variables();
    ask_events();
    printf("%d of 102 functions missing, %d constants\n", missing,
           (int) (sizeof constants / sizeof constants[0]));
    return types_fit(argc) != 0 || missing != 0;
}
