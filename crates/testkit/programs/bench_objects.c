/* Cost of tracking objects: bench_objects dup|dup_free|type|request|types|requests|count|list|json
 *
 *   dup                  nanoseconds to duplicate a communicator, the best of many short batches
 *   dup_free             the same, with freeing it
 *   type, request        nanoseconds to create and free one (a request: to start and complete it), likewise
 *   types, requests      the same with a million live ones
 *   count, list, json    seconds that the command named by BENCH_INSPECT takes to show a million datatypes from outside:
 *                        the number of each kind, a line for each, all as JSON */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 100, COMMS = 500, MILLION = 1000000 };

static MPI_Comm comms[COMMS];
static MPI_Datatype types[MILLION];
static MPI_Request requests[MILLION];
static double in[MILLION];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double) t.tv_sec + (double) t.tv_nsec;
}

static void duplicate(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
}

static void free_duplicates(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Comm_free(&comms[i]);
}

static void duplicate_and_free(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
        MPI_Comm_free(&comms[0]);
    }
}

static void type(int n)
{
    MPI_Datatype type;
    for (int i = 0; i < n; i++) {
        MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &type);
        MPI_Type_free(&type);
    }
}

static void request(int n)
{
    double out = 1.0;
    MPI_Request both[2];
    for (int i = 0; i < n / 2; i++) {
        MPI_Irecv(in, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &both[0]);
        MPI_Isend(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &both[1]);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
}

static void make_types(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Type_contiguous(1 + i % 7, MPI_DOUBLE, &types[i]);
}

static void many_types(int n)
{
    make_types(n);
    for (int i = 0; i < n; i++)
        MPI_Type_free(&types[i]);
}

static void many_requests(int n)
{
    double out = 1.0;
    for (int i = 0; i < n; i++)
        MPI_Irecv(&in[i], 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < n; i++)
        MPI_Send(&out, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static double shown(const char *options)
{
    char command[4096];
    double start;
    make_types(MILLION);
    unsetenv("LD_PRELOAD");
    snprintf(command, sizeof command, "%s inspect %ld %s >/dev/null", getenv("BENCH_INSPECT"), (long) getpid(), options);
    start = now();
    if (system(command))
        exit(1);
    return (now() - start) / 1e9;
}

static void nothing(int n)
{
    (void) n;
}

/* Nanoseconds for each of n in the best batch; cleanup after a batch is not counted. */
static double best(void (*batch)(int), int n, int batches, void (*tidy)(int))
{
    double best = 1e18;
    for (int i = 0; i < batches; i++) {
        double start = now(), each;
        batch(n);
        each = (now() - start) / n;
        if (each < best)
            best = each;
        tidy(n);
    }
    return best;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    double value = 0;
    MPI_Init(&argc, &argv);
    if (!strcmp(what, "dup"))
        value = best(duplicate, COMMS, BATCHES, free_duplicates);
    else if (!strcmp(what, "dup_free"))
        value = best(duplicate_and_free, COMMS, BATCHES, nothing);
    else if (!strcmp(what, "type"))
        value = best(type, 5000, BATCHES, nothing);
    else if (!strcmp(what, "request"))
        value = best(request, 10000, BATCHES, nothing);
    else if (!strcmp(what, "types"))
        value = best(many_types, MILLION, 3, nothing);
    else if (!strcmp(what, "requests"))
        value = best(many_requests, MILLION, 3, nothing);
    else if (!strcmp(what, "count"))
        value = shown("");
    else if (!strcmp(what, "list"))
        value = shown("--kind datatype");
    else if (!strcmp(what, "json"))
        value = shown("--kind datatype --json");
    else
        MPI_Abort(MPI_COMM_WORLD, 2);
    printf("value %.3f\n", value);
    MPI_Finalize();
    return 0;
}
