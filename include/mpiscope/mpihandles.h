/*
 * What is behind an MPI handle: the interface between a debugger and libmpiscope_handles.so.
 *
 * The first part is the published interface (version 1, 2008), binary compatible with the header of Open MPI. The second
 * part adds, in the same style, what that header omits: datatypes, files, groups, infos, operations, windows,
 * messages, sessions, keys, and the full content of communicators, error handlers, requests and statuses.
 *
 * Order of calls: mpidbg_init_once; mpidbg_init_per_image for each executable; mpidbg_init_per_process for each process;
 * queries; mpidbg_finalize_per_process; mpidbg_finalize_per_image. After an init that did not return MPIDBG_SUCCESS, no
 * further function may be called for that image or process. A queried process must have called MPI_Init under the layer;
 * results show what the layer has seen up to that moment. A result does not change when the process continues.
 *
 * Ownership. Callback tables belong to the debugger and must live until the last finalize. Every structure that a query
 * returns, and every array in it that is not null, is one block from mqs_malloc_fp and belongs to the debugger, which frees
 * each with its own free. Texts that an array points to (keys and values of infos, names and values of attributes) are in
 * the block of that array and are freed with it. A query that does not return MPIDBG_SUCCESS returns a null pointer and
 * leaves no block allocated. Strings, name maps and the variables below belong to the plug-in; a name map lives until
 * mpidbg_finalize_per_process of its process.
 *
 * Codes of queries: MPIDBG_ERR_NOT_FOUND: no object has this handle and none of the remembered ones had it.
 * MPIDBG_ERR_OUT_OF_RANGE: the handle belongs to an object of another kind, or an argument is null. MPIDBG_ERR_UNAVAILABLE:
 * the process has not completed MPI_Init, or its image cannot be read (other byte order, other version, damaged, or
 * the debugger did not supply a part of it).
 * MPIDBG_ERR_NOT_SUPPORTED: the layer is not in the process, or the function is not available. MPIDBG_ERR_NO_MEM.
 * A freed object that is remembered is a success, with the bits FREED_HANDLE and FREED_OBJECT. An object that the program
 * had not freed when it left MPI has only FREED_OBJECT.
 *
 * The record of a freed object is reused after some time. To keep it, a debugger writes two bytes into the stopped
 * process: see mpidbg_pin_address. For tools inside the process libmpiscope.so also exports two functions:
 *     int mpiscope_pin(int kind, uint64_t handle);      keeps the record of the object when the object is freed
 *     int mpiscope_release(int kind, uint64_t handle);  allows its reuse again
 * kind: 16 communicator, 17 group, 18 datatype, 21 operation, 22 error handler, 23 info, 24 file, 25 window, 26 session,
 * 27 key; handle: as in C, zero-extended. 0: done; 1: no such object; 2: no such kind, or MPI has not been called yet;
 * 3: a stopped thread is changing the table, try again later.
 */
#ifndef MPISCOPE_MPIHANDLES_H
#define MPISCOPE_MPIHANDLES_H

#include <stdint.h>

#include "mqs.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Length of comm_name and eh_name: MPI_MAX_OBJECT_NAME of the library in the *target*, 64 for Open MPI and 128 for MPICH,
 * its family and the standard ABI. The plug-in determines it from the target: mpidbg_process_object_name_length. Code
 * that serves both uses the structures with a length in their name.
 */
#ifndef MPIDBG_MAX_OBJECT_NAME
#define MPIDBG_MAX_OBJECT_NAME 128
#endif

enum { MPIDBG_MAX_FILENAME = 1024 };
enum { MPIDBG_INTERFACE_VERSION = 1 };

/* ------------------------------------------------------------------------------------------------------------------------
 * The published interface
 * --------------------------------------------------------------------------------------------------------------------- */

/* Types of handles, as returned by the debugger's find_type; the debugger owns the structure. */
struct mpidbg_handle_info_t {
    mqs_type *hi_c_aint;
    mqs_type *hi_c_comm;
    mqs_type *hi_c_datatype;
    mqs_type *hi_c_errhandler;
    mqs_type *hi_c_file;
    mqs_type *hi_c_group;
    mqs_type *hi_c_info;
    mqs_type *hi_c_offset;
    mqs_type *hi_c_op;
    mqs_type *hi_c_request;
    mqs_type *hi_c_status;
    mqs_type *hi_c_win;
    mqs_type *hi_cxx_aint;
    mqs_type *hi_cxx_comm;
    mqs_type *hi_cxx_intracomm;
    mqs_type *hi_cxx_intercomm;
    mqs_type *hi_cxx_graphcomm;
    mqs_type *hi_cxx_cartcomm;
    mqs_type *hi_cxx_datatype;
    mqs_type *hi_cxx_errhandler;
    mqs_type *hi_cxx_file;
    mqs_type *hi_cxx_group;
    mqs_type *hi_cxx_info;
    mqs_type *hi_cxx_offset;
    mqs_type *hi_cxx_op;
    mqs_type *hi_cxx_request;
    mqs_type *hi_cxx_prequest;
    mqs_type *hi_cxx_grequest;
    mqs_type *hi_cxx_status;
    mqs_type *hi_cxx_win;
};

