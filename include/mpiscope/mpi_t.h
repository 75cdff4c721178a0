/* The parts of the MPI tool information interface that older MPI headers lack (chapter "Tool Support" of MPI 5.0).
 *
 * libmpiscope.so exports all 51 MPI_T_* functions and their PMPI_T_* twins on every library. Headers older than
 * MPI 4.0 do not declare the 20 of them that are about events, nor their types and constants; some of MPI 4.x lack a
 * constant or two. Include this file after, or instead of, mpi.h; it adds only what is missing:
 *
 *     #include <mpi.h>
 *     #include <mpiscope/mpi_t.h>
 *
 * Additions by header:
 *
 *     header                          functions   types   constants
 *     standard ABI (MPI_ABI_VERSION)  -           -       -
 *     MPICH and its family, >= 4.0    -           -       MPI_T_BIND_MPI_SESSION, MPI_T_ERR_NOT_ACCESSIBLE as needed
 *     MPICH and its family, 3.x       20          7       the above, cb_safety, source_order, MPI_T_ERR_NOT_SUPPORTED
 *     Open MPI >= 6                   -           -       -
 *     Open MPI 3.1 to 5               20          7       the same
 *
 * The values are those of later versions of the same library, so an object file that was compiled against an old
 * header also fits a newer library.
 *
 * The functions declared here are weak, because an older library does not have them. So a tool links without
 * libmpiscope.so, and can check whether they exist: MPISCOPE_HAS(MPI_T_event_get_num) is true if the function is
 * declared by mpi.h or was found when the program was loaded. Calling a function that was not found crashes.
 *
 * Callbacks: MPI_T_event_cb_function and the two similar types are function types, as in the standard. Open MPI 6
 * declares pointer types under these names. A tool that declares each callback with its full prototype, and passes the
 * bare name, compiles with both.
 */
#ifndef MPISCOPE_MPI_T_H
#define MPISCOPE_MPI_T_H

#include <mpi.h>

/* The family whose values are used. MPI_ABI_VERSION takes precedence: the same installation may offer both. */
#if defined(MPI_ABI_VERSION)
#define MPISCOPE_T_ABI 1
#elif defined(OPEN_MPI)
#define MPISCOPE_T_OPEN_MPI 1
#elif defined(MPICH_VERSION) || defined(MPICH_NUMVERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION) \
    || defined(MVAPICH_VERSION) || defined(CRAY_MPICH_VERSION)
#define MPISCOPE_T_MPICH 1
#else
#error "mpiscope/mpi_t.h knows mpi.h of the MPICH family, of Open MPI, and of the MPI ABI; this is another one"
#endif

/* 1 if events must be declared here. Open MPI 4 and 5 report MPI 3.1. */
#if defined(MPISCOPE_T_OPEN_MPI) && OMPI_MAJOR_VERSION < 6
#define MPISCOPE_T_DECLARES_EVENTS 1
#elif defined(MPISCOPE_T_MPICH) && MPI_VERSION < 4
#define MPISCOPE_T_DECLARES_EVENTS 1
#else
#define MPISCOPE_T_DECLARES_EVENTS 0
#endif

/* 1 if the get_index functions of MPI 3.1 must be declared here. */
#if MPI_VERSION == 3 && MPI_SUBVERSION == 0
#define MPISCOPE_T_DECLARES_INDEX 1
#else
#define MPISCOPE_T_DECLARES_INDEX 0
#endif

/* A header that reports MPI 4.0 may be that of an older MPICH, which lacks these. If mpi.h has an enumerator with the
 * name, the macro hides it and has the same value. */
