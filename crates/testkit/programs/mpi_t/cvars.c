/* Control variables: queries, handles, reading and writing by scope, validation. */
#include "tinfo.h"

#define ROOM (1 << 16)

static int is_scope(int value)
{
    static const int all[] = {
        MPI_T_SCOPE_CONSTANT, MPI_T_SCOPE_READONLY, MPI_T_SCOPE_LOCAL, MPI_T_SCOPE_GROUP, MPI_T_SCOPE_GROUP_EQ,
        MPI_T_SCOPE_ALL, MPI_T_SCOPE_ALL_EQ,
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i] == value)
            return 1;
    return 0;
}

static int same(const struct cvar *a, const struct cvar *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->desc, b->desc) && a->verbosity == b->verbosity
        && a->type == b->type && a->names == b->names && a->bind == b->bind && a->scope == b->scope;
}

static void check_one(const struct cvar *c)
{
    struct cvar again;
    int index = -5, code;
    CHECKF("CV-1", c->name_len >= 2 && strlen(c->name) >= 1, "the name has at least one character", "variable %d",
           c->index);
    CHECKF("CV-2", is_verbosity(c->verbosity), "verbosity is one of the nine levels", "%s: %d", c->name, c->verbosity);
    CHECKF("CV-3", type_size(c->type) != 0, "the datatype is one of those the interface may use", "%s", c->name);
    CHECKF("CV-4", c->names == MPI_T_ENUM_NULL || c->type == MPI_INT,
           "only a variable of type MPI_INT has an enumeration", "%s", c->name);
    CHECKF("CV-5", c->desc[0] != '\0' || c->desc_len == 1, "no description is an empty one with desc_len 1",
           "%s: desc_len %d", c->name, c->desc_len);
    CHECKF("CV-6", is_bind(c->bind), "bind is one of the constants", "%s: %d", c->name, c->bind);
    CHECKF("CV-7", is_scope(c->scope), "scope is one of the seven", "%s: %d", c->name, c->scope);
    cvar_query(c->index, &again);
    CHECKF("CV-8", same(c, &again), "get_info gives the same information again", "%s", c->name);
    code = MPI_T_cvar_get_index(c->name, &index);
    CHECKF("CV-9", code == MPI_SUCCESS && index == c->index, "get_index finds a variable by its unique name",
           "%s: %s, %d instead of %d", c->name, code_name(code), index, c->index);
}

static void check_null(const struct cvar *whole)
{
    for (int out = 0; out < 9; out++) {
        struct cvar c;
        int code = -1, i = whole->index;
        memset(&c, 0, sizeof c);
        c.name_len = sizeof c.name;
        c.desc_len = sizeof c.desc;
        TRY("CV-10", code = MPI_T_cvar_get_info(i, out == 0 ? NULL : c.name, out == 1 ? NULL : &c.name_len,
                out == 2 ? NULL : &c.verbosity, out == 3 ? NULL : &c.type, out == 4 ? NULL : &c.names,
                out == 5 ? NULL : c.desc, out == 6 ? NULL : &c.desc_len, out == 7 ? NULL : &c.bind,
                out == 8 ? NULL : &c.scope), "a NULL OUT parameter is ignored and the others are returned",
            CHECKF("CV-10", code == MPI_SUCCESS && (out == 2 || c.verbosity == whole->verbosity)
                   && (out == 3 || c.type == whole->type) && (out == 7 || c.bind == whole->bind)
                   && (out == 8 || c.scope == whole->scope) && (out <= 1 || !strcmp(c.name, whole->name)),
                   "a NULL OUT parameter is ignored and the others are returned", "%s, parameter %d: %s", whole->name,
                   out, code_name(code)));
    }
}

/* Writing back the value that was read changes nothing, so it is safe for any variable. */
static void check_write(const struct cvar *c, MPI_T_cvar_handle handle, void *value, size_t bytes)
{
    unsigned char *after = malloc(bytes + CANARY_BYTES);
    int code = MPI_T_cvar_write(handle, value);
    if (c->scope == MPI_T_SCOPE_CONSTANT || c->scope == MPI_T_SCOPE_READONLY)
        CHECKF("CV-11", code == MPI_T_ERR_CVAR_SET_NEVER, "a constant or read-only variable can never be set",
               "%s: %s", c->name, code_name(code));
    else
        CHECKF("CV-12", code == MPI_SUCCESS || code == MPI_T_ERR_CVAR_SET_NOT_NOW,
               "a variable with a writable scope is set, or cannot be set now", "%s: %s",
               c->name, code_name(code));
    if (code == MPI_SUCCESS && MPI_T_cvar_read(handle, after) == MPI_SUCCESS)
        CHECKF("CV-13", c->type == MPI_CHAR ? !strcmp(value, (char *) after) : !memcmp(value, after, bytes),
               "a read returns the written value", "%s", c->name);
    free(after);
}