enum mpidbg_return_codes_t {
    MPIDBG_SUCCESS,
    MPIDBG_ERR_NOT_FOUND,
    MPIDBG_ERR_NOT_SUPPORTED,
    MPIDBG_ERR_OUT_OF_RANGE,
    MPIDBG_ERR_UNAVAILABLE,
    MPIDBG_ERR_NO_MEM,
    MPIDBG_MAX_RETURN_CODE
};

struct mpidbg_process_t {
    int mpi_comm_world_rank; /* -1: a process outside MPI_COMM_WORLD */
};

struct mpidbg_name_map_t {
    char *map_name; /* null ends the map */
    mqs_taddr_t map_handle;
};

struct mpidbg_attribute_pair_t {
    int keyval;
    char *keyval_name;
    char *value;
};

enum mpidbg_comm_capabilities_t {
    MPIDBG_COMM_CAP_BASIC = 0x01,
    MPIDBG_COMM_CAP_STRING_NAMES = 0x02,
    MPIDBG_COMM_CAP_FREED_HANDLE = 0x04,
    MPIDBG_COMM_CAP_FREED_OBJECT = 0x08,
    MPIDBG_COMM_CAP_REQUEST_LIST = 0x10,
    MPIDBG_COMM_CAP_WINDOW_LIST = 0x20,
    MPIDBG_COMM_CAP_FILE_LIST = 0x40,
    MPIDBG_COMM_CAP_MAX
};

enum mpidbg_comm_info_bitmap_t {
    MPIDBG_COMM_INFO_PREDEFINED = 0x01,
    MPIDBG_COMM_INFO_CARTESIAN = 0x02,
    MPIDBG_COMM_INFO_GRAPH = 0x04,
    MPIDBG_COMM_INFO_TOPO_REORDERED = 0x08,
    MPIDBG_COMM_INFO_INTERCOMM = 0x10,
    MPIDBG_COMM_INFO_FREED_HANDLE = 0x20,
    MPIDBG_COMM_INFO_FREED_OBJECT = 0x40,
    MPIDBG_COMM_INFO_COMM_NULL = 0x80,
    MPIDBG_COMM_INFO_DIST_GRAPH = 0x400,
    MPIDBG_COMM_INFO_MAX
};

/* comm_graph_edges has comm_graph_index[comm_graph_num_nodes - 1] entries. A handle that Fortran does not know is -1. */
#define MPISCOPE_COMM_INFO(tag, length)                                                                                \
    struct tag {                                                                                                       \
        char comm_name[length];                                                                                        \
        enum mpidbg_comm_info_bitmap_t comm_bitflags;                                                                  \
        int comm_rank;                                                                                                 \
        int comm_size;                                                                                                 \
        int comm_num_local_procs;                                                                                      \
        struct mpidbg_process_t *comm_local_procs;                                                                     \
        int comm_num_remote_procs;                                                                                     \
        struct mpidbg_process_t *comm_remote_procs;                                                                    \
        int comm_cart_num_dims;                                                                                        \
        int *comm_cart_dims;                                                                                           \
        int8_t *comm_cart_periods;                                                                                     \
        int comm_graph_num_nodes;                                                                                      \
        int *comm_graph_index;                                                                                         \
        int *comm_graph_edges;                                                                                         \
        mqs_taddr_t comm_c_handle;                                                                                     \
        int comm_fortran_handle;                                                                                       \
        int comm_num_attrs;                                                                                            \
        struct mpidbg_attribute_pair_t *comm_attrs;                                                                    \
        int comm_num_pending_requests;                                                                                 \
        mqs_taddr_t *comm_pending_requests;                                                                            \
        int comm_num_derived_windows;                                                                                  \
        mqs_taddr_t *comm_derived_windows;                                                                             \
        int comm_num_derived_files;                                                                                    \
        mqs_taddr_t *comm_derived_files;                                                                               \
    }
MPISCOPE_COMM_INFO(mpidbg_comm_info_t, MPIDBG_MAX_OBJECT_NAME);
MPISCOPE_COMM_INFO(mpidbg_comm_info_64_t, 64);
MPISCOPE_COMM_INFO(mpidbg_comm_info_128_t, 128);

enum mpidbg_request_capabilities_t { MPIDBG_REQUEST_CAP_BASIC = 0x01, MPIDBG_REQUEST_CAP_MAX };
enum mpidbg_request_info_bitmap_t { MPIDBG_REQUEST_INFO_PREDEFINED = 0x01, MPIDBG_REQUEST_INFO_MAX };
struct mpidbg_request_info_t {
    enum mpidbg_request_info_bitmap_t req_bitflags;
    mqs_taddr_t req_c_handle;
    int req_fortran_handle;
};

enum mpidbg_status_capabilities_t { MPIDBG_STATUS_CAP_BASIC = 0x01, MPIDBG_STATUS_CAP_MAX };
enum mpidbg_status_info_bitmap_t { MPIDBG_STATUS_INFO_PREDEFINED = 0x01, MPIDBG_STATUS_INFO_MAX };
struct mpidbg_status_info_t {
    enum mpidbg_status_info_bitmap_t status_bitflags;
};