#if defined(MPISCOPE_T_MPICH) && MPI_VERSION < 5
#ifndef MPI_T_BIND_MPI_SESSION
#define MPI_T_BIND_MPI_SESSION 9711
#endif
#ifndef MPI_T_ERR_INVALID_NAME
#define MPI_T_ERR_INVALID_NAME 73
#endif
#ifndef MPI_T_ERR_INVALID
#define MPI_T_ERR_INVALID 74
#endif
#ifndef MPI_T_ERR_NOT_SUPPORTED
#define MPI_T_ERR_NOT_SUPPORTED 78
#endif
#ifndef MPI_T_ERR_NOT_ACCESSIBLE
#define MPI_T_ERR_NOT_ACCESSIBLE 79
#endif
#endif

#if defined(MPISCOPE_T_OPEN_MPI) && OMPI_MAJOR_VERSION < 6
#ifndef MPI_T_BIND_MPI_SESSION
#define MPI_T_BIND_MPI_SESSION 11
#endif
#ifndef MPI_T_ERR_INVALID
#define MPI_T_ERR_INVALID 72
#endif
#ifndef MPI_T_ERR_INVALID_NAME
#define MPI_T_ERR_INVALID_NAME 73
#endif
#ifndef MPI_T_ERR_NOT_ACCESSIBLE
#define MPI_T_ERR_NOT_ACCESSIBLE 81
#endif
#ifndef MPI_T_ERR_NOT_SUPPORTED
#define MPI_T_ERR_NOT_SUPPORTED 82
#endif
#endif

#if defined(__GNUC__) || defined(__clang__)
#define MPISCOPE_T_WEAK __attribute__((weak))
/* Whether a function of this interface can be called. The comparison is hidden from the compiler, which assumes that a
 * function declared by mpi.h has an address. */
#define MPISCOPE_HAS(function) (mpiscope_t_address((void (*)(void)) (function)) != 0)
static inline void (*mpiscope_t_address(void (*function)(void)))(void)
{
    return function;
}
#else
#define MPISCOPE_T_WEAK
#define MPISCOPE_HAS(function) 1
#endif

#if defined(__cplusplus)
extern "C" {
#endif

#if MPISCOPE_T_DECLARES_EVENTS

/* Opaque handles: one word each, like the handles in mpi.h. */
typedef struct mpiscope_t_event_registration *MPI_T_event_registration;
typedef struct mpiscope_t_event_instance *MPI_T_event_instance;

/* Table 21: restrictions of a callback. Compare by rank, not by value: other ABIs have other values. */
typedef enum MPI_T_cb_safety {
    MPI_T_CB_REQUIRE_NONE = 0,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED = 1,
    MPI_T_CB_REQUIRE_THREAD_SAFE = 2,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE = 3
} MPI_T_cb_safety;

typedef enum MPI_T_source_order {
    MPI_T_SOURCE_ORDERED = 0,
    MPI_T_SOURCE_UNORDERED = 1
} MPI_T_source_order;

typedef void (MPI_T_event_cb_function)(MPI_T_event_instance event_instance,
        MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, void *user_data);
typedef void (MPI_T_event_free_cb_function)(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
        void *user_data);
typedef void (MPI_T_event_dropped_cb_function)(MPI_Count count, MPI_T_event_registration event_registration,
        int source_index, MPI_T_cb_safety cb_safety, void *user_data);

/* Sources */
int MPI_T_source_get_num(int *num_sources) MPISCOPE_T_WEAK;
int MPI_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
        MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks, MPI_Info *info) MPISCOPE_T_WEAK;
int MPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp) MPISCOPE_T_WEAK;
int PMPI_T_source_get_num(int *num_sources) MPISCOPE_T_WEAK;
int PMPI_T_source_get_info(int source_index, char *name, int *name_len, char *desc, int *desc_len,
        MPI_T_source_order *ordering, MPI_Count *ticks_per_second, MPI_Count *max_ticks, MPI_Info *info) MPISCOPE_T_WEAK;
int PMPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp) MPISCOPE_T_WEAK;

/* Event types */
int MPI_T_event_get_num(int *num_events) MPISCOPE_T_WEAK;
int MPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
        MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[], int *num_elements,
        MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len, int *bind) MPISCOPE_T_WEAK;
