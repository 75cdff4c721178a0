/* Performance variables: count, MPI_T_pvar_get_info, MPI_T_pvar_get_index, classes, the documented set. */
#include "tinfo.h"

#define SEEN 4096
/* Names and classes as they were in the first phase that saw an index. */
static struct { char name[64]; int class; } seen[SEEN];
static int seen_count;

static int type_fits_class(const struct pvar *p)
{
    if (p->class == MPI_T_PVAR_CLASS_STATE)
        return p->type == MPI_INT;
    if (p->class == MPI_T_PVAR_CLASS_PERCENTAGE)
        return p->type == MPI_DOUBLE;
    if (p->class == MPI_T_PVAR_CLASS_COUNTER)
        return is_unsigned(p->type);
    if (p->class == MPI_T_PVAR_CLASS_GENERIC)
        return type_size(p->type) != 0;
    /* The specification's example tool asserts that this level is an MPI_INT. */
    if (!strcmp(p->name, "MPI_T_UMQ_LENGTH"))
        return p->type == MPI_INT;
    return is_unsigned(p->type) || p->type == MPI_DOUBLE;
}

static void check_one(const struct pvar *p)
{
    CHECKF("PV-8", p->name_len >= 2 && strlen(p->name) >= 1, "the name has at least one character", "variable %d",
           p->index);
    CHECKF("PV-9", is_verbosity(p->verbosity), "verbosity is one of the nine levels", "%s: %d", p->name, p->verbosity);
    CHECKF("PV-1", is_class(p->class), "the class is one of the ten", "%s: %d", p->name, p->class);
    CHECKF("PV-11", type_size(p->type) != 0, "the datatype is one of those the interface may use", "%s", p->name);
    CHECKF("PV-2", type_fits_class(p), "the datatype is one of those of the class", "%s", p->name);
    CHECKF("PV-12", p->names == MPI_T_ENUM_NULL || p->type == MPI_INT,
           "only a variable of type MPI_INT has an enumeration", "%s", p->name);
    CHECKF("PV-14", p->desc[0] != '\0' || p->desc_len == 1, "no description is an empty one with desc_len 1",
           "%s: desc_len %d", p->name, p->desc_len);
    CHECKF("PV-15", is_bind(p->bind), "bind is one of the constants", "%s: %d", p->name, p->bind);
    CHECKF("PV-16", p->readonly == 0 || p->readonly == 1, "readonly is 0 or 1", "%s: %d", p->name, p->readonly);
    CHECKF("PV-17", p->continuous == 0 || p->continuous == 1, "continuous is 0 or 1", "%s: %d", p->name,
           p->continuous);
    CHECKF("PV-18", p->atomic == 0 || p->atomic == 1, "atomic is 0 or 1", "%s: %d", p->name, p->atomic);
}

static int same(const struct pvar *a, const struct pvar *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->desc, b->desc) && a->name_len == b->name_len
        && a->desc_len == b->desc_len && a->verbosity == b->verbosity && a->class == b->class && a->type == b->type
        && a->names == b->names && a->bind == b->bind && a->readonly == b->readonly
        && a->continuous == b->continuous && a->atomic == b->atomic;
}

/* Each parameter alone is NULL; the others are still filled. */
static void check_null(const struct pvar *whole)
{
    for (int out = 0; out < 12; out++) {
        struct pvar p;
        int code = -1, i = whole->index;
        memset(&p, 0, sizeof p);
        p.name_len = sizeof p.name;
        p.desc_len = sizeof p.desc;
        TRY("PV-7", code = MPI_T_pvar_get_info(i, out == 0 ? NULL : p.name, out == 1 ? NULL : &p.name_len,
                out == 2 ? NULL : &p.verbosity, out == 3 ? NULL : &p.class, out == 4 ? NULL : &p.type,
                out == 5 ? NULL : &p.names, out == 6 ? NULL : p.desc, out == 7 ? NULL : &p.desc_len,
                out == 8 ? NULL : &p.bind, out == 9 ? NULL : &p.readonly, out == 10 ? NULL : &p.continuous,
                out == 11 ? NULL : &p.atomic), "a NULL OUT parameter is ignored and the others are returned",
            CHECKF("PV-7", code == MPI_SUCCESS && (out == 2 || p.verbosity == whole->verbosity)
                   && (out == 3 || p.class == whole->class) && (out == 4 || p.type == whole->type)
                   && (out == 8 || p.bind == whole->bind) && (out == 9 || p.readonly == whole->readonly)
                   && (out == 10 || p.continuous == whole->continuous) && (out == 11 || p.atomic == whole->atomic)
                   && (out <= 1 || !strcmp(p.name, whole->name)) && (out == 6 || out == 7
                   || !strcmp(p.desc, whole->desc)),
                   "a NULL OUT parameter is ignored and the others are returned", "%s, parameter %d: %s", whole->name,
                   out, code_name(code)));
    }
}