enum mpidbg_errhandler_capabilities_t {
    MPIDBG_ERRH_CAP_BASIC = 0x01,
    MPIDBG_ERRH_CAP_STRING_NAMES = 0x02,
    MPIDBG_ERRH_CAP_FREED_HANDLE = 0x04,
    MPIDBG_ERRH_CAP_FREED_OBJECT = 0x08,
    MPIDBG_ERRH_CAP_HANDLE_LIST = 0x10,
    MPIDBG_ERRH_CAP_MAX
};

enum mpidbg_errhandler_info_bitmap_t {
    MPIDBG_ERRH_INFO_PREDEFINED = 0x01,
    MPIDBG_ERRH_INFO_COMMUNICATOR = 0x02,
    MPIDBG_ERRH_INFO_FILE = 0x04,
    MPIDBG_ERRH_INFO_WINDOW = 0x08,
    MPIDBG_ERRH_INFO_C_CALLBACK = 0x10,
    MPIDBG_ERRH_INFO_FREED_HANDLE = 0x20,
    MPIDBG_ERRH_INFO_FREED_OBJECT = 0x40,
    MPIDBG_ERRH_INFO_MAX
};

/* eh_handles has eh_refcount entries. */
#define MPISCOPE_ERRHANDLER_INFO(tag, length)                                                                          \
    struct tag {                                                                                                       \
        char eh_name[length];                                                                                          \
        enum mpidbg_errhandler_info_bitmap_t eh_bitflags;                                                              \
        mqs_taddr_t eh_c_handle;                                                                                       \
        int eh_fortran_handle;                                                                                         \
        int16_t eh_refcount;                                                                                           \
        mqs_taddr_t *eh_handles;                                                                                       \
        mqs_taddr_t eh_callback_func;                                                                                  \
    }
MPISCOPE_ERRHANDLER_INFO(mpidbg_errhandler_info_t, MPIDBG_MAX_OBJECT_NAME);
MPISCOPE_ERRHANDLER_INFO(mpidbg_errhandler_info_64_t, 64);
MPISCOPE_ERRHANDLER_INFO(mpidbg_errhandler_info_128_t, 128);

/* In the MPI process, valid from MPI_Init on: file names of plug-ins to try, ended by null. */
extern char **mpidbg_dll_locations;

/* Valid once the plug-in is loaded. */
extern char mpidbg_dll_is_big_endian;
extern char mpidbg_dll_bitness;

/* Valid after mpidbg_init_per_process, for that process; overwritten by the next. See mpidbg_process_name_map. */
extern enum mpidbg_comm_capabilities_t mpidbg_comm_capabilities;
extern enum mpidbg_errhandler_capabilities_t mpidbg_errhandler_capabilities;
extern enum mpidbg_request_capabilities_t mpidbg_request_capabilities;
extern enum mpidbg_status_capabilities_t mpidbg_status_capabilities;
extern struct mpidbg_name_map_t *mpidbg_comm_name_map;
extern struct mpidbg_name_map_t *mpidbg_errhandler_name_map;
extern struct mpidbg_name_map_t *mpidbg_request_name_map;
extern struct mpidbg_name_map_t *mpidbg_status_name_map;

int mpidbg_init_once(const mqs_basic_callbacks *callbacks);
int mpidbg_interface_version_compatibility(void);
char *mpidbg_version_string(void);
int mpidbg_dll_taddr_width(void);
int mpidbg_init_per_image(mqs_image *image, const mqs_image_callbacks *callbacks,
                          struct mpidbg_handle_info_t *handle_types);
void mpidbg_finalize_per_image(mqs_image *image, mqs_image_info *image_info);
int mpidbg_init_per_process(mqs_process *process, const mqs_process_callbacks *callbacks,
                            struct mpidbg_handle_info_t *handle_types);
void mpidbg_finalize_per_process(mqs_process *process, mqs_process_info *process_info);

/* The first parameters of every function about an object. */
#define MPISCOPE_CONTEXT                                                                                               \
    mqs_image *image, mqs_image_info *image_info, mqs_process *process, mqs_process_info *process_info

int mpidbg_comm_query(MPISCOPE_CONTEXT, mqs_taddr_t c_comm, struct mpidbg_comm_info_t **info);
int mpidbg_comm_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_comm, mqs_taddr_t *c_comm);
int mpidbg_comm_cxx2c(MPISCOPE_CONTEXT, mqs_taddr_t cxx_comm, enum mpidbg_comm_info_bitmap_t comm_type,
                      mqs_taddr_t *c_comm);
int mpidbg_errhandler_query(MPISCOPE_CONTEXT, mqs_taddr_t c_errhandler, struct mpidbg_errhandler_info_t **info);
int mpidbg_errhandler_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_errhandler, mqs_taddr_t *c_errhandler);
int mpidbg_errhandler_cxx2c(MPISCOPE_CONTEXT, mqs_taddr_t cxx_errhandler, mqs_taddr_t *c_errhandler);
int mpidbg_request_query(MPISCOPE_CONTEXT, mqs_taddr_t c_request, struct mpidbg_request_info_t **info);
int mpidbg_request_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_request, mqs_taddr_t *c_request);
int mpidbg_request_cxx2c(MPISCOPE_CONTEXT, mqs_taddr_t cxx_request, enum mpidbg_request_info_bitmap_t request_type,
                         mqs_taddr_t *c_request);
