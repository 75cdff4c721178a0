/* Common code of the example tools for events: start after MPI_Init, stop before MPI_Finalize, registration by name,
 * elements by name. A tool defines tool_start and tool_stop, and is built as a shared library:
 *
 *     cc -shared -fPIC -I include -I <directory of mpi.h> examples/mpi_t/TOOL.c -o TOOL.so
 *     mpirun -n 4 env LD_PRELOAD="./TOOL.so libmpiscope.so" ./app        or
 *     mpirun -n 4 env LD_PRELOAD=./TOOL.so mpiscope run ./app
 */
#ifndef TOOL_H
#define TOOL_H

#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "names.h"

#define TOOL_ELEMENTS 32
#define TOOL_BYTES 1024

/* An event type, and the offsets of its elements in a copy. */
struct tool_event {
    int index, elements, bind;
    MPI_Datatype types[TOOL_ELEMENTS];
    MPI_Aint places[TOOL_ELEMENTS];
    MPI_T_enum names;
    MPI_T_event_registration registration;
};

static int tool_rank;
static void tool_start(void);
static void tool_stop(void);

/* Looks up an event type and registers `callback` for it on MPI_COMM_WORLD; 0 if the library has no such type.
 * The callback has to be thread-safe, since several threads may communicate. */
static inline int tool_listen(struct tool_event *e, const char *name, MPI_T_event_cb_function callback)
{
    MPI_Comm world = MPI_COMM_WORLD;
    e->elements = TOOL_ELEMENTS;
    if (!MPISCOPE_HAS(MPI_T_event_get_index) || MPI_T_event_get_index(name, &e->index) != MPI_SUCCESS
        || MPI_T_event_get_info(e->index, NULL, NULL, NULL, e->types, e->places, &e->elements, &e->names, NULL, NULL,
                                NULL, &e->bind) != MPI_SUCCESS
        || MPI_T_event_handle_alloc(e->index, &world, MPI_INFO_NULL, &e->registration) != MPI_SUCCESS) {
        fprintf(stderr, "tool: this MPI has no event type %s; is libmpiscope.so preloaded?\n", name);
        return 0;
    }
    return MPI_T_event_register_callback(e->registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, e, callback)
        == MPI_SUCCESS;
}

/* Returns the index of the element with this name; -1 if the type has none. */
static inline int tool_element(const struct tool_event *e, const char *name)
{
    char item[64];
    for (int i = 0; i < e->elements && e->names != MPI_T_ENUM_NULL; i++) {
        int value, length = sizeof item;
        if (MPI_T_enum_get_item(e->names, i, &value, item, &length) == MPI_SUCCESS && !strcmp(item, name))
            return i;
    }
    return -1;
}

/* The size of a message if the MPI library does not report it. */
#define TOOL_UNKNOWN (-1LL)

/* Returns an element of a copied event as a whole number. */
static inline long long tool_number(const struct tool_event *e, int element, const void *copy)
{
    MPI_Datatype type = element >= 0 ? e->types[element] : MPI_DATATYPE_NULL;
    const char *at = element >= 0 ? (const char *) copy + e->places[element] : NULL;
    union { int i; unsigned u; long long l; double d; char c; } value;
    memset(&value, 0, sizeof value);
    if (type == MPI_INT || type == MPI_INT32_T)
        return memcpy(&value.i, at, sizeof value.i), value.i;
    if (type == MPI_UNSIGNED || type == MPI_UINT32_T)
        return memcpy(&value.u, at, sizeof value.u), value.u;
    if (type == MPI_DOUBLE)
        return memcpy(&value.d, at, sizeof value.d), (long long) value.d;
    if (type == MPI_DATATYPE_NULL || type == MPI_CHAR)
        return 0;
    return memcpy(&value.l, at, sizeof value.l), value.l;
}

static inline void tool_begin(void)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    PMPI_Comm_rank(MPI_COMM_WORLD, &tool_rank);
    tool_start();
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    tool_begin();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    tool_begin();
    return code;
}

int MPI_Finalize(void)
{
    tool_stop();
    MPI_T_finalize();
    return PMPI_Finalize();
}

#endif
