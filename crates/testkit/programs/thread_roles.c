// Threads with different roles, to be looked at from inside and from outside: `thread_roles DIR`.
// The first thread that calls MPI asks only (MPI_Initialized, MPI_T); a second one begins MPI and communicates. At each stage the
// first one writes our unbound performance variables to DIR/STAGE.RANK, says so with DIR/ready.STAGE.RANK, waits for DIR/go.STAGE,
// and writes them again to DIR/STAGE.RANK.after. Stages: blocked (the second thread is in MPI_Recv), left (outside of MPI, after
// MPI_Barrier), polling (in a loop over MPI_Iprobe).
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "stand.h"

enum { MOST = 4096, ELEMENTS = 4096, BLOCKED = 4, POLLING = 9 };

static struct variable {
    char name[128];
    int class, count;
    MPI_Datatype type;
    MPI_T_pvar_handle handle;
} variables[MOST];
static int number;
static MPI_T_pvar_session session;
static int rank, peer;
static volatile int begun, sent, left, stop;

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

// Before the first call of MPI, so that what is counted begins at nothing.
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

static void write_all(const char *dir, const char *stage, const char *suffix) {
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

static void until_state(int wanted) {
    for (int n = 0; n < number; n++)
        for (int i = 0, state = -1; i < 3000 && strcmp(variables[n].name, "mpiscope_state") == 0 && state != wanted; i++) {
            MPI_T_pvar_read(session, variables[n].handle, &state);
            usleep(10000);
        }
}

static void stage(const char *dir, const char *name) {
    char file[64];
    write_all(dir, name, "");
    snprintf(file, sizeof file, "ready.%s", name);
    say(dir, file, rank);
    snprintf(file, sizeof file, "go.%s", name);
    wait_for(dir, file);
    write_all(dir, name, ".after");
}

static void *communicate(void *unused) {
    int provided, size, value, flag = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 98);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = rank ^ 1;
    begun = 1;
    MPI_Recv(&value, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!sent)
        usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    left = 1;
    while (!stop)
        usleep(1000);
    while (!flag)
        MPI_Iprobe(peer, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return unused;
}

int main(int argc, char **argv) {
    const char *dir = argv[argc - 1];
    int flag, value = 7;
    pthread_t thread;
    start_all();
    MPI_Initialized(&flag);
    pthread_create(&thread, NULL, communicate, NULL);
    while (!begun)
        usleep(1000);
    until_state(BLOCKED);
    stage(dir, "blocked");
    MPI_Send(&value, 1, MPI_INT, peer, 5, MPI_COMM_WORLD);
    sent = 1;
    while (!left)
        usleep(1000);
    stage(dir, "left");
    stop = 1;
    until_state(POLLING);
    stage(dir, "polling");
    MPI_Send(&value, 1, MPI_INT, peer, 6, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
    return 0;
}