int mpidbg_status_query(MPISCOPE_CONTEXT, mqs_taddr_t c_status, struct mpidbg_status_info_t **info);
int mpidbg_status_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_status, mqs_taddr_t *c_status);
int mpidbg_status_cxx2c(MPISCOPE_CONTEXT, mqs_taddr_t cxx_status, mqs_taddr_t *c_status);

/* ------------------------------------------------------------------------------------------------------------------------
 * The extension
 *
 * Every structure begins with mpidbg_object_t, whose first field is the size of the whole structure in the plug-in.
 * Fields are only added at the end; a debugger must not read beyond that size. Counts are counts, never codes.
 * --------------------------------------------------------------------------------------------------------------------- */

enum { MPIDBG_NAME = 128, MPIDBG_WORD = 48 };

enum mpidbg_kind_t {
    MPIDBG_KIND_NONE,
    MPIDBG_KIND_COMM,
    MPIDBG_KIND_GROUP,
    MPIDBG_KIND_DATATYPE,
    MPIDBG_KIND_REQUEST,
    MPIDBG_KIND_MESSAGE,
    MPIDBG_KIND_OP,
    MPIDBG_KIND_ERRHANDLER,
    MPIDBG_KIND_INFO,
    MPIDBG_KIND_FILE,
    MPIDBG_KIND_WINDOW,
    MPIDBG_KIND_SESSION,
    MPIDBG_KIND_KEYVAL,
    MPIDBG_KIND_STATUS
};

enum mpidbg_object_bitmap_t {
    MPIDBG_OBJECT_PREDEFINED = 1 << 0,
    MPIDBG_OBJECT_NULL = 1 << 1,            /* the null handle of its kind */
    MPIDBG_OBJECT_FREED_HANDLE = 1 << 2,    /* the program has freed the handle */
    MPIDBG_OBJECT_FREED_OBJECT = 1 << 3,    /* and the object has been freed */
    MPIDBG_OBJECT_FORTRAN_HANDLE = 1 << 4,  /* obj_fortran_handle is valid */
    MPIDBG_OBJECT_CUT = 1 << 5,             /* a list was truncated */
    MPIDBG_OBJECT_INCOMPLETE = 1 << 6,      /* parts are unknown */
    MPIDBG_OBJECT_TORN = 1 << 7,            /* it kept changing while it was read */
    MPIDBG_OBJECT_FORTRAN_CALLBACK = 1 << 8,
    MPIDBG_OBJECT_COMMITTED = 1 << 9,
    MPIDBG_OBJECT_COMMUTATIVE = 1 << 10,
    MPIDBG_OBJECT_PERSISTENT = 1 << 11,
    MPIDBG_OBJECT_STARTED = 1 << 12,
    MPIDBG_OBJECT_ACTIVE = 1 << 13,         /* started, completion not seen by the program */
    MPIDBG_OBJECT_COMPLETE = 1 << 14,
    MPIDBG_OBJECT_CANCELLED = 1 << 15,
    MPIDBG_OBJECT_SHARED_HANDLE = 1 << 16,  /* the library uses this handle for several objects */
    MPIDBG_OBJECT_BOUNDS_STATED = 1 << 17,  /* bounds are the library's, otherwise computed */
    MPIDBG_OBJECT_ATOMIC = 1 << 18,
    MPIDBG_OBJECT_INTER = 1 << 19,
    MPIDBG_OBJECT_ANY_TAG = 1 << 20,
    MPIDBG_OBJECT_ANY_SOURCE = 1 << 21,
    MPIDBG_OBJECT_NOT_MEMBER = 1 << 22,
    MPIDBG_OBJECT_BYTES_KNOWN = 1 << 23     /* sx_bytes is valid */
};

struct mpidbg_reference_t {
    int ref_kind; /* MPIDBG_KIND_NONE: no object */
    int ref_reserved;
    mqs_taddr_t ref_handle;
    uint64_t ref_uid; /* 0: an object without a record */
};

struct mpidbg_object_t {
    uint32_t obj_struct_size;
    uint32_t obj_bitflags; /* enum mpidbg_object_bitmap_t */
    int obj_kind;          /* enum mpidbg_kind_t */
    int obj_fortran_handle;
    mqs_taddr_t obj_c_handle;
    uint64_t obj_uid;      /* identifies the object in its process, never reused */
    uint64_t obj_identity; /* the same in all processes that share the object; 0 for none */
    struct mpidbg_reference_t obj_parent;
    char obj_name[MPIDBG_NAME];
    char obj_created_by[MPIDBG_WORD]; /* the MPI function, empty if not seen */
    mqs_taddr_t obj_created_from;     /* the return address of the call, 0 for a line of Python */
    uint64_t obj_created_ns;          /* since the start of the image */
    char obj_freed_by[MPIDBG_WORD];
    mqs_taddr_t obj_freed_from;
    uint64_t obj_freed_ns;
};