static void check_handle(const struct cvar *c, void *object)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL, old;
    unsigned char *value;
    size_t bytes;
    int count = -1, code = MPI_T_cvar_handle_alloc(c->index, object, &handle, &count), intact = 1;
    if (code != MPI_SUCCESS && !is_own(c->name))
        return;
    if (!CHECKF("CV-14", code == MPI_SUCCESS && handle != MPI_T_CVAR_HANDLE_NULL && count >= 1,
                "a handle is allocated for every variable", "%s: %s, count %d", c->name, code_name(code), count))
        return;
    bytes = (size_t) count * (type_size(c->type) ? type_size(c->type) : 16);
    value = malloc(bytes + CANARY_BYTES);
    memset(value, 0, bytes);
    memset(value + bytes, CANARY, CANARY_BYTES);
    code = -1;
    TRY("CV-15", code = MPI_T_cvar_read(handle, value), "a variable is read",
        CHECKF("CV-15", code == MPI_SUCCESS || !is_own(c->name), "a variable is read", "%s: %s", c->name, code_name(code)));
    for (int i = 0; i < CANARY_BYTES; i++)
        intact &= value[bytes + (size_t) i] == CANARY;
    CHECKF("CV-16", intact, "a read writes count elements and no more", "%s: count %d", c->name, count);
    if (c->type == MPI_CHAR && code == MPI_SUCCESS)
        CHECKF("CV-17", memchr(value, 0, bytes), "a string ends within its count", "%s", c->name);
    /* Other threads would see what this one writes. */
    if (code == MPI_SUCCESS && conform_thread == 0)
        check_write(c, handle, value, bytes);
    CHECK_REFUSED("CV-18", MPI_T_cvar_read(handle, NULL), "a NULL buffer is rejected and not dereferenced");
    CHECK_REFUSED("CV-18", MPI_T_cvar_write(handle, NULL), "a NULL buffer is rejected and not dereferenced");
    old = handle;
    code = MPI_T_cvar_handle_free(&handle);
    CHECKF("CV-19", code == MPI_SUCCESS && handle == MPI_T_CVAR_HANDLE_NULL,
           "freeing sets the handle to MPI_T_CVAR_HANDLE_NULL", "%s: %s", c->name, code_name(code));
    CHECK_RC("CV-20", MPI_T_cvar_read(old, value), MPI_T_ERR_INVALID_HANDLE,
             "a freed handle is MPI_T_ERR_INVALID_HANDLE");
    free(value);
}

static void check_misuse(void)
{
    static const int wrong[] = { -1, INT_MIN, INT_MAX, 1000000 };
    static __thread unsigned char buffer[ROOM];
    struct cvar c;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count, index, n = cvar_count();
    const char *range = "an index out of range is MPI_T_ERR_INVALID_INDEX";
    const char *none = "an invalid handle is MPI_T_ERR_INVALID_HANDLE, and no pointer is dereferenced";
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_RC("CV-21", cvar_query(wrong[i], &c), MPI_T_ERR_INVALID_INDEX, range);
        CHECK_RC("CV-21", MPI_T_cvar_handle_alloc(wrong[i], NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX, range);
    }
    CHECK_RC("CV-21", cvar_query(n, &c), MPI_T_ERR_INVALID_INDEX, range);
    CHECK_RC("CV-22", MPI_T_cvar_get_index("no such variable", &index), MPI_T_ERR_INVALID_NAME,
             "an unknown name is MPI_T_ERR_INVALID_NAME");
    CHECK_REFUSED("CV-23", MPI_T_cvar_get_index(NULL, &index), "a NULL name is rejected and not dereferenced");
    CHECK_REFUSED("CV-23", MPI_T_cvar_get_index("mpiscope", NULL), "a NULL name is rejected and not dereferenced");
    CHECK_RC("CV-24", MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, buffer), MPI_T_ERR_INVALID_HANDLE, none);
    CHECK_RC("CV-24", MPI_T_cvar_write(MPI_T_CVAR_HANDLE_NULL, buffer), MPI_T_ERR_INVALID_HANDLE, none);
    CHECK_RC("CV-24", MPI_T_cvar_handle_free(&handle), MPI_T_ERR_INVALID_HANDLE, none);
    CHECK_REFUSED("CV-25", MPI_T_cvar_handle_free(NULL), "a NULL pointer to a handle is rejected");
    CHECK_REFUSED("CV-26", MPI_T_cvar_handle_alloc(0, NULL, NULL, &count), "a NULL pointer to a handle is rejected");
    for (int i = 0; i < FOREIGN; i++) {
        MPI_T_cvar_handle h = (MPI_T_cvar_handle) foreign(i);
        CHECK_RC("CV-24", MPI_T_cvar_read(h, buffer), MPI_T_ERR_INVALID_HANDLE, none);
        CHECK_RC("CV-24", MPI_T_cvar_write(h, buffer), MPI_T_ERR_INVALID_HANDLE, none);
        CHECK_RC("CV-24", MPI_T_cvar_handle_free(&h), MPI_T_ERR_INVALID_HANDLE, none);
    }
}

