/* Event instances: elements, copies, time stamps, sources; valid only inside their callback. */
#include "einfo.h"

#define RECORDS 64

struct record {
    unsigned char copy[1024], elements[ELEMENTS][16];
    int codes_wrong, source, too_far, before, no_buffer, intact;
    MPI_Count stamp, now;
};

struct notebook {
    struct event_type type;
    struct record records[RECORDS];
    int used, order_broken;
    MPI_T_event_instance last;
};

static void note(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                 void *data)
{
    struct notebook *book = data;
    struct record *r = &book->records[book->used % RECORDS];
    unsigned char ignored[64];
    size_t extent = event_extent(&book->type);
    (void) registration;
    (void) safety;
    if (book->used >= RECORDS)
        return;
    memset(r, 0, sizeof *r);
    memset(r->copy, CANARY, sizeof r->copy);
    r->codes_wrong += MPI_T_event_copy(instance, r->copy) != MPI_SUCCESS;
    r->intact = 1;
    for (size_t i = extent; i < sizeof r->copy; i++)
        r->intact &= r->copy[i] == CANARY;
    for (int i = 0; i < book->type.elements && i < ELEMENTS; i++)
        r->codes_wrong += MPI_T_event_read(instance, i, r->elements[i]) != MPI_SUCCESS;
    r->codes_wrong += MPI_T_event_get_timestamp(instance, &r->stamp) != MPI_SUCCESS;
    r->codes_wrong += MPI_T_event_get_source(instance, &r->source) != MPI_SUCCESS;
    MPI_T_source_get_timestamp(r->source, &r->now);
    r->too_far = MPI_T_event_read(instance, book->type.elements, ignored);
    r->before = MPI_T_event_read(instance, -1, ignored);
    r->no_buffer = MPI_T_event_read(instance, 0, NULL) != MPI_SUCCESS && MPI_T_event_copy(instance, NULL) != MPI_SUCCESS
        && MPI_T_event_get_timestamp(instance, NULL) != MPI_SUCCESS
        && MPI_T_event_get_source(instance, NULL) != MPI_SUCCESS;
    book->last = instance;
    book->used++;
}

static void check_record(const struct notebook *book, const struct record *r, int sources)
{
    int tag = element_named(&book->type, ELEMENT_TAG), bytes = element_named(&book->type, ELEMENT_BYTES);
    CHECKF("EI-1", r->codes_wrong == 0, "read, copy, get_timestamp and get_source work in a callback", "%d failed",
           r->codes_wrong);
    for (int i = 0; i < book->type.elements && i < ELEMENTS; i++)
        CHECKF("EI-2", !memcmp(r->elements[i], r->copy + book->type.places[i], type_size(book->type.types[i])),
               "a read element equals the one at its displacement in the copy", "%s, element %d", book->type.name,
               i);
    CHECK("EI-3", r->intact, "a copy is as long as the extent of the type");
    CHECKF("EI-4", r->source >= 0 && r->source < sources, "the source of an event is the index of a source", "%d",
           r->source);
    CHECKF("EI-5", r->too_far == MPI_T_ERR_INVALID_INDEX && r->before == MPI_T_ERR_INVALID_INDEX,
           "an element index out of range is MPI_T_ERR_INVALID_INDEX", "%s, %s", code_name(r->too_far),
           code_name(r->before));
    CHECK("EI-6", r->no_buffer, "NULL buffers are rejected and not dereferenced");
    CHECKF("EI-7", r->stamp <= r->now, "an event was observed before its callback", "%lld, %lld", (long long) r->stamp,
           (long long) r->now);
    if (tag >= 0)
        CHECKF("EI-8", number_at(book->type.types[tag], r->elements[tag], 0) == SEND_TAG,
               "elements have the values of the message: the tag", "%g", number_at(book->type.types[tag], r->elements[tag], 0));
    if (bytes >= 0)
        CHECKF("EI-9", number_at(book->type.types[bytes], r->elements[bytes], 0) == SEND_BYTES,
               "elements have the values of the message: the bytes", "%g", number_at(book->type.types[bytes], r->elements[bytes],
               0));
}

static void each(void)
{
    struct notebook *book;
    MPI_T_event_registration registration;
    int sources = 0;
    if (!events_here("EI-10") || conform_phase != BETWEEN)
        return;
    book = calloc(1, sizeof *book);
    MPI_T_source_get_num(&sources);
    if (!CHECK("EI-11", registration_open(&registration, &book->type), "sends are events, bound to a communicator")) {
        free(book);
        return;
    }
    MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, book, note);
    raise_events(20);
    CHECKF("EI-12", book->used >= 20, "every event has an instance", "%d of 20", book->used);
    for (int i = 0; i < book->used; i++) {
        MPI_T_source_order order = MPI_T_SOURCE_UNORDERED;
        check_record(book, &book->records[i], sources);
        MPI_T_source_get_info(book->records[i].source, NULL, NULL, NULL, NULL, &order, NULL, NULL, NULL);
        for (int j = i - 1; j >= 0 && order == MPI_T_SOURCE_ORDERED; j--)
            if (book->records[j].source == book->records[i].source) {
                CHECKF("EI-13", book->records[j].stamp < book->records[i].stamp,
                       "time stamps of an ordered source increase", "%lld, then %lld",
                       (long long) book->records[j].stamp, (long long) book->records[i].stamp);
                break;
            }
    }
    if (book->used) {
        unsigned char buffer[1024];
        MPI_Count stamp;
        int source;
        CHECK_REFUSED("EI-14", MPI_T_event_read(book->last, 0, buffer), "an instance is invalid after its callback");
        CHECK_REFUSED("EI-14", MPI_T_event_copy(book->last, buffer), "an instance is invalid after its callback");
        CHECK_REFUSED("EI-14", MPI_T_event_get_timestamp(book->last, &stamp),
                      "an instance is invalid after its callback");
        CHECK_REFUSED("EI-14", MPI_T_event_get_source(book->last, &source),
                      "an instance is invalid after its callback");
        for (int i = 0; i < FOREIGN; i++)
            CHECK_REFUSED("EI-15", MPI_T_event_copy((MPI_T_event_instance) foreign(i), buffer),
                          "a pointer that is not an instance is detected and not dereferenced");
    }
    MPI_T_event_handle_free(registration, NULL, NULL);
    free(book);
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_instances", each, comms_make, comms_free };
    return conform_main(argc, argv, &group);
}