struct mpidbg_key_value_t {
    char *key;
    char *value;
};

struct mpidbg_attribute_t {
    int64_t attr_keyval;
    uint64_t attr_keyval_uid;
    mqs_taddr_t attr_value;
    char attr_name[MPIDBG_WORD]; /* of a predefined key */
};

struct mpidbg_argument_t {
    char arg_name[MPIDBG_WORD];
    int64_t arg_is_array;
    uint64_t arg_count;
    uint64_t arg_first; /* index of the first value in dt_values */
};

struct mpidbg_type_run_t {
    char run_type[MPIDBG_WORD];
    int64_t run_displacement;
    uint64_t run_count; /* number of consecutive elements */
    uint64_t run_size;  /* bytes of one */
};

struct mpidbg_type_hole_t {
    int64_t hole_displacement;
    uint64_t hole_length;
};

struct mpidbg_lock_t {
    int lock_target;
    int lock_exclusive;
};

struct mpidbg_call_t {
    char call_function[MPIDBG_WORD];
    mqs_taddr_t call_from; /* the return address of the call */
    uint64_t call_ns;      /* its beginning, since the start of the image */
    int call_tid;          /* the kernel's id of the thread */
    int call_reserved;
};

#define MPISCOPE_LIST(tag, type)                                                                                       \
    struct tag {                                                                                                       \
        uint64_t count;                                                                                                \
        type *items;                                                                                                   \
    }
MPISCOPE_LIST(mpidbg_reference_list_t, struct mpidbg_reference_t);
MPISCOPE_LIST(mpidbg_int_list_t, int64_t);
MPISCOPE_LIST(mpidbg_process_list_t, struct mpidbg_process_t);
MPISCOPE_LIST(mpidbg_key_value_list_t, struct mpidbg_key_value_t);
MPISCOPE_LIST(mpidbg_attribute_list_t, struct mpidbg_attribute_t);
MPISCOPE_LIST(mpidbg_argument_list_t, struct mpidbg_argument_t);
MPISCOPE_LIST(mpidbg_type_run_list_t, struct mpidbg_type_run_t);
MPISCOPE_LIST(mpidbg_type_hole_list_t, struct mpidbg_type_hole_t);
MPISCOPE_LIST(mpidbg_lock_list_t, struct mpidbg_lock_t);
MPISCOPE_LIST(mpidbg_call_list_t, struct mpidbg_call_t);

struct mpidbg_comm_extra_info_t {
    struct mpidbg_object_t object;
    int cx_rank; /* -1: not a member */
    int cx_size;
    int cx_remote_size;
    int cx_has_dist_graph;
    uint64_t cx_collectives; /* entered on it */
    int64_t cx_colour;       /* color, split type or tag */
    struct mpidbg_reference_t cx_errhandler;
    struct mpidbg_reference_t cx_info;
    struct mpidbg_reference_t cx_other_parent;
    struct mpidbg_process_list_t cx_local;
    struct mpidbg_process_list_t cx_remote;
    struct mpidbg_int_list_t cx_cart_coords;
    struct mpidbg_int_list_t cx_graph_edges; /* with its true length */
    struct mpidbg_int_list_t cx_sources;     /* of the distributed graph, of this process */
    struct mpidbg_int_list_t cx_source_weights;
    struct mpidbg_int_list_t cx_destinations;
    struct mpidbg_int_list_t cx_destination_weights;
    struct mpidbg_attribute_list_t cx_attributes;
    struct mpidbg_reference_list_t cx_groups;
    struct mpidbg_reference_list_t cx_requests;
    struct mpidbg_reference_list_t cx_windows;
    struct mpidbg_reference_list_t cx_files;
    struct mpidbg_key_value_list_t cx_info_pairs; /* of the last info passed, as they were then */
};

struct mpidbg_group_info_t {
    struct mpidbg_object_t object;
    int group_rank; /* -1: not a member */
    int group_size;
    struct mpidbg_process_list_t group_procs;
    struct mpidbg_reference_list_t group_comms;
};

struct mpidbg_datatype_info_t {
    struct mpidbg_object_t object;
    char dt_combiner[MPIDBG_WORD]; /* "vector": the constructor; its exact function is obj_created_by */
    char dt_meaning[MPIDBG_WORD];  /* the type in C or Fortran, of a predefined one */
    uint64_t dt_size;
    int64_t dt_lb;
    int64_t dt_extent;
    struct mpidbg_argument_list_t dt_arguments;
    struct mpidbg_int_list_t dt_values;
    struct mpidbg_reference_list_t dt_datatypes; /* from which it was created, in order */
    struct mpidbg_type_run_list_t dt_runs;       /* the type map, in intrinsic types */
    struct mpidbg_type_hole_list_t dt_holes;
    struct mpidbg_attribute_list_t dt_attributes;
    struct mpidbg_reference_list_t dt_used_by;
    struct mpidbg_reference_list_t dt_requests;
};