static void check_lookup(const struct pvar *p)
{
    int index = -5, code = MPI_T_pvar_get_index(p->name, p->class, &index);
    CHECKF("PV-20", code == MPI_SUCCESS && index == p->index, "get_index finds a variable by name and class",
           "%s: %s, %d instead of %d", p->name, code_name(code), index, p->index);
    for (int i = 0; i < CLASSES; i++) {
        struct pvar other;
        if (classes[i].value == p->class)
            continue;
        index = -5;
        code = MPI_T_pvar_get_index(p->name, classes[i].value, &index);
        CHECKF("PV-22", code == MPI_T_ERR_INVALID_NAME || (code == MPI_SUCCESS && pvar_query(index, &other) == 0
               && !strcmp(other.name, p->name) && other.class == classes[i].value),
               "a known name with a class that it does not have is MPI_T_ERR_INVALID_NAME", "%s as %s: %s", p->name,
               classes[i].name, code_name(code));
    }
}

/* Queries of all indices, in every thread. */
static void each(void)
{
    int n = -1, code = MPI_T_pvar_get_num(&n);
    CHECKF("PV-3", code == MPI_SUCCESS && n >= 0, "get_num returns the number of variables", "%s, %d", code_name(code),
           n);
    for (int i = 0; i < n; i++) {
        struct pvar p, again;
        code = -1;
        TRY("PV-4", code = pvar_query(i, &p), "every index from 0 to N-1 names a variable",
            CHECKF("PV-4", code == MPI_SUCCESS, "every index from 0 to N-1 names a variable", "index %d: %s", i,
                   code_name(code)));
        if (code != MPI_SUCCESS)
            continue;
        check_one(&p);
        pvar_query(i, &again);
        CHECKF("PV-6", same(&p, &again), "get_info gives the same information again", "%s", p.name);
        check_null(&p);
        check_lookup(&p);
    }
}

static void check_index_errors(void)
{
    static const int wrong[] = { -1, -1000, INT_MIN, INT_MAX, 1000000 };
    int n = pvar_count(), index = -5, ignored;
    struct pvar p;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK_RC("PV-23", pvar_query(wrong[i], &p), MPI_T_ERR_INVALID_INDEX,
                 "an index out of range is MPI_T_ERR_INVALID_INDEX");
    for (int i = 0; i < 3; i++)
        CHECK_RC("PV-23", pvar_query(n + i, &p), MPI_T_ERR_INVALID_INDEX,
                 "an index out of range is MPI_T_ERR_INVALID_INDEX");
    CHECK_RC("PV-21", MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &index),
             MPI_T_ERR_INVALID_NAME, "an unknown name is MPI_T_ERR_INVALID_NAME");
    CHECK_RC("PV-21", MPI_T_pvar_get_index("", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_T_ERR_INVALID_NAME,
             "an unknown name is MPI_T_ERR_INVALID_NAME");
    CHECK_RC("PV-21", MPI_T_pvar_get_index("mpiscope_calls", -99, &index), MPI_T_ERR_INVALID_NAME,
             "an unknown name is MPI_T_ERR_INVALID_NAME");
    CHECK_REFUSED("PV-26", MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &index),
                  "a NULL name is rejected and not dereferenced");
    CHECK_REFUSED("PV-27", MPI_T_pvar_get_index("mpiscope_calls", MPI_T_PVAR_CLASS_COUNTER, NULL),
                  "a NULL pvar_index is rejected and not dereferenced");
    TRY("PV-28", ignored = MPI_T_pvar_get_num(NULL), "a NULL num_pvar is harmless",
        CHECKF("PV-28", 1, "a NULL num_pvar is harmless", "%d", ignored));
}

