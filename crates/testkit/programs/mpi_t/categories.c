/* Categories: queries, contents, the tree, and the update number. */
#include "tinfo.h"

#define CATEGORIES 4096
enum content { CVARS, PVARS, EVENTS, SUBS, CONTENTS };
static const char *const content_name[] = { "cvars", "pvars", "events", "categories" };

struct category {
    char name[NAME_MAX_LENGTH], desc[DESC_MAX_LENGTH];
    int name_len, desc_len, counts[CONTENTS];
};

static int category_count(void)
{
    int n = 0;
    MPI_T_category_get_num(&n);
    return n;
}

static int query(int index, struct category *c)
{
    int code;
    memset(c, 0, sizeof *c);
    c->name_len = sizeof c->name;
    c->desc_len = sizeof c->desc;
    code = MPI_T_category_get_info(index, c->name, &c->name_len, c->desc, &c->desc_len, &c->counts[CVARS],
                                   &c->counts[PVARS], &c->counts[SUBS]);
    if (code == MPI_SUCCESS && MPISCOPE_HAS(MPI_T_category_get_num_events))
        MPI_T_category_get_num_events(index, &c->counts[EVENTS]);
    return code;
}

static int fetch(enum content what, int index, int length, int *into)
{
    switch (what) {
    case CVARS: return MPI_T_category_get_cvars(index, length, into);
    case PVARS: return MPI_T_category_get_pvars(index, length, into);
    case SUBS: return MPI_T_category_get_categories(index, length, into);
    default: return MPISCOPE_HAS(MPI_T_category_get_events) ? MPI_T_category_get_events(index, length, into) : -1;
    }
}

static int is_index_of(enum content what, int index)
{
    struct pvar p;
    struct cvar c;
    struct category k;
    switch (what) {
    case CVARS: return cvar_query(index, &c) == MPI_SUCCESS;
    case PVARS: return pvar_query(index, &p) == MPI_SUCCESS;
    case SUBS: return query(index, &k) == MPI_SUCCESS;
    default: return MPI_T_event_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
        == MPI_SUCCESS;
    }
}

static void check_contents(int index, const struct category *c, enum content what)
{
    int n = c->counts[what], spare = 4, code, inside = 1, distinct = 1, untouched = 1;
    int *all, *again;
    if (!CHECKF("CA-1", n >= 0, "the number of members is not negative", "%s: %d %s", c->name, n, content_name[what]))
        return;
    all = malloc((size_t) (n + spare) * sizeof *all);
    again = malloc((size_t) (n + spare) * sizeof *again);
    for (int i = 0; i < n + spare; i++)
        all[i] = again[i] = -4711;
    code = fetch(what, index, n + spare, all);
    CHECKF("CA-2", code == MPI_SUCCESS, "the members of every category are returned", "%s, %s: %s", c->name,
           content_name[what], code_name(code));
    for (int i = n; i < n + spare; i++)
        untouched &= all[i] == -4711;
    CHECKF("CA-3", untouched, "array entries after the members are not modified", "%s, %s", c->name,
           content_name[what]);
    for (int i = 0; i < n && code == MPI_SUCCESS; i++) {
        inside &= is_index_of(what, all[i]);
        for (int j = 0; j < i && n < 2000; j++)
            distinct &= all[i] != all[j];
    }
    CHECKF("CA-4", inside, "the indices returned can be queried", "%s, %s", c->name, content_name[what]);
    CHECKF("CA-5", distinct, "a member is in a category only once", "%s, %s", c->name, content_name[what]);
    fetch(what, index, n + spare, again);
    CHECKF("CA-6", !memcmp(all, again, (size_t) n * sizeof *all), "the order of members does not change", "%s, %s",
           c->name, content_name[what]);
    if (n >= 2) {
        for (int i = 0; i < n + spare; i++)
            again[i] = -4711;
        code = fetch(what, index, n / 2, again);
        for (int i = n / 2; i < n + spare; i++)
            untouched &= again[i] == -4711;
        inside = 1;
        for (int i = 0; i < n / 2; i++) {
            int member = 0;
            for (int j = 0; j < n; j++)
                member |= again[i] == all[j];
            inside &= member;
        }
        CHECKF("CA-7", code == MPI_SUCCESS && untouched && inside,
               "a short array gets a subset and nothing is written beyond it", "%s, %s: %s", c->name,
               content_name[what], code_name(code));
    }
    code = -1;
    TRY("CA-8", code = fetch(what, index, 0, NULL), "a length of 0 needs no array",
        CHECKF("CA-8", code == MPI_SUCCESS, "a length of 0 needs no array", "%s, %s: %s", c->name, content_name[what],
               code_name(code)));
    free(all);
    free(again);
}