struct mpidbg_request_extra_info_t {
    struct mpidbg_object_t object;     /* obj_created_by: the function that created the request */
    char rx_class[MPIDBG_WORD];        /* point-to-point, file, generalised, collective, one-sided, flush */
    char rx_operation[MPIDBG_WORD];
    struct mpidbg_reference_t rx_of;   /* communicator, file or window */
    struct mpidbg_reference_t rx_datatype;
    int64_t rx_peer;                   /* as passed by the program; -1 if it has none */
    int64_t rx_tag;
    uint64_t rx_count;
    mqs_taddr_t rx_buffer;
    mqs_taddr_t rx_started_from;
    uint64_t rx_started_ns;
    mqs_taddr_t rx_completed_from;
    uint64_t rx_completed_ns;
    int64_t rx_actual_source;          /* of a complete receive, otherwise -1 */
    int64_t rx_actual_tag;
    uint64_t rx_bytes;                 /* all ones: the library did not report how many were received */
    uint64_t rx_starts;
    int64_t rx_send_dest;              /* of a send-receive, otherwise -1 */
    int64_t rx_send_tag;
    int rx_error;
    int rx_partitions;
    struct mpidbg_reference_t rx_reduction; /* the operation of a collective or one-sided request */
};

struct mpidbg_message_info_t {
    struct mpidbg_object_t object;
    struct mpidbg_reference_t msg_comm;
    int64_t msg_source;
    int64_t msg_tag;
    uint64_t msg_bytes;
};

struct mpidbg_op_info_t {
    struct mpidbg_object_t object;
    mqs_taddr_t op_function; /* 0: predefined */
    struct mpidbg_reference_list_t op_requests;
};

struct mpidbg_errhandler_extra_info_t {
    struct mpidbg_object_t object;
    mqs_taddr_t ex_function;
    int ex_of; /* enum mpidbg_kind_t; NONE: may be attached to anything */
    int ex_reserved;
    struct mpidbg_reference_list_t ex_attached;
};

struct mpidbg_info_info_t {
    struct mpidbg_object_t object;
    struct mpidbg_key_value_list_t info_pairs;
    struct mpidbg_reference_list_t info_used_by;
};

struct mpidbg_file_info_t {
    struct mpidbg_object_t object;
    char file_name[MPIDBG_MAX_FILENAME];
    int file_amode; /* in the ABI's own bits */
    int file_reserved;
    char file_mode[MPIDBG_NAME]; /* "MPI_MODE_CREATE|MPI_MODE_RDWR" */
    struct mpidbg_reference_t file_comm;
    struct mpidbg_reference_t file_info;
    struct mpidbg_reference_t file_errhandler;
    uint64_t file_view_displacement;
    struct mpidbg_reference_t file_view_etype; /* none while the view is the default one */
    struct mpidbg_reference_t file_view_filetype;
    char file_view_datarep[MPIDBG_WORD];
    struct mpidbg_key_value_list_t file_info_pairs;
    struct mpidbg_reference_list_t file_requests;
    uint64_t file_reads; /* successful data access calls of this process, and their bytes */
    uint64_t file_read_bytes;
    uint64_t file_writes;
    uint64_t file_written_bytes;
    uint64_t file_access_ns; /* time inside them; 0 if times are not recorded */
};

enum mpidbg_window_epoch_t {
    MPIDBG_EPOCH_FENCE = 1,
    MPIDBG_EPOCH_START = 2,
    MPIDBG_EPOCH_POST = 4,
    MPIDBG_EPOCH_LOCK = 8,
    MPIDBG_EPOCH_LOCK_ALL = 16
};

struct mpidbg_window_info_t {
    struct mpidbg_object_t object;
    struct mpidbg_reference_t win_comm;
    struct mpidbg_reference_t win_info;
    struct mpidbg_reference_t win_errhandler;
    mqs_taddr_t win_base;
    uint64_t win_size;
    uint64_t win_displacement_unit;
    char win_flavour[MPIDBG_WORD];
    char win_model[MPIDBG_WORD];
    uint32_t win_epochs; /* enum mpidbg_window_epoch_t: the open epochs */
    uint32_t win_reserved;
    char win_last_sync[MPIDBG_WORD]; /* the function */
    mqs_taddr_t win_last_sync_from;
    uint64_t win_last_sync_ns;
    struct mpidbg_lock_list_t win_locks;
    struct mpidbg_process_list_t win_start_procs;
    struct mpidbg_process_list_t win_post_procs;
    struct mpidbg_int_list_t win_attached; /* address and bytes alternately */
    uint64_t win_puts;
    uint64_t win_gets;
    uint64_t win_accumulates;
    uint64_t win_pending;
    struct mpidbg_key_value_list_t win_info_pairs;
    struct mpidbg_attribute_list_t win_attributes;
    struct mpidbg_reference_list_t win_requests;
};

struct mpidbg_session_info_t {
    struct mpidbg_object_t object;
    struct mpidbg_reference_t session_info;
    struct mpidbg_reference_t session_errhandler;
    struct mpidbg_reference_list_t session_groups;
    struct mpidbg_key_value_list_t session_info_pairs;
};