static void each(void)
{
    int n = -1, code = MPI_T_cvar_get_num(&n);
    CHECKF("CV-27", code == MPI_SUCCESS && n >= 0, "get_num returns the number of variables", "%s, %d",
           code_name(code), n);
    for (int i = 0; i < n; i++) {
        struct cvar c;
        int usable;
        void *object;
        code = -1;
        TRY("CV-28", code = cvar_query(i, &c), "every index from 0 to N-1 names a variable",
            CHECKF("CV-28", code == MPI_SUCCESS, "every index from 0 to N-1 names a variable", "index %d: %s", i,
                   code_name(code)));
        if (code != MPI_SUCCESS)
            continue;
        check_one(&c);
        if (i < 50)
            check_null(&c);
        object = object_of(c.bind, &usable);
        if (usable)
            check_handle(&c, object);
    }
    check_misuse();
}

/* The library's variables come after ours and keep their indices. */
static void check_stable(void)
{
    static char (*names)[64];
    static int known;
    int n = cvar_count();
    CHECKF("CV-29", n >= known, "a variable is never removed", "%d, then %d", known, n);
    names = realloc(names, (size_t) (n + 1) * sizeof *names);
    for (int i = 0; i < n; i++) {
        struct cvar c;
        if (cvar_query(i, &c) != MPI_SUCCESS)
            c.name[0] = '\0';
        if (i < known)
            CHECKF("CV-30", !strncmp(names[i], c.name, 63), "an index keeps its variable, even across finalization",
                   "%d: %s, then %s", i, names[i], c.name);
        strncpy(names[i], c.name, 63);
        names[i][63] = '\0';
    }
    known = n;
}

/* Our own variables: some can be written, and a value that makes no sense is refused. */
static void check_own(void)
{
    int own = 0, writable = 0, enumerated = 0;
    for (int i = 0, n = cvar_count(); i < n; i++) {
        struct cvar c;
        MPI_T_cvar_handle handle;
        int count, wrong = 0x7ffffff1, value, code;
        if (cvar_query(i, &c) != MPI_SUCCESS || strncmp(c.name, "mpiscope", 8))
            continue;
        own++;
        CHECKF("CV-31", strstr(c.desc, "MPISCOPE_") || c.scope == MPI_T_SCOPE_CONSTANT
               || c.scope == MPI_T_SCOPE_READONLY,
               "the description names the corresponding environment variable", "%s", c.name);
        if (c.scope == MPI_T_SCOPE_CONSTANT || c.scope == MPI_T_SCOPE_READONLY
            || MPI_T_cvar_handle_alloc(i, NULL, &handle, &count) != MPI_SUCCESS)
            continue;
        writable++;
        if (c.names != MPI_T_ENUM_NULL && count == 1 && MPI_T_cvar_read(handle, &value) == MPI_SUCCESS) {
            enumerated++;
            code = MPI_T_cvar_write(handle, &wrong);
            CHECKF("CV-32", code != MPI_SUCCESS, "a value that is not in the enumeration is rejected", "%s", c.name);
            code = value;
            MPI_T_cvar_read(handle, &value);
            CHECKF("CV-33", value == code, "a rejected value changes nothing", "%s: %d, then %d", c.name, code, value);
        }
        MPI_T_cvar_handle_free(&handle);
    }
    CHECK("CV-34", own > 0, "the layer has its own control variables");
    CHECK("CV-35", writable > 0, "some of the layer's control variables can be written");
    if (!enumerated)
        skip("CV-32", "no writable variable of the layer has an enumeration");
}

static void check_ranks(void)
{
    int n = cvar_count(), limit;
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    limit = n < 400 ? n : 400;
    for (int i = 0; i < limit; i++) {
        struct { char name[NAME_MAX_LENGTH]; int numbers[5]; } first;
        struct cvar c;
        int index;
        memset(&first, 0, sizeof first);
        if (conform_rank == 0 && cvar_query(i, &c) == MPI_SUCCESS) {
            int numbers[5] = { c.verbosity, c.bind, c.scope, (int) type_size(c.type), c.names != MPI_T_ENUM_NULL };
            memcpy(first.name, c.name, sizeof first.name);
            memcpy(first.numbers, numbers, sizeof numbers);
        }
        MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (first.name[0] && MPI_T_cvar_get_index(first.name, &index) == MPI_SUCCESS && !cvar_query(index, &c)) {
            int numbers[5] = { c.verbosity, c.bind, c.scope, (int) type_size(c.type), c.names != MPI_T_ENUM_NULL };
            CHECKF("CV-36", !memcmp(numbers, first.numbers, sizeof numbers),
                   "a variable of the same name is the same on every rank", "%s", first.name);
        }
    }
}

static void alone(void)
{
    objects_make();
    check_stable();
    check_own();
    if (conform_phase == BETWEEN && conform_size > 1)
        check_ranks();
}

int main(int argc, char **argv)
{
    static const struct group group = { "cvars", each, alone, objects_free };
    return conform_main(argc, argv, &group);
}
