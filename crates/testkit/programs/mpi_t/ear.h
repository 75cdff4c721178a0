/* Listens to event types of libmpiscope.so by name; the received events are kept and their elements found by name. */
#ifndef EAR_H
#define EAR_H

#include "einfo.h"

#define KEPT 32
#define COPY 256

struct ear {
    struct event_type type;
    MPI_T_event_registration registration;
    int calls;
    unsigned char copies[KEPT][COPY];
    MPI_Count stamps[KEPT];
};

static void on_event(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data)
{
    struct ear *ear = data;
    (void) registration;
    (void) safety;
    if (ear->calls < KEPT) {
        MPI_T_event_copy(instance, ear->copies[ear->calls]);
        MPI_T_event_get_timestamp(instance, &ear->stamps[ear->calls]);
    }
    ear->calls++;
}

/* Listens to "mpiscope.NAME"; returns 0 and fails an assertion if that is not possible. */
static inline int hear(const char *label, struct ear *ear, const char *name, void *object)
{
    char full[128];
    memset(ear, 0, sizeof *ear);
    snprintf(full, sizeof full, "mpiscope.%s", name);
    return CHECKF(label, event_find(full, &ear->type)
                  && MPI_T_event_handle_alloc(ear->type.index, object, MPI_INFO_NULL, &ear->registration) == MPI_SUCCESS
                  && MPI_T_event_register_callback(ear->registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL,
                                                   ear, on_event) == MPI_SUCCESS,
                  "every documented event type can be listened to", "%s", full);
}

static inline void deaf(struct ear *ear)
{
    MPI_T_event_handle_free(ear->registration, NULL, NULL);
}

/* An element of the `nth` event; an impossible value if there is none. */
static inline long long value(const struct ear *ear, int nth, const char *element)
{
    int at = element_named(&ear->type, element);
    int number;
    long long word;
    if (at < 0 || nth >= ear->calls || nth >= KEPT)
        return -0x7777777777LL;
    if (type_size(ear->type.types[at]) == sizeof number) {
        memcpy(&number, ear->copies[nth] + ear->type.places[at], sizeof number);
        return number;
    }
    memcpy(&word, ear->copies[nth] + ear->type.places[at], sizeof word);
    return word;
}

/* The first event in which an element has this value; -1 if there is none. */
static inline int which(const struct ear *ear, const char *element, long long wanted)
{
    for (int i = 0; i < ear->calls && i < KEPT; i++)
        if (value(ear, i, element) == wanted)
            return i;
    return -1;
}

/* A handle of four or eight bytes as the events have it. */
static inline long long word_of(const void *handle, size_t size)
{
    unsigned long long word = 0;
    memcpy(&word, handle, size);
    return (long long) word;
}

#define WORD(handle) word_of(&(handle), sizeof(handle))

#endif