struct mpidbg_keyval_info_t {
    struct mpidbg_object_t object;
    int kv_keyval;
    int kv_of; /* enum mpidbg_kind_t */
    mqs_taddr_t kv_copy_function;
    mqs_taddr_t kv_delete_function;
    mqs_taddr_t kv_extra_state;
};

/* A status is the object itself: its address identifies it. */
struct mpidbg_status_extra_info_t {
    uint32_t sx_struct_size;
    uint32_t sx_bitflags; /* MPIDBG_OBJECT_BYTES_KNOWN, MPIDBG_OBJECT_CANCELLED */
    mqs_taddr_t sx_address;
    int sx_source;
    int sx_tag;
    int sx_error;
    int sx_reserved;
    uint64_t sx_bytes;
};

/* Open calls of threads on an object of any kind. */
struct mpidbg_calls_info_t {
    uint32_t calls_struct_size;
    uint32_t calls_reserved;
    struct mpidbg_call_list_t calls;
};

/* Kinds that have a query function here: bit 1 << kind. */
extern unsigned int mpidbg_extended_kinds;
/* As mpidbg_process_object_name_length, for the process that was set up last. */
extern int mpidbg_object_name_length;

/* 64 or 128; 0 for no process. */
int mpidbg_process_object_name_length(mqs_process_info *process_info);
/* The predefined handles of a kind in this process; null if there is no such process or kind. */
struct mpidbg_name_map_t *mpidbg_process_name_map(mqs_process_info *process_info, int kind);

int mpidbg_comm_extra_query(MPISCOPE_CONTEXT, mqs_taddr_t c_comm, struct mpidbg_comm_extra_info_t **info);
int mpidbg_group_query(MPISCOPE_CONTEXT, mqs_taddr_t c_group, struct mpidbg_group_info_t **info);
int mpidbg_datatype_query(MPISCOPE_CONTEXT, mqs_taddr_t c_datatype, struct mpidbg_datatype_info_t **info);
int mpidbg_request_extra_query(MPISCOPE_CONTEXT, mqs_taddr_t c_request, struct mpidbg_request_extra_info_t **info);
int mpidbg_message_query(MPISCOPE_CONTEXT, mqs_taddr_t c_message, struct mpidbg_message_info_t **info);
int mpidbg_op_query(MPISCOPE_CONTEXT, mqs_taddr_t c_op, struct mpidbg_op_info_t **info);
int mpidbg_errhandler_extra_query(MPISCOPE_CONTEXT, mqs_taddr_t c_errhandler,
                                  struct mpidbg_errhandler_extra_info_t **info);
int mpidbg_info_query(MPISCOPE_CONTEXT, mqs_taddr_t c_info, struct mpidbg_info_info_t **info);
int mpidbg_file_query(MPISCOPE_CONTEXT, mqs_taddr_t c_file, struct mpidbg_file_info_t **info);
int mpidbg_window_query(MPISCOPE_CONTEXT, mqs_taddr_t c_window, struct mpidbg_window_info_t **info);
int mpidbg_session_query(MPISCOPE_CONTEXT, mqs_taddr_t c_session, struct mpidbg_session_info_t **info);
/* The handle: the key in the lower 32 bits, and above them the mpidbg_kind_t of the objects it is for. */
int mpidbg_keyval_query(MPISCOPE_CONTEXT, mqs_taddr_t key, struct mpidbg_keyval_info_t **info);
int mpidbg_status_extra_query(MPISCOPE_CONTEXT, mqs_taddr_t c_status, struct mpidbg_status_extra_info_t **info);
/* The elements of a datatype in the message of a status: whole elements (-1: not a whole number, as MPI_Get_count), and
 * elements of intrinsic types (as MPI_Get_elements). */
int mpidbg_status_elements(MPISCOPE_CONTEXT, mqs_taddr_t c_status, mqs_taddr_t c_datatype, int64_t *count,
                           int64_t *elements);
/* kind: an mpidbg_kind_t. An object without open calls has an empty list. */
int mpidbg_calls_query(MPISCOPE_CONTEXT, int kind, mqs_taddr_t c_handle, struct mpidbg_calls_info_t **info);
/* The address in the process of a 16-bit word that determines whether the record of the object is kept when it is freed. The
 * debugger writes it while the process is stopped: 1 to keep it, 0 to allow its reuse. No function is called in the process.
 * MPIDBG_ERR_NOT_SUPPORTED: records of freed objects of this kind are not kept (requests, messages, statuses), or the object
 * is predefined and never freed. */
int mpidbg_pin_address(MPISCOPE_CONTEXT, int kind, mqs_taddr_t c_handle, mqs_taddr_t *address);

/* ROMIO (MPICH and its family) assigns a Fortran number to a file on the first request. Before that, obj_fortran_handle is
 * not valid and mpidbg_file_f2c does not find the file: MPIDBG_ERR_NOT_FOUND. */