int MPI_T_event_get_index(const char *name, int *event_index) MPISCOPE_T_WEAK;
int PMPI_T_event_get_num(int *num_events) MPISCOPE_T_WEAK;
int PMPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity,
        MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[], int *num_elements,
        MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len, int *bind) MPISCOPE_T_WEAK;
int PMPI_T_event_get_index(const char *name, int *event_index) MPISCOPE_T_WEAK;

/* Registrations */
int MPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
        MPI_T_event_registration *event_registration) MPISCOPE_T_WEAK;
int MPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info) MPISCOPE_T_WEAK;
int MPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used) MPISCOPE_T_WEAK;
int MPI_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
        MPI_T_event_free_cb_function free_cb_function) MPISCOPE_T_WEAK;
int MPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
        MPI_Info info, void *user_data, MPI_T_event_cb_function event_cb_function) MPISCOPE_T_WEAK;
int MPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
        MPI_Info info) MPISCOPE_T_WEAK;
int MPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
        MPI_Info *info_used) MPISCOPE_T_WEAK;
int MPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
        MPI_T_event_dropped_cb_function dropped_cb_function) MPISCOPE_T_WEAK;
int PMPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
        MPI_T_event_registration *event_registration) MPISCOPE_T_WEAK;
int PMPI_T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info) MPISCOPE_T_WEAK;
int PMPI_T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info *info_used) MPISCOPE_T_WEAK;
int PMPI_T_event_handle_free(MPI_T_event_registration event_registration, void *user_data,
        MPI_T_event_free_cb_function free_cb_function) MPISCOPE_T_WEAK;
int PMPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
        MPI_Info info, void *user_data, MPI_T_event_cb_function event_cb_function) MPISCOPE_T_WEAK;
int PMPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
        MPI_Info info) MPISCOPE_T_WEAK;
int PMPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
        MPI_Info *info_used) MPISCOPE_T_WEAK;
int PMPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
        MPI_T_event_dropped_cb_function dropped_cb_function) MPISCOPE_T_WEAK;

/* Instances */
int MPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer) MPISCOPE_T_WEAK;
int MPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer) MPISCOPE_T_WEAK;
int MPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp) MPISCOPE_T_WEAK;
int MPI_T_event_get_source(MPI_T_event_instance event_instance, int *source_index) MPISCOPE_T_WEAK;
int PMPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer) MPISCOPE_T_WEAK;
int PMPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer) MPISCOPE_T_WEAK;
int PMPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp) MPISCOPE_T_WEAK;
int PMPI_T_event_get_source(MPI_T_event_instance event_instance, int *source_index) MPISCOPE_T_WEAK;

/* Events in categories */
int MPI_T_category_get_num_events(int cat_index, int *num_events) MPISCOPE_T_WEAK;
int MPI_T_category_get_events(int cat_index, int len, int indices[]) MPISCOPE_T_WEAK;
int PMPI_T_category_get_num_events(int cat_index, int *num_events) MPISCOPE_T_WEAK;
int PMPI_T_category_get_events(int cat_index, int len, int indices[]) MPISCOPE_T_WEAK;

#endif /* MPISCOPE_T_DECLARES_EVENTS */

#if MPISCOPE_T_DECLARES_INDEX

int MPI_T_cvar_get_index(const char *name, int *cvar_index) MPISCOPE_T_WEAK;
int MPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index) MPISCOPE_T_WEAK;
int MPI_T_category_get_index(const char *name, int *cat_index) MPISCOPE_T_WEAK;
int PMPI_T_cvar_get_index(const char *name, int *cvar_index) MPISCOPE_T_WEAK;
int PMPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index) MPISCOPE_T_WEAK;
int PMPI_T_category_get_index(const char *name, int *cat_index) MPISCOPE_T_WEAK;

#endif /* MPISCOPE_T_DECLARES_INDEX */

#if defined(__cplusplus)
}
#endif

#endif /* MPISCOPE_MPI_T_H */