/* Names with their classes are unique, and the meaning of an index never changes. */
static void check_stable(void)
{
    int n = pvar_count();
    CHECKF("PV-5", n >= seen_count, "a variable is never removed", "%d, then %d", seen_count, n);
    for (int i = 0; i < n && i < SEEN; i++) {
        struct pvar p;
        int known = i < seen_count;
        if (pvar_query(i, &p) != MPI_SUCCESS)
            p.name[0] = '\0';
        if (known)
            CHECKF("PV-29", !strncmp(seen[i].name, p.name, sizeof seen[i].name - 1) && seen[i].class == p.class,
                   "an index keeps its variable, even across initialization and finalization", "%d: %s, then %s", i,
                   seen[i].name, p.name);
        strncpy(seen[i].name, p.name, sizeof seen[i].name - 1);
        seen[i].class = p.class;
        for (int j = 0; j < i && !known; j++)
            CHECKF("PV-10", strcmp(seen[j].name, seen[i].name) || seen[j].class != seen[i].class || !p.name[0],
                   "name and class together are unique", "%d and %d: %s", j, i, p.name);
        for (int j = 0; j < i && !known && !strncmp(p.name, "mpiscope", 8); j++)
            CHECKF("PV-34", strcmp(seen[j].name, seen[i].name), "no two variables have the same name, whatever their classes",
                   "%d and %d: %s", j, i, p.name);
    }
    seen_count = n < SEEN ? n : SEEN;
}

/* The output of a tool that prints each element of all variables up to the first bound one stays short; long arrays are for
   tools that read everything. */
static void check_short(void)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    struct pvar p;
    int lines = 0, many;
    MPI_T_pvar_session_create(&session);
    for (int i = 0, all = 1, n = pvar_count(); i < n; i++) {
        if (pvar_query(i, &p) != MPI_SUCCESS || strncmp(p.name, "mpiscope", 8))
            continue;
        if (MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &many) != MPI_SUCCESS) {
            all = 0;
            continue;
        }
        lines += all ? many : 0;
        CHECKF("PV-35", many <= 16 || p.verbosity == MPI_T_VERBOSITY_USER_ALL || p.type == MPI_CHAR,
               "long arrays have the highest verbosity", "%s: %d elements", p.name, many);
    }
    CHECKF("PV-36", lines > 20 && lines <= 100, "all elements of the variables before the first bound one fill a screen or two",
           "%d", lines);
    MPI_T_pvar_session_free(&session);
}

static void check_classes(void)
{
    for (int c = 0; c < CLASSES; c++) {
        int found = 0;
        struct pvar p;
        for (int i = 0, n = pvar_count(); i < n && !found; i++)
            found = pvar_query(i, &p) == MPI_SUCCESS && p.class == classes[c].value;
        CHECKF("PV-24", found, "each of the ten classes has a variable", "%s", classes[c].name);
    }
}

#define ULL MPI_UNSIGNED_LONG_LONG
#define ANY MPI_DATATYPE_NULL

