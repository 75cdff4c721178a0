/* The convention for returning strings, tested on every function that returns one. */
#include "tinfo.h"

/* One string of one object: calls the function with this buffer and length. Other arguments are NULL. */
typedef int asker(int index, char *buffer, int *length);

static int ask_pvar_name(int i, char *b, int *l)
{
    return MPI_T_pvar_get_info(i, b, l, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}
static int ask_pvar_desc(int i, char *b, int *l)
{
    return MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, b, l, NULL, NULL, NULL, NULL);
}
static int ask_cvar_name(int i, char *b, int *l)
{
    return MPI_T_cvar_get_info(i, b, l, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}
static int ask_cvar_desc(int i, char *b, int *l)
{
    return MPI_T_cvar_get_info(i, NULL, NULL, NULL, NULL, NULL, b, l, NULL, NULL);
}
static int ask_category_name(int i, char *b, int *l)
{
    return MPI_T_category_get_info(i, b, l, NULL, NULL, NULL, NULL, NULL);
}
static int ask_category_desc(int i, char *b, int *l)
{
    return MPI_T_category_get_info(i, NULL, NULL, b, l, NULL, NULL, NULL);
}
static int ask_event_name(int i, char *b, int *l)
{
    return MPI_T_event_get_info(i, b, l, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}
static int ask_event_desc(int i, char *b, int *l)
{
    return MPI_T_event_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, b, l, NULL);
}
static int ask_source_name(int i, char *b, int *l)
{
    return MPI_T_source_get_info(i, b, l, NULL, NULL, NULL, NULL, NULL, NULL);
}
static int ask_source_desc(int i, char *b, int *l)
{
    return MPI_T_source_get_info(i, NULL, NULL, b, l, NULL, NULL, NULL, NULL);
}
static int ask_enum_name(int i, char *b, int *l)
{
    struct pvar p;
    int n, code = pvar_query(i, &p);
    return code == MPI_SUCCESS && p.names != MPI_T_ENUM_NULL ? MPI_T_enum_get_info(p.names, &n, b, l) : -1;
}
static int ask_item_name(int i, char *b, int *l)
{
    struct pvar p;
    int value, code = pvar_query(i, &p);
    return code == MPI_SUCCESS && p.names != MPI_T_ENUM_NULL ? MPI_T_enum_get_item(p.names, 0, &value, b, l) : -1;
}

static void check_string(const char *what, asker *ask, int index)
{
    static __thread char whole[DESC_MAX_LENGTH], part[DESC_MAX_LENGTH];
    int length = sizeof whole, asked, full, code;
    memset(whole, CANARY, sizeof whole);
    if (ask(index, whole, &length) != MPI_SUCCESS)
        return;
    if (!CHECKF("SR-1", memchr(whole, 0, sizeof whole), "a returned string ends with the null character", "%s %d",
                what, index))
        return;
    full = (int) strlen(whole) + 1;
    CHECKF("SR-2", length == full, "the returned length is that of the string plus one", "%s %d: %d for %d characters",
           what, index, length, full - 1);
    /* Every length around the edges: 1, 2, one short, exactly. */
    int lengths[] = { 1, 2, full / 2, full - 1, full, full + 1 };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        int n = lengths[i], kept;
        if (n < 1 || n >= (int) sizeof part - 1)
            continue;
        memset(part, CANARY, sizeof part);
        length = n;
        code = ask(index, part, &length);
        kept = n < full ? n - 1 : full - 1;
        CHECKF("SR-3", code == MPI_SUCCESS && !memcmp(part, whole, (size_t) kept) && part[kept] == '\0',
               "a buffer of n bytes gets at most n-1 characters and the null character", "%s %d, n %d: %s", what,
               index, n, code_name(code));
        CHECKF("SR-4", (unsigned char) part[n] == CANARY, "nothing is written beyond the buffer", "%s %d, n %d", what,
               index, n);
        CHECKF("SR-5", length == full, "a truncated string's full length plus one is returned", "%s %d, n %d: %d not %d",
               what, index, n, length, full);
    }
    asked = 0;
    memset(part, CANARY, sizeof part);
    code = ask(index, part, &asked);
    CHECKF("SR-6", code == MPI_SUCCESS && asked == full && (unsigned char) part[0] == CANARY,
           "length 0 returns the length and no string", "%s %d: %s, %d not %d", what, index, code_name(code),
           asked, full);
    asked = 10;
    code = -1;
    TRY("SR-7", code = ask(index, NULL, &asked), "a NULL buffer returns the length",
        CHECKF("SR-7", code == MPI_SUCCESS && asked == full, "a NULL buffer returns the length", "%s %d: %s, %d not %d",
               what, index, code_name(code), asked, full));
    memset(part, CANARY, sizeof part);
    code = -1;
    TRY("SR-8", code = ask(index, part, NULL), "with a NULL length the buffer is ignored",
        CHECKF("SR-8", code == MPI_SUCCESS && (unsigned char) part[0] == CANARY,
               "with a NULL length the buffer is ignored", "%s %d: %s", what, index, code_name(code)));
}

static void check_all(const char *what, asker *ask, int n)
{
    for (int i = 0; i < n && i < 300; i++)
        check_string(what, ask, i);
}

static void each(void)
{
    int categories = 0, events = 0, sources = 0;
    MPI_T_category_get_num(&categories);
    check_all("name of performance variable", ask_pvar_name, pvar_count());
    check_all("description of performance variable", ask_pvar_desc, pvar_count());
    check_all("enumeration of performance variable", ask_enum_name, pvar_count());
    check_all("item of the enumeration of performance variable", ask_item_name, pvar_count());
    check_all("name of control variable", ask_cvar_name, cvar_count());
    check_all("description of control variable", ask_cvar_desc, cvar_count());
    check_all("name of category", ask_category_name, categories);
    check_all("description of category", ask_category_desc, categories);
    if (!MPISCOPE_HAS(MPI_T_event_get_num)) {
        CHECK("SR-9", 0, "event types and sources have names");
        return;
    }
    MPI_T_event_get_num(&events);
    MPI_T_source_get_num(&sources);
    CHECK("SR-9", events > 0 && sources > 0, "event types and sources have names");
    check_all("name of event type", ask_event_name, events);
    check_all("description of event type", ask_event_desc, events);
    check_all("name of source", ask_source_name, sources);
    check_all("description of source", ask_source_desc, sources);
}

int main(int argc, char **argv)
{
    static const struct group group = { "strings", each, NULL, NULL };
    return conform_main(argc, argv, &group);
}