int mpidbg_datatype_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_datatype, mqs_taddr_t *c_datatype);
int mpidbg_file_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_file, mqs_taddr_t *c_file);
int mpidbg_group_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_group, mqs_taddr_t *c_group);
int mpidbg_info_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_info, mqs_taddr_t *c_info);
int mpidbg_op_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_op, mqs_taddr_t *c_op);
int mpidbg_window_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_window, mqs_taddr_t *c_window);
int mpidbg_message_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_message, mqs_taddr_t *c_message);
int mpidbg_session_f2c(MPISCOPE_CONTEXT, mqs_taddr_t f77_session, mqs_taddr_t *c_session);

/* ------------------------------------------------------------------------------------------------------------------------
 * Layouts (LP64)
 * --------------------------------------------------------------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif
/* Works in every version of C and C++: declares an array that is never defined. */
#define MPISCOPE_ASSERT(what) extern char mpiscope_layout_is_right[(what) ? 1 : -1]
#define MPISCOPE_SIZE(type, size) MPISCOPE_ASSERT(sizeof(struct type) == (size))
#define MPISCOPE_OFFSET(type, field, at) MPISCOPE_ASSERT(offsetof(struct type, field) == (at))

#if defined(__LP64__)
MPISCOPE_SIZE(mpidbg_handle_info_t, 240);
MPISCOPE_SIZE(mpidbg_process_t, 4);
MPISCOPE_SIZE(mpidbg_name_map_t, 16);
MPISCOPE_SIZE(mpidbg_attribute_pair_t, 24);
MPISCOPE_SIZE(mpidbg_comm_info_64_t, 224);
MPISCOPE_SIZE(mpidbg_comm_info_128_t, 288);
MPISCOPE_OFFSET(mpidbg_comm_info_64_t, comm_bitflags, 64);
MPISCOPE_OFFSET(mpidbg_comm_info_64_t, comm_local_procs, 80);
MPISCOPE_OFFSET(mpidbg_comm_info_64_t, comm_remote_procs, 96);
MPISCOPE_OFFSET(mpidbg_comm_info_64_t, comm_cart_periods, 120);
MPISCOPE_OFFSET(mpidbg_comm_info_64_t, comm_graph_edges, 144);
MPISCOPE_OFFSET(mpidbg_comm_info_64_t, comm_c_handle, 152);
MPISCOPE_OFFSET(mpidbg_comm_info_64_t, comm_attrs, 168);
MPISCOPE_OFFSET(mpidbg_comm_info_64_t, comm_derived_files, 216);
MPISCOPE_SIZE(mpidbg_request_info_t, 24);
MPISCOPE_SIZE(mpidbg_status_info_t, 4);
MPISCOPE_SIZE(mpidbg_errhandler_info_64_t, 104);
MPISCOPE_SIZE(mpidbg_errhandler_info_128_t, 168);
MPISCOPE_OFFSET(mpidbg_errhandler_info_64_t, eh_refcount, 84);
MPISCOPE_OFFSET(mpidbg_errhandler_info_64_t, eh_callback_func, 96);
MPISCOPE_SIZE(mpidbg_reference_t, 24);
MPISCOPE_SIZE(mpidbg_object_t, 320);
MPISCOPE_OFFSET(mpidbg_object_t, obj_parent, 40);
MPISCOPE_OFFSET(mpidbg_object_t, obj_name, 64);
MPISCOPE_OFFSET(mpidbg_object_t, obj_freed_by, 256);
MPISCOPE_SIZE(mpidbg_attribute_t, 72);
MPISCOPE_SIZE(mpidbg_argument_t, 72);
MPISCOPE_SIZE(mpidbg_type_run_t, 72);
MPISCOPE_SIZE(mpidbg_comm_extra_info_t, 648);
MPISCOPE_OFFSET(mpidbg_comm_extra_info_t, cx_local, 424);
MPISCOPE_SIZE(mpidbg_group_info_t, 360);
MPISCOPE_SIZE(mpidbg_datatype_info_t, 568);
MPISCOPE_OFFSET(mpidbg_datatype_info_t, dt_size, 416);
MPISCOPE_SIZE(mpidbg_request_extra_info_t, 608);
MPISCOPE_OFFSET(mpidbg_request_extra_info_t, rx_peer, 464);
MPISCOPE_SIZE(mpidbg_message_info_t, 368);
MPISCOPE_SIZE(mpidbg_op_info_t, 344);
MPISCOPE_SIZE(mpidbg_errhandler_extra_info_t, 352);
MPISCOPE_SIZE(mpidbg_info_info_t, 352);
MPISCOPE_SIZE(mpidbg_file_info_t, 1728);
MPISCOPE_OFFSET(mpidbg_file_info_t, file_comm, 1480);
MPISCOPE_SIZE(mpidbg_window_info_t, 728);
MPISCOPE_OFFSET(mpidbg_window_info_t, win_base, 392);
MPISCOPE_SIZE(mpidbg_session_info_t, 400);
MPISCOPE_SIZE(mpidbg_keyval_info_t, 352);
MPISCOPE_SIZE(mpidbg_status_extra_info_t, 40);
MPISCOPE_SIZE(mpidbg_call_t, 72);
MPISCOPE_SIZE(mpidbg_calls_info_t, 24);
#endif

#endif /* MPISCOPE_MPIHANDLES_H */