static void check_null(int index, const struct category *whole)
{
    for (int out = 0; out < 7; out++) {
        struct category c;
        int code = -1;
        memset(&c, 0, sizeof c);
        c.name_len = sizeof c.name;
        c.desc_len = sizeof c.desc;
        TRY("CA-9", code = MPI_T_category_get_info(index, out == 0 ? NULL : c.name, out == 1 ? NULL : &c.name_len,
                out == 2 ? NULL : c.desc, out == 3 ? NULL : &c.desc_len, out == 4 ? NULL : &c.counts[CVARS],
                out == 5 ? NULL : &c.counts[PVARS], out == 6 ? NULL : &c.counts[SUBS]),
            "a NULL OUT parameter is ignored and the others are returned",
            CHECKF("CA-9", code == MPI_SUCCESS && (out <= 1 || !strcmp(c.name, whole->name))
                   && (out == 4 || c.counts[CVARS] == whole->counts[CVARS])
                   && (out == 5 || c.counts[PVARS] == whole->counts[PVARS])
                   && (out == 6 || c.counts[SUBS] == whole->counts[SUBS]),
                   "a NULL OUT parameter is ignored and the others are returned", "%s, parameter %d: %s", whole->name,
                   out, code_name(code)));
    }
}

static void check_one(int index)
{
    struct category c;
    int found = -5, code = -1;
    TRY("CA-10", code = query(index, &c), "every index from 0 to N-1 names a category",
        CHECKF("CA-10", code == MPI_SUCCESS, "every index from 0 to N-1 names a category", "index %d: %s", index,
               code_name(code)));
    if (code != MPI_SUCCESS)
        return;
    CHECKF("CA-11", c.name_len >= 2 && strlen(c.name) >= 1, "the name has at least one character", "category %d",
           index);
    CHECKF("CA-12", c.desc[0] != '\0' || c.desc_len == 1, "no description is an empty one with desc_len 1",
           "%s: desc_len %d", c.name, c.desc_len);
    code = MPI_T_category_get_index(c.name, &found);
    CHECKF("CA-13", code == MPI_SUCCESS && found == index, "get_index finds a category by its unique name",
           "%s: %s, %d instead of %d", c.name, code_name(code), found, index);
    check_null(index, &c);
    check_contents(index, &c, CVARS);
    check_contents(index, &c, PVARS);
    check_contents(index, &c, SUBS);
    if (MPISCOPE_HAS(MPI_T_category_get_events))
        check_contents(index, &c, EVENTS);
}

