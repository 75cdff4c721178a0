// Our unbound performance variables, read through MPI_T and written into a file.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096, ELEMENTS = 4096 };

static struct variable {
    char name[128];
    int class, count;
    MPI_Datatype type;
    MPI_T_pvar_handle handle;
} variables[MOST];
static int number;
static MPI_T_pvar_session session;

static const char *class_name(int class) {
    static const struct { int class; const char *name; } names[] = {
        {MPI_T_PVAR_CLASS_STATE, "STATE"}, {MPI_T_PVAR_CLASS_LEVEL, "LEVEL"}, {MPI_T_PVAR_CLASS_SIZE, "SIZE"},
        {MPI_T_PVAR_CLASS_PERCENTAGE, "PERCENTAGE"}, {MPI_T_PVAR_CLASS_HIGHWATERMARK, "HIGHWATERMARK"},
        {MPI_T_PVAR_CLASS_LOWWATERMARK, "LOWWATERMARK"}, {MPI_T_PVAR_CLASS_COUNTER, "COUNTER"},
        {MPI_T_PVAR_CLASS_AGGREGATE, "AGGREGATE"}, {MPI_T_PVAR_CLASS_TIMER, "TIMER"}, {MPI_T_PVAR_CLASS_GENERIC, "GENERIC"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].class == class)
            return names[i].name;
    return "?";
}

// Before the first MPI call, so that counting begins at zero.
static void start_all(void) {
    int provided, all;
    MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
    MPI_T_pvar_get_num(&all);
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < all && number < MOST; i++) {
        struct variable *v = &variables[number];
        int name_len = sizeof v->name, desc_len = 0, verbosity, bind, readonly, continuous, atomic;
        MPI_T_enum names;
        if (MPI_T_pvar_get_info(i, v->name, &name_len, &verbosity, &v->class, &v->type, &names, NULL, &desc_len, &bind,
                                &readonly, &continuous, &atomic) != MPI_SUCCESS)
            continue;
        if (strncmp(v->name, "mpiscope", 8) != 0 || bind != MPI_T_BIND_NO_OBJECT)
            continue;
        if (MPI_T_pvar_handle_alloc(session, i, NULL, &v->handle, &v->count) != MPI_SUCCESS || v->count > ELEMENTS)
            continue;
        if (!continuous)
            MPI_T_pvar_start(session, v->handle);
        number++;
    }
}

static void print(FILE *file, const struct variable *v, const void *value, int i) {
    if (v->type == MPI_INT)
        fprintf(file, " %d", ((const int *) value)[i]);
    else if (v->type == MPI_UNSIGNED)
        fprintf(file, " %u", ((const unsigned *) value)[i]);
    else if (v->type == MPI_DOUBLE)
        fprintf(file, " %.9f", ((const double *) value)[i]);
    else
        fprintf(file, " %llu", ((const unsigned long long *) value)[i]);
}

static void write_all(const char *dir, const char *stage, int rank, const char *suffix) {
    static unsigned long long value[ELEMENTS];
    char path[4096], draft[4200];
    snprintf(path, sizeof path, "%s/%s.%d%s", dir, stage, rank, suffix);
    snprintf(draft, sizeof draft, "%s.draft", path);
    FILE *file = fopen(draft, "w");
    for (int n = 0; n < number; n++) {
        const struct variable *v = &variables[n];
        if (MPI_T_pvar_read(session, v->handle, value) != MPI_SUCCESS)
            continue;
        fprintf(file, "%s %s", v->name, class_name(v->class));
        if (v->type == MPI_CHAR)
            fprintf(file, " %s", (const char *) value);
        else
            for (int i = 0; i < v->count; i++)
                print(file, v, value, i);
        fprintf(file, "\n");
    }
    fclose(file);
    rename(draft, path);
}
