/* The array mpiscope_calls and the enumeration that maps its elements to functions. */
#ifndef FUNCTIONS_H
#define FUNCTIONS_H

#include "tinfo.h"

/* The enumeration of functions: that of the performance variable mpiscope_function, or of a control variable. */
static inline MPI_T_enum functions(void)
{
    struct pvar p;
    struct cvar c;
    int index;
    if (pvar_find("mpiscope_function", MPI_T_PVAR_CLASS_STATE, &p))
        return p.names;
    if (MPI_T_cvar_get_index("mpiscope_function", &index) == MPI_SUCCESS && cvar_query(index, &c) == MPI_SUCCESS)
        return c.names;
    return MPI_T_ENUM_NULL;
}

/* The element of mpiscope_calls that counts `function`: its item in the enumeration; -1 if there is none. */
static inline int element_of(const char *function)
{
    MPI_T_enum names = functions();
    int number = 0, value, length = 0;
    char name[256];
    if (names == MPI_T_ENUM_NULL || MPI_T_enum_get_info(names, &number, NULL, &length) != MPI_SUCCESS)
        return -1;
    for (int i = 0; i < number; i++) {
        length = sizeof name;
        if (MPI_T_enum_get_item(names, i, &value, name, &length) == MPI_SUCCESS && !strcmp(name, function))
            return i;
    }
    return -1;
}

/* A started handle on mpiscope_calls; 0 if the variable does not exist. */
static inline int calls_open(struct gauge *g, MPI_T_pvar_session session)
{
    struct pvar p;
    if (!pvar_find("mpiscope_calls", MPI_T_PVAR_CLASS_COUNTER, &p) || p.type != MPI_UNSIGNED_LONG_LONG
        || !gauge_open(g, session, &p, NULL))
        return 0;
    return 1;
}

static inline unsigned long long element(struct gauge *g, int i)
{
    return gauge_read(g) == MPI_SUCCESS && i >= 0 && i < g->count ? ((unsigned long long *) g->buffer)[i] : ~0ull;
}

#endif