static void check_misuse(void)
{
    const int wrong[] = { -1, INT_MIN, INT_MAX, 1000000, category_count() };
    const char *range = "an index out of range is MPI_T_ERR_INVALID_INDEX";
    int word[4], index;
    struct category c;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK_RC("CA-14", query(wrong[i], &c), MPI_T_ERR_INVALID_INDEX, range);
        CHECK_RC("CA-14", MPI_T_category_get_cvars(wrong[i], 4, word), MPI_T_ERR_INVALID_INDEX, range);
        CHECK_RC("CA-14", MPI_T_category_get_pvars(wrong[i], 4, word), MPI_T_ERR_INVALID_INDEX, range);
        CHECK_RC("CA-14", MPI_T_category_get_categories(wrong[i], 4, word), MPI_T_ERR_INVALID_INDEX, range);
        if (MPISCOPE_HAS(MPI_T_category_get_events)) {
            CHECK_RC("CA-14", MPI_T_category_get_events(wrong[i], 4, word), MPI_T_ERR_INVALID_INDEX, range);
            CHECK_RC("CA-14", MPI_T_category_get_num_events(wrong[i], &index), MPI_T_ERR_INVALID_INDEX, range);
        }
    }
    CHECK_RC("CA-15", MPI_T_category_get_index("no such category", &index), MPI_T_ERR_INVALID_NAME,
             "an unknown name is MPI_T_ERR_INVALID_NAME");
    CHECK_REFUSED("CA-16", MPI_T_category_get_index(NULL, &index), "a NULL name is rejected and not dereferenced");
    TRY("CA-17", MPI_T_category_get_num(NULL), "a NULL num_cat is harmless",
        CHECK("CA-17", 1, "a NULL num_cat is harmless"));
    TRY("CA-18", MPI_T_category_changed(NULL), "a NULL update_number is harmless",
        CHECK("CA-18", 1, "a NULL update_number is harmless"));
}

static void each(void)
{
    int n = -1, code = MPI_T_category_get_num(&n);
    CHECKF("CA-19", code == MPI_SUCCESS && n >= 0, "get_num returns the number of categories", "%s, %d",
           code_name(code), n);
    CHECK("CA-20", MPISCOPE_HAS(MPI_T_category_get_num_events) && MPISCOPE_HAS(MPI_T_category_get_events),
          "a category returns the number of its event types");
    for (int i = 0; i < n; i++)
        check_one(i);
    check_misuse();
}

/* Depth-first with colors: a gray category met again is a cycle. */
static char colour[CATEGORIES];

static int has_cycle(int index)
{
    struct category c;
    int found = 0, *subs;
    if (index < 0 || index >= CATEGORIES || colour[index] == 2)
        return 0;
    if (colour[index] == 1)
        return 1;
    colour[index] = 1;
    query(index, &c);
    subs = malloc((size_t) (c.counts[SUBS] + 1) * sizeof *subs);
    fetch(SUBS, index, c.counts[SUBS], subs);
    for (int i = 0; i < c.counts[SUBS]; i++)
        found |= has_cycle(subs[i]);
    free(subs);
    colour[index] = 2;
    return found;
}

/* The number of variables or event types, of `total`, that are in no category. */
static int outside(enum content what, int total)
{
    char *inside = calloc((size_t) total + 1, 1);
    int left = total;
    for (int i = 0, n = category_count(); i < n; i++) {
        struct category c;
        int *members;
        if (query(i, &c) != MPI_SUCCESS)
            continue;
        members = calloc((size_t) c.counts[what] + 1, sizeof *members);
        if (fetch(what, i, c.counts[what], members) == MPI_SUCCESS)
            for (int k = 0; k < c.counts[what]; k++)
                if (members[k] >= 0 && members[k] < total && !inside[members[k]]++)
                    left--;
        free(members);
    }
    free(inside);
    return left;
}

