/* Sources and event types: count, get_info, get_index, timestamps. */
#include "einfo.h"

#include <time.h>

static void check_source(int i)
{
    char name[256], again[256], desc[DESC_MAX_LENGTH];
    int name_len = sizeof name, desc_len = sizeof desc, code = -1, length;
    MPI_T_source_order order = (MPI_T_source_order) -77, same_order = (MPI_T_source_order) -77;
    MPI_Count ticks = -1, most = -1, now = -1, later = -1, same_ticks = -2;
    code = MPI_T_source_get_info(i, name, &name_len, desc, &desc_len, &order, &ticks, &most, NULL);
    if (!CHECKF("ET-2", code == MPI_SUCCESS, "every index from 0 to N-1 names a source", "%d: %s", i, code_name(code)))
        return;
    CHECKF("ET-3", strlen(name) >= 1, "a source has a name", "source %d", i);
    CHECKF("ET-4", order == MPI_T_SOURCE_ORDERED || order == MPI_T_SOURCE_UNORDERED,
           "ordering is one of the two constants", "%s: %d", name, (int) order);
    CHECKF("ET-5", ticks > 0, "a source returns its ticks per second", "%s: %lld", name, (long long) ticks);
    CHECKF("ET-6", most > 0, "a source returns its largest tick", "%s: %lld", name, (long long) most);
    length = sizeof again;
    MPI_T_source_get_info(i, again, &length, NULL, NULL, &same_order, &same_ticks, NULL, NULL);
    CHECKF("ET-7", !strcmp(name, again) && order == same_order && ticks == same_ticks,
           "get_info gives the same information again", "%s", name);
    code = MPI_T_source_get_timestamp(i, &now);
    if (!CHECKF("ET-8", code == MPI_SUCCESS || code == MPI_T_ERR_NOT_SUPPORTED,
                "a source returns a time stamp or MPI_T_ERR_NOT_SUPPORTED", "%s: %s", name, code_name(code))
        || code != MPI_SUCCESS)
        return;
    struct timespec pause = { 0, 20000000 };
    nanosleep(&pause, NULL);
    MPI_T_source_get_timestamp(i, &later);
    CHECKF("ET-9", now >= 0 && later > now && later <= most, "time stamps increase up to the largest tick", "%s: %lld, %lld",
           name, (long long) now, (long long) later);
    CHECKF("ET-10", (double) (later - now) / (double) ticks >= 0.019 && (double) (later - now) / (double) ticks < 5,
           "time stamps advance by the source's ticks per second", "%s: %g s for 0.02", name,
           (double) (later - now) / (double) ticks);
}

static void check_source_nulls(int i)
{
    char name[256], desc[256];
    MPI_T_source_order order;
    MPI_Count ticks, most;
    for (int out = 0; out < 8; out++) {
        int name_len = sizeof name, desc_len = sizeof desc, code = -1;
        TRY("ET-11", code = MPI_T_source_get_info(i, out == 0 ? NULL : name, out == 1 ? NULL : &name_len,
                out == 2 ? NULL : desc, out == 3 ? NULL : &desc_len, out == 4 ? NULL : &order,
                out == 5 ? NULL : &ticks, out == 6 ? NULL : &most, NULL), "NULL OUT arguments are harmless",
            CHECKF("ET-11", code == MPI_SUCCESS, "NULL OUT arguments are harmless", "parameter %d: %s", out,
                   code_name(code)));
    }
    CHECK_REFUSED("ET-12", MPI_T_source_get_timestamp(i, NULL), "a NULL timestamp is rejected and not dereferenced");
}

/* Info objects are created by the library, which is only guaranteed between MPI_Init and MPI_Finalize. */
static void check_infos(int sources, int events)
{
    for (int i = 0; conform_phase == BETWEEN && i < sources; i++) {
        MPI_Info info = MPI_INFO_NULL;
        int code = MPI_T_source_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &info), keys = -1;
        CHECKF("ET-13", code == MPI_SUCCESS && info != MPI_INFO_NULL, "a source returns an info object", "%d: %s", i,
               code_name(code));
        if (info != MPI_INFO_NULL) {
            MPI_Info_get_nkeys(info, &keys);
            CHECKF("ET-14", keys >= 0 && MPI_Info_free(&info) == MPI_SUCCESS, "the user frees the info object",
                   "source %d", i);
        }
    }
    for (int i = 0; conform_phase == BETWEEN && i < events; i++) {
        MPI_Info info = MPI_INFO_NULL;
        int code = MPI_T_event_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &info, NULL, NULL, NULL), keys = -1;
        CHECKF("ET-15", code == MPI_SUCCESS && info != MPI_INFO_NULL, "an event type returns an info object", "%d: %s",
               i, code_name(code));
        if (info != MPI_INFO_NULL) {
            MPI_Info_get_nkeys(info, &keys);
            CHECKF("ET-14", keys >= 0 && MPI_Info_free(&info) == MPI_SUCCESS, "the user frees the info object",
                   "event type %d", i);
        }
    }
}