static void check_documented(void)
{
    const struct { const char *name; int class, bind; MPI_Datatype type; } set[] = {
        { "MPI_T_UMQ_LENGTH", MPI_T_PVAR_CLASS_LEVEL, MPI_T_BIND_MPI_COMM, MPI_INT },
        { "mpiscope_unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, MPI_T_BIND_MPI_COMM, MPI_UNSIGNED },
        { "mpiscope_calls", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ULL },
        { "mpiscope_time", MPI_T_PVAR_CLASS_TIMER, MPI_T_BIND_NO_OBJECT, MPI_DOUBLE },
        { "mpiscope_calls_total", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_time_total", MPI_T_PVAR_CLASS_TIMER, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_messages_sent", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_MPI_COMM, ULL },
        { "mpiscope_messages_received", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_MPI_COMM, ULL },
        { "mpiscope_bytes_sent", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_MPI_COMM, ULL },
        { "mpiscope_bytes_received", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_MPI_COMM, ULL },
        { "mpiscope_message_sizes_sent", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_message_sizes_received", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_messages_received_unsized", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_pending_requests", MPI_T_PVAR_CLASS_LEVEL, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_pending_requests_high", MPI_T_PVAR_CLASS_HIGHWATERMARK, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_pending_requests_low", MPI_T_PVAR_CLASS_LOWWATERMARK, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_posted_receives", MPI_T_PVAR_CLASS_LEVEL, -1, ANY },
        { "mpiscope_live_objects", MPI_T_PVAR_CLASS_LEVEL, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_live_objects_high", MPI_T_PVAR_CLASS_HIGHWATERMARK, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_state", MPI_T_PVAR_CLASS_STATE, MPI_T_BIND_NO_OBJECT, MPI_INT },
        { "mpiscope_mpi_share", MPI_T_PVAR_CLASS_PERCENTAGE, MPI_T_BIND_NO_OBJECT, MPI_DOUBLE },
        { "mpiscope_comm_size", MPI_T_PVAR_CLASS_SIZE, MPI_T_BIND_MPI_COMM, ANY },
        { "mpiscope_collectives", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_MPI_COMM, ANY },
        { "mpiscope_collective_wait", MPI_T_PVAR_CLASS_TIMER, MPI_T_BIND_MPI_COMM, MPI_DOUBLE },
        { "mpiscope_bytes", MPI_T_PVAR_CLASS_AGGREGATE, -1, ULL },
        { "mpiscope_bytes_out", MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_BIND_NO_OBJECT, ULL },
        { "mpiscope_bytes_in", MPI_T_PVAR_CLASS_AGGREGATE, MPI_T_BIND_NO_OBJECT, ULL },
        { "mpiscope_bytes_out_by_function", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ULL },
        { "mpiscope_bytes_in_by_function", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ULL },
        { "mpiscope_lost_records", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ANY },
        { "mpiscope_lost_by_kind", MPI_T_PVAR_CLASS_COUNTER, MPI_T_BIND_NO_OBJECT, ULL },
        { "mpiscope_version", MPI_T_PVAR_CLASS_GENERIC, MPI_T_BIND_NO_OBJECT, MPI_CHAR },
    };
    struct pvar p;
    for (size_t i = 0; i < sizeof set / sizeof set[0]; i++) {
        if (!CHECKF("PV-25", pvar_find(set[i].name, set[i].class, &p), "the documented variables exist, even before MPI_Init",
                    "%s", set[i].name))
            continue;
        CHECKF("PV-30", (set[i].bind == -1 || p.bind == set[i].bind) && (set[i].type == ANY || p.type == set[i].type),
               "the documented variables have their documented type and binding", "%s", set[i].name);
        CHECKF("PV-31", strlen(p.desc) >= 10, "the documented variables are described", "%s", set[i].name);
    }
    if (pvar_find("mpiscope_state", MPI_T_PVAR_CLASS_STATE, &p))
        CHECK("PV-32", p.names != MPI_T_ENUM_NULL, "the state has an enumeration of states");
}

/* The attributes that equal names share on all ranks, as one number. Constants are the same in all processes of a job. */
static unsigned long digest(const struct pvar *p)
{
    unsigned long hash = 5381;
    const char *texts[] = { p->name, p->desc };
    int numbers[] = { p->verbosity, p->class, p->bind, p->readonly, p->continuous, p->atomic,
                      (int) type_size(p->type), p->names != MPI_T_ENUM_NULL };
    for (int t = 0; t < 2; t++)
        for (const char *c = texts[t]; *c; c++)
            hash = hash * 33 + (unsigned char) *c;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash = hash * 33 + (unsigned) numbers[i];
    return hash;
}

static void check_ranks(void)
{
    int n = pvar_count();
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        struct { char name[NAME_MAX_LENGTH]; unsigned long digest; int class; } first;
        struct pvar p;
        memset(&first, 0, sizeof first);
        if (conform_rank == 0 && pvar_query(i, &p) == MPI_SUCCESS) {
            memcpy(first.name, p.name, sizeof first.name);
            first.digest = digest(&p);
            first.class = p.class;
        }
        MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (first.name[0] && pvar_find(first.name, first.class, &p))
            CHECKF("PV-19", digest(&p) == first.digest, "a variable of the same name and class is the same on every rank",
                   "%s", first.name);
    }
}

static void alone(void)
{
    check_index_errors();
    check_stable();
    check_classes();
    check_short();
    check_documented();
    if (conform_phase == BETWEEN && conform_size > 1)
        check_ranks();
}

int main(int argc, char **argv)
{
    static const struct group group = { "pvar_info", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