static void check_tree(void)
{
    int no_cvars, no_pvars, has_layer;
    struct pvar p;
    int cyclic = 0, subs = 0, pvars = 0, events = 0, cvars = 0;
    struct category c;
    memset(colour, 0, sizeof colour);
    for (int i = 0, n = category_count(); i < n && i < CATEGORIES; i++) {
        cyclic |= has_cycle(i);
        query(i, &c);
        subs += c.counts[SUBS];
        pvars += c.counts[PVARS];
        cvars += c.counts[CVARS];
        events += c.counts[EVENTS];
    }
    CHECK("CA-21", !cyclic, "no category includes itself, directly or through others");
    CHECK("CA-22", subs > 0, "there is a tree of categories");
    CHECKF("CA-23", pvars > 0 && cvars > 0 && events > 0, "variables and event types are in categories",
           "%d pvars, %d cvars, %d events", pvars, cvars, events);
    has_layer = pvar_query(0, &p) == MPI_SUCCESS && is_own(p.name);
    no_cvars = outside(CVARS, cvar_count());
    no_pvars = outside(PVARS, pvar_count());
    CHECKF("CA-33", !has_layer || !(no_cvars + no_pvars), "every variable is in a category",
           "%d cvars, %d pvars are not", no_cvars, no_pvars);
}

static struct { char name[64]; int counts[CONTENTS], first[CONTENTS][8]; } *known;
static int known_count, known_update = -1;

/* Across the phases, members are added, never removed or reordered, and each addition raises the update number. */
static void check_growth(void)
{
    int n = category_count(), update = -1, same_update = -1, grown = n > known_count;
    CHECK_RC("CA-24", MPI_T_category_changed(&update), MPI_SUCCESS, "the update number is returned");
    CHECKF("CA-25", n >= known_count, "a category is never removed", "%d, then %d", known_count, n);
    CHECKF("CA-26", update >= known_update, "the update number never decreases", "%d, then %d", known_update, update);
    known = realloc(known, (size_t) (n + 1) * sizeof *known);
    for (int i = 0; i < n; i++) {
        struct category c;
        int *members;
        query(i, &c);
        if (i < known_count)
            CHECKF("CA-27", !strncmp(known[i].name, c.name, 63), "an index keeps its category", "%d: %s, then %s", i,
                   known[i].name, c.name);
        for (int what = 0; what < CONTENTS; what++) {
            members = calloc((size_t) c.counts[what] + 9, sizeof *members);
            if (c.counts[what])
                fetch(what, i, c.counts[what], members);
            if (i < known_count) {
                int kept = known[i].counts[what] < 8 ? known[i].counts[what] : 8;
                grown |= c.counts[what] > known[i].counts[what];
                CHECKF("CA-28", c.counts[what] >= known[i].counts[what]
                       && !memcmp(members, known[i].first[what], (size_t) kept * sizeof *members),
                       "members are added after the others and never removed", "%s, %s", c.name, content_name[what]);
            }
            known[i].counts[what] = c.counts[what];
            memcpy(known[i].first[what], members, sizeof known[i].first[what]);
            free(members);
        }
        strncpy(known[i].name, c.name, 63);
        known[i].name[63] = '\0';
    }
    if (known_update >= 0 && grown)
        CHECKF("CA-29", update > known_update, "a new or extended category raises the update number",
               "%d, then %d", known_update, update);
    if (known_update >= 0 && update == known_update)
        CHECK("CA-30", !grown, "the same update number means that no category has changed");
    MPI_T_category_changed(&same_update);
    CHECKF("CA-31", same_update == update, "queries alone do not change the update number", "%d, then %d", update,
           same_update);
    known_count = n;
    known_update = update;
}

static void check_ranks(void)
{
    int n = category_count();
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        static struct category first, mine;
        int index;
        memset(&first, 0, sizeof first);
        if (conform_rank == 0)
            query(i, &first);
        MPI_Bcast(&first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (MPI_T_category_get_index(first.name, &index) == MPI_SUCCESS && query(index, &mine) == MPI_SUCCESS)
            CHECKF("CA-32", !strcmp(first.desc, mine.desc), "a category of the same name has the same description on "
                   "every rank", "%s", first.name);
    }
}

static void alone(void)
{
    check_growth();
    check_tree();
    if (conform_phase == BETWEEN && conform_size > 1)
        check_ranks();
}

int main(int argc, char **argv)
{
    static const struct group group = { "categories", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
