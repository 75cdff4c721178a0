/* Enumerations: those of variables, and invalid ones. */
#include "tinfo.h"

#define ITEMS 1024

static void check_items(MPI_T_enum names, const char *of, int number)
{
    static __thread char item_names[ITEMS][96];
    for (int i = 0; i < number && i < ITEMS; i++) {
        char name[256], again[256];
        int length = sizeof name, value = 0, other = 1, code;
        code = MPI_T_enum_get_item(names, i, &value, name, &length);
        CHECKF("EN-1", code == MPI_SUCCESS, "every item from 0 to num-1 exists", "%s, item %d: %s", of, i,
               code_name(code));
        if (code != MPI_SUCCESS)
            continue;
        CHECKF("EN-2", strlen(name) >= 1 && length == (int) strlen(name) + 1, "an item's name has at least one character",
               "%s, item %d: length %d", of, i, length);
        length = sizeof again;
        MPI_T_enum_get_item(names, i, &other, again, &length);
        CHECKF("EN-3", value == other && !strcmp(name, again), "an item never changes", "%s, item %d", of, i);
        memcpy(item_names[i], name, sizeof item_names[i] - 1);
        for (int j = 0; j < i; j++)
            CHECKF("EN-4", strcmp(item_names[i], item_names[j]), "names of items differ", "%s: %s", of, name);
    }
}

static void check_ends(MPI_T_enum names, int number)
{
    const int wrong[] = { -1, number, number + 1, INT_MIN, INT_MAX };
    char name[256];
    int value, length, code;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        length = sizeof name;
        code = MPI_SUCCESS;
        TRY("EN-6", code = MPI_T_enum_get_item(names, wrong[i], &value, name, &length),
            "an item out of range is MPI_T_ERR_INVALID_INDEX",
            CHECKF("EN-6", code == MPI_T_ERR_INVALID_INDEX, "an item out of range is MPI_T_ERR_INVALID_INDEX",
                   "%d of %d: %s", wrong[i], number, code_name(code)));
    }
    code = -1;
    TRY("EN-7", code = MPI_T_enum_get_info(names, NULL, NULL, NULL), "NULL OUT arguments are harmless",
        CHECKF("EN-7", code == MPI_SUCCESS, "NULL OUT arguments are harmless", "%s", code_name(code)));
    TRY("EN-7", code = MPI_T_enum_get_item(names, 0, NULL, NULL, NULL), "NULL OUT arguments are harmless",
        CHECKF("EN-7", code == MPI_SUCCESS, "NULL OUT arguments are harmless", "%s", code_name(code)));
}

static void check_enum(MPI_T_enum names, const char *of)
{
    char name[256];
    int number = -1, length = sizeof name, code = MPI_T_enum_get_info(names, &number, name, &length);
    if (!CHECKF("EN-8", code == MPI_SUCCESS && number >= 1, "an enumeration returns its number of items", "%s: %s, %d",
                of, code_name(code), number))
        return;
    CHECKF("EN-5", strlen(name) >= 1 && length == (int) strlen(name) + 1, "an enumeration has a name", "%s: length %d",
           of, length);
    check_items(names, of, number);
    check_ends(names, number);
}

static void each(void)
{
    int n, found = 0;
    for (int i = 0, n = pvar_count(); i < n; i++) {
        struct pvar p;
        if (pvar_query(i, &p) != MPI_SUCCESS || p.names == MPI_T_ENUM_NULL)
            continue;
        found++;
        check_enum(p.names, p.name);
    }
    CHECK("EN-9", found > 0, "a performance variable has an enumeration");
    found = 0;
    n = cvar_count();
    for (int i = 0; i < n && found < 100; i++) {
        struct cvar c;
        if (cvar_query(i, &c) != MPI_SUCCESS || c.names == MPI_T_ENUM_NULL)
            continue;
        found++;
        check_enum(c.names, c.name);
    }
    CHECK("EN-10", found > 0, "a control variable has an enumeration");
    for (int i = -1; i < FOREIGN; i++) {
        MPI_T_enum names = i < 0 ? MPI_T_ENUM_NULL : (MPI_T_enum) foreign(i);
        char name[64];
        int number, value, length = sizeof name;
        CHECK_RC("EN-11", MPI_T_enum_get_info(names, &number, name, &length), MPI_T_ERR_INVALID_HANDLE,
                 "an invalid enumeration is MPI_T_ERR_INVALID_HANDLE, and no pointer is dereferenced");
        CHECK_RC("EN-11", MPI_T_enum_get_item(names, 0, &value, name, &length), MPI_T_ERR_INVALID_HANDLE,
                 "an invalid enumeration is MPI_T_ERR_INVALID_HANDLE, and no pointer is dereferenced");
    }
}

int main(int argc, char **argv)
{
    static const struct group group = { "enums", each, NULL, NULL };
    return conform_main(argc, argv, &group);
}