static void check_elements(const struct event_type *e)
{
    MPI_Aint end = 0;
    int items = 0, length = 0;
    CHECKF("ET-16", e->elements >= 0 && e->elements <= ELEMENTS, "the number of elements is returned", "%s: %d",
           e->name, e->elements);
    for (int i = 0; i < e->elements && i < ELEMENTS; i++) {
        CHECKF("ET-17", type_size(e->types[i]) != 0, "elements have datatypes that the interface may use",
               "%s, element %d", e->name, i);
        CHECKF("ET-18", i == 0 ? e->places[i] == 0 : e->places[i] > e->places[i - 1],
               "displacements ascend and start with zero", "%s, element %d: %lld", e->name, i,
               (long long) e->places[i]);
        CHECKF("ET-19", e->places[i] >= end, "elements do not overlap", "%s, element %d", e->name, i);
        end = e->places[i] + (MPI_Aint) type_size(e->types[i]);
    }
    if (e->names != MPI_T_ENUM_NULL) {
        MPI_T_enum_get_info(e->names, &items, NULL, &length);
        CHECKF("ET-20", items >= e->elements, "the enumeration describes each element", "%s: %d of %d", e->name, items,
               e->elements);
    }
}

static void check_truncation(const struct event_type *e)
{
    MPI_Datatype types[ELEMENTS];
    MPI_Aint places[ELEMENTS];
    int number, half = e->elements / 2, code, kept = 1;
    for (int i = 0; i < ELEMENTS; i++) {
        types[i] = MPI_DATATYPE_NULL;
        places[i] = -5;
    }
    number = half;
    code = MPI_T_event_get_info(e->index, NULL, NULL, NULL, types, places, &number, NULL, NULL, NULL, NULL, NULL);
    for (int i = 0; i < half; i++)
        kept &= types[i] == e->types[i] && places[i] == e->places[i];
    CHECKF("ET-21", code == MPI_SUCCESS && number == e->elements && kept,
           "short arrays get as many elements as fit, and the required number", "%s: %s, %d of %d", e->name,
           code_name(code), number, e->elements);
    CHECKF("ET-22", types[half] == MPI_DATATYPE_NULL && places[half] == -5, "nothing is written beyond short arrays",
           "%s", e->name);
    number = ELEMENTS;
    types[0] = MPI_DATATYPE_NULL;
    code = -1;
    TRY("ET-23", code = MPI_T_event_get_info(e->index, NULL, NULL, NULL, NULL, places, &number, NULL, NULL, NULL, NULL,
                                             NULL), "a NULL array is ignored",
        CHECKF("ET-23", code == MPI_SUCCESS && number == e->elements, "a NULL array is ignored", "%s", e->name));
    TRY("ET-23", code = MPI_T_event_get_info(e->index, NULL, NULL, NULL, types, NULL, &number, NULL, NULL, NULL, NULL,
                                             NULL), "a NULL array is ignored",
        CHECKF("ET-23", code == MPI_SUCCESS && (e->elements == 0 || types[0] == e->types[0]), "a NULL array is ignored",
               "%s", e->name));
    types[0] = MPI_DATATYPE_NULL;
    TRY("ET-24", code = MPI_T_event_get_info(e->index, NULL, NULL, NULL, types, places, NULL, NULL, NULL, NULL, NULL,
                                             NULL), "with a NULL num_elements the arrays are ignored",
        CHECKF("ET-24", code == MPI_SUCCESS && types[0] == MPI_DATATYPE_NULL,
               "with a NULL num_elements the arrays are ignored", "%s: %s", e->name, code_name(code)));
}

