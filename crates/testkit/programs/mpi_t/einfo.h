/* Common code for programs about event types, and how they raise events. */
#ifndef EINFO_H
#define EINFO_H

#include "tinfo.h"

#include <stdatomic.h>

/* The names of the event types that the programs rely on, in one place. */
#define EVENT_SEND "mpiscope.send_posted"
#define EVENT_RECEIVED "mpiscope.receive_completed"
#define ELEMENT_TAG "tag"
#define ELEMENT_BYTES "bytes"

#define ELEMENTS 64

struct event_type {
    int index, verbosity, bind, elements;
    MPI_Datatype types[ELEMENTS];
    MPI_Aint places[ELEMENTS];
    MPI_T_enum names;
    char name[NAME_MAX_LENGTH], desc[DESC_MAX_LENGTH];
    int name_len, desc_len;
};

/* A library without these functions fails only one assertion. */
static inline int events_here(const char *label)
{
    return CHECK(label, MPISCOPE_HAS(MPI_T_event_get_num) && MPISCOPE_HAS(MPI_T_source_get_num),
                 "the functions for events exist");
}

static inline int event_count(void)
{
    int n = 0;
    MPI_T_event_get_num(&n);
    return n;
}

static inline int event_query(int index, struct event_type *e)
{
    memset(e, 0, sizeof *e);
    e->index = index;
    e->name_len = sizeof e->name;
    e->desc_len = sizeof e->desc;
    e->elements = ELEMENTS;
    return MPI_T_event_get_info(index, e->name, &e->name_len, &e->verbosity, e->types, e->places, &e->elements,
                                &e->names, NULL, e->desc, &e->desc_len, &e->bind);
}

static inline int event_find(const char *name, struct event_type *e)
{
    int index = -1;
    return MPI_T_event_get_index(name, &index) == MPI_SUCCESS && event_query(index, e) == MPI_SUCCESS;
}

/* Bytes that MPI_T_event_copy writes. */
static inline size_t event_extent(const struct event_type *e)
{
    size_t end = 0;
    for (int i = 0; i < e->elements && i < ELEMENTS; i++)
        if ((size_t) e->places[i] + type_size(e->types[i]) > end)
            end = (size_t) e->places[i] + type_size(e->types[i]);
    return end;
}

/* The element with this name, by the enumeration of the type; -1 if there is none. */
static inline int element_named(const struct event_type *e, const char *wanted)
{
    char name[128];
    for (int i = 0; i < e->elements && e->names != MPI_T_ENUM_NULL; i++) {
        int value, length = sizeof name;
        if (MPI_T_enum_get_item(e->names, i, &value, name, &length) == MPI_SUCCESS && !strcmp(name, wanted))
            return i;
    }
    return -1;
}

static inline int level_rank(MPI_T_cb_safety level)
{
    return level == MPI_T_CB_REQUIRE_NONE ? 0 : level == MPI_T_CB_REQUIRE_MPI_RESTRICTED ? 1
        : level == MPI_T_CB_REQUIRE_THREAD_SAFE ? 2 : level == MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE ? 3 : -1;
}

static const MPI_T_cb_safety levels[] = {
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
};

/* One communicator per thread, so that a registration bound to it receives only events of that thread. */
static MPI_Comm own_comm[CONFORM_SLOTS];

static inline void comms_make(void)
{
    for (int i = 0; conform_phase == BETWEEN && i < conform_threads; i++)
        MPI_Comm_dup(MPI_COMM_SELF, &own_comm[i]);
}

static inline void comms_free(void)
{
    for (int i = 0; conform_phase == BETWEEN && i < conform_threads; i++)
        MPI_Comm_free(&own_comm[i]);
}

#define SEND_TAG 33
#define SEND_BYTES 20

/* Sends one message to itself: one EVENT_SEND on the communicator, one EVENT_RECEIVED. */
static inline void send_on(MPI_Comm comm)
{
    char out[SEND_BYTES] = "", in[SEND_BYTES];
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(in, SEND_BYTES, MPI_BYTE, 0, SEND_TAG, comm, &request);
    MPI_Send(out, SEND_BYTES, MPI_BYTE, 0, SEND_TAG, comm);
    MPI_Wait(&request, &status);
}

static inline void raise_events(int n)
{
    for (int i = 0; i < n; i++)
        send_on(own_comm[conform_thread]);
}

/* A registration of EVENT_SEND on this thread's communicator; 0 if there is none. */
static inline int registration_open(MPI_T_event_registration *registration, struct event_type *e)
{
    return event_find(EVENT_SEND, e)
        && MPI_T_event_handle_alloc(e->index, &own_comm[conform_thread], MPI_INFO_NULL, registration) == MPI_SUCCESS;
}

#endif