static void check_event_nulls(const struct event_type *whole)
{
    for (int out = 0; out < 7; out++) {
        struct event_type e;
        int code = -1, i = whole->index;
        memset(&e, 0, sizeof e);
        e.name_len = sizeof e.name;
        e.desc_len = sizeof e.desc;
        TRY("ET-25", code = MPI_T_event_get_info(i, out == 0 ? NULL : e.name, out == 1 ? NULL : &e.name_len,
                out == 2 ? NULL : &e.verbosity, NULL, NULL, NULL, out == 3 ? NULL : &e.names, NULL,
                out == 4 ? NULL : e.desc, out == 5 ? NULL : &e.desc_len, out == 6 ? NULL : &e.bind),
            "a NULL OUT argument is ignored and the others are returned",
            CHECKF("ET-25", code == MPI_SUCCESS && (out == 2 || e.verbosity == whole->verbosity)
                   && (out == 6 || e.bind == whole->bind) && (out == 3 || e.names == whole->names)
                   && (out <= 1 || !strcmp(e.name, whole->name)),
                   "a NULL OUT argument is ignored and the others are returned", "%s, parameter %d: %s", whole->name,
                   out, code_name(code)));
    }
}

static void check_event(int i)
{
    struct event_type e, again;
    int index = -5, code = -1;
    TRY("ET-26", code = event_query(i, &e), "every index from 0 to N-1 names an event type",
        CHECKF("ET-26", code == MPI_SUCCESS, "every index from 0 to N-1 names an event type", "%d: %s", i,
               code_name(code)));
    if (code != MPI_SUCCESS)
        return;
    CHECKF("ET-27", e.name_len >= 2 && strlen(e.name) >= 1, "the name has at least one character", "%d", i);
    CHECKF("ET-28", is_verbosity(e.verbosity), "verbosity is one of the nine levels", "%s: %d", e.name, e.verbosity);
    CHECKF("ET-29", e.desc[0] || e.desc_len == 1, "no description is an empty one with desc_len 1", "%s", e.name);
    CHECKF("ET-30", is_bind(e.bind), "bind is one of the constants", "%s: %d", e.name, e.bind);
    event_query(i, &again);
    CHECKF("ET-33", !memcmp(&e, &again, sizeof e), "get_info gives the same information again", "%s", e.name);
    code = MPI_T_event_get_index(e.name, &index);
    CHECKF("ET-34", code == MPI_SUCCESS && index == i, "get_index finds an event type by its unique name",
           "%s: %s, %d instead of %d", e.name, code_name(code), index, i);
    check_elements(&e);
    check_truncation(&e);
    check_event_nulls(&e);
}

static void check_misuse(int sources, int events)
{
    const int wrong_source[] = { -1, INT_MIN, INT_MAX, sources }, wrong_event[] = { -1, INT_MIN, INT_MAX, events };
    struct event_type e;
    MPI_Count stamp;
    int index;
    for (int i = 0; i < 4; i++) {
        int source = wrong_source[i];
        CHECK_RC("ET-35", MPI_T_source_get_timestamp(source, &stamp), MPI_T_ERR_INVALID_INDEX,
                 "an invalid source index is MPI_T_ERR_INVALID_INDEX");
        CHECK_RC("ET-35", MPI_T_source_get_info(source, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                 MPI_T_ERR_INVALID_INDEX, "an invalid source index is MPI_T_ERR_INVALID_INDEX");
        CHECK_RC("ET-36", event_query(wrong_event[i], &e), MPI_T_ERR_INVALID_INDEX,
                 "an invalid event type index is MPI_T_ERR_INVALID_INDEX");
    }
    CHECK_RC("ET-37", MPI_T_event_get_index("no such event", &index), MPI_T_ERR_INVALID_NAME,
             "an unknown name is MPI_T_ERR_INVALID_NAME");
    CHECK_REFUSED("ET-38", MPI_T_event_get_index(NULL, &index), "a NULL name is rejected and not dereferenced");
    TRY("ET-39", MPI_T_event_get_num(NULL), "a NULL num_events is harmless",
        CHECK("ET-39", 1, "a NULL num_events is harmless"));
    TRY("ET-39", MPI_T_source_get_num(NULL), "a NULL num_sources is harmless",
        CHECK("ET-39", 1, "a NULL num_events is harmless"));
}

static void check_categories(int events)
{
    int n = 0, found = 0;
    MPI_T_category_get_num(&n);
    for (int c = 0; c < n; c++) {
        int count = -1, *members, code = MPI_T_category_get_num_events(c, &count);
        CHECKF("ET-31", code == MPI_SUCCESS && count >= 0, "a category returns its number of event types", "%d: %s", c,
               code_name(code));
        if (count <= 0)
            continue;
        members = malloc((size_t) count * sizeof *members);
        code = MPI_T_category_get_events(c, count, members);
        for (int i = 0; i < count; i++)
            found += code == MPI_SUCCESS && members[i] >= 0 && members[i] < events;
        free(members);
    }
    CHECKF("ET-32", found >= events && events > 0, "every event type of the layer is in a category", "%d of %d", found,
           events);
}

static void each(void)
{
    int sources = -1, events = -1, code;
    if (!events_here("ET-40"))
        return;
    code = MPI_T_source_get_num(&sources);
    CHECKF("ET-1", code == MPI_SUCCESS && sources > 0, "there are event sources", "%s, %d", code_name(code), sources);
    code = MPI_T_event_get_num(&events);
    CHECKF("ET-41", code == MPI_SUCCESS && events > 0, "there are event types", "%s, %d", code_name(code), events);
    for (int i = 0; i < sources; i++) {
        check_source(i);
        check_source_nulls(i);
    }
    for (int i = 0; i < events; i++)
        check_event(i);
    check_infos(sources, events);
    check_misuse(sources, events);
    check_categories(events);
}

#define KNOWN 1024

static void check_stable(void)
{
    static char names[KNOWN][64];
    static int known, known_sources;
    int n = event_count(), sources = 0;
    MPI_T_source_get_num(&sources);
    CHECKF("ET-42", n >= known && sources >= known_sources, "event types and sources are never removed", "%d, then %d", known, n);
    for (int i = 0; i < n && i < KNOWN; i++) {
        struct event_type e;
        event_query(i, &e);
        if (i < known)
            CHECKF("ET-43", !strncmp(names[i], e.name, 63), "an index keeps its event type", "%d: %s, then %s", i,
                   names[i], e.name);
        strncpy(names[i], e.name, 63);
    }
    known = n < KNOWN ? n : KNOWN;
    known_sources = sources;
}

static void check_documented(void)
{
    const char *const set[] = { EVENT_SEND, EVENT_RECEIVED };
    struct event_type e;
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++)
        if (CHECKF("ET-44", event_find(set[i], &e), "the documented event types exist, even before MPI_Init", "%s",
                   set[i]))
            CHECKF("ET-45", element_named(&e, ELEMENT_TAG) >= 0 && element_named(&e, ELEMENT_BYTES) >= 0,
                   "elements are named by the enumeration", "%s", set[i]);
}

static void check_ranks(void)
{
    int n = event_count();
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        struct { char name[NAME_MAX_LENGTH]; int numbers[3 + ELEMENTS]; } first, mine;
        struct event_type e;
        int index;
        memset(&first, 0, sizeof first);
        if (conform_rank == 0 && event_query(i, &e) == MPI_SUCCESS) {
            memcpy(first.name, e.name, sizeof first.name);
            first.numbers[0] = e.verbosity, first.numbers[1] = e.bind, first.numbers[2] = e.elements;
            for (int k = 0; k < e.elements; k++)
                first.numbers[3 + k] = (int) type_size(e.types[k]);
        }
        MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (MPI_T_event_get_index(first.name, &index) != MPI_SUCCESS || event_query(index, &e) != MPI_SUCCESS)
            continue;
        memset(&mine, 0, sizeof mine);
        memcpy(mine.name, e.name, sizeof mine.name);
        mine.numbers[0] = e.verbosity, mine.numbers[1] = e.bind, mine.numbers[2] = e.elements;
        for (int k = 0; k < e.elements; k++)
            mine.numbers[3 + k] = (int) type_size(e.types[k]);
        CHECKF("ET-46", !memcmp(&mine, &first, sizeof first), "an event type of the same name is the same on every rank",
               "%s", first.name);
    }
}

static void alone(void)
{
    if (!events_here("ET-40"))
        return;
    check_stable();
    check_documented();
    if (conform_phase == BETWEEN && conform_size > 1)
        check_ranks();
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_types", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
