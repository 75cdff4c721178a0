// Objects of every kind, to be inspected from outside: `inspected wait DIR`, `inspected crash DIR`, `inspected stop`.
// wait: creates objects and DIR/ready.RANK, continues when DIR/go exists, and ends without freeing most objects.
// crash: rank 0 receives from rank 2, others except rank 2 reduce; at DIR/go, rank 2 ends them by SIGQUIT and itself by a null
// pointer, each in DIR/RANK. stop: one process, which calls `here` with its handles.
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "stand.h"

struct particle {
    int id;
    double place[3];
    char tag;
};

static int rank, size;
volatile int fortran_comm, fortran_file;

// A debugger stops here and goes up to the handles.
__attribute__((noinline, noclone)) void stopped(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline, noclone, optimize("O0"))) void
here(MPI_Comm comm, MPI_Datatype type, MPI_Request request, MPI_Win win, MPI_Info info, MPI_Op op, MPI_Group group,
          MPI_Errhandler handler, MPI_File file) {
    MPI_Status status;
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = 3, status.MPI_TAG = 42;
    stopped();
    (void)comm, (void)type, (void)request, (void)win, (void)info, (void)op, (void)group, (void)handler, (void)file;
}

static void on_error(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void first_of_two(void *in, void *inout, int *len, MPI_Datatype *type) {
    (void)in, (void)inout, (void)len, (void)type;
}

// Intel's libmpi_abi (2021.19) aborts in MPI_File_set_view, also without the layer.
static int views_abort(void) {
#ifdef MPI_ABI
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return strstr(version, "Intel") != NULL;
#else
    return 0;
#endif
}

static void communicators(MPI_Comm solver) {
    MPI_Comm half, grid, graph, ring, gone;
    MPI_Comm_split(solver, rank % 2, -rank, &half);
    MPI_Comm_dup(MPI_COMM_SELF, &gone);
    MPI_Comm_free(&gone);
    if (size != 4)
        return;
    int dims[2] = {2, 2}, periods[2] = {1, 0};
    MPI_Cart_create(solver, 2, dims, periods, 0, &grid);
    int index[4] = {1, 3, 5, 6}, edges[6] = {1, 0, 2, 1, 3, 2};
    MPI_Graph_create(solver, 4, index, edges, 0, &graph);
    int from = (rank + 3) % 4, to = (rank + 1) % 4, weight = 7;
    MPI_Dist_graph_create_adjacent(solver, 1, &from, &weight, 1, &to, &weight, MPI_INFO_NULL, 0, &ring);
}

static void objects(const char *mode, const char *dir) {
    MPI_Comm solver;
    MPI_Comm_dup(MPI_COMM_WORLD, &solver);
    MPI_Comm_set_name(solver, "solver");
#ifdef MPI_ABI
    // In the standard ABI the integer of C is that of Fortran, and its own library may have no Fortran functions.
    fortran_comm = MPI_Comm_toint(solver);
#else
    fortran_comm = MPI_Comm_c2f(solver);
#endif
    communicators(solver);
    MPI_Datatype particle, columns, corner;
    int lengths[3] = {1, 3, 1};
    MPI_Aint places[3] = {0, 8, 32};
    MPI_Datatype types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Type_create_struct(3, lengths, places, types, &particle);
    MPI_Type_set_name(particle, "particle");
    MPI_Type_commit(&particle);
    MPI_Type_vector(4, 2, 5, particle, &columns);
    // The program chooses the names: they must not control the terminal that shows them.
    MPI_Type_set_name(columns, "red \033[31m");
    int sizes[2] = {4, 8}, parts[2] = {2, 2}, starts[2] = {1, 4};
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_FLOAT, &corner);
    MPI_Type_commit(&corner);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "first_key", "1");
    MPI_Info_set(info, "second_key", "two words");
    MPI_Group group;
    MPI_Comm_group(solver, &group);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(solver, handler);
    MPI_Op op;
    MPI_Op_create(first_of_two, 0, &op);
    MPI_Win win;
    double *base;
    MPI_Win_allocate(80, 8, MPI_INFO_NULL, solver, &base, &win);
    MPI_Win_set_name(win, "halo");
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    MPI_File file;
    char path[4096];
    snprintf(path, sizeof path, "%s/data.%d", dir, rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (!views_abort())
        MPI_File_set_view(file, 16, MPI_FLOAT, corner, "native", MPI_INFO_NULL);
    MPI_Request receive, send;
    int buffer[10] = {0}, data[10] = {0};
    MPI_Irecv(buffer, 10, MPI_INT, (rank + 1) % size, 42, solver, &receive);
    MPI_Send_init(data, 3, MPI_INT, (rank + 1) % size, 43, solver, &send);
    // When inspected from outside, the library has not been asked for the number.
    if (strcmp(mode, "stop") == 0) {
#ifdef MPI_ABI
        fortran_file = MPI_File_toint(file);
#else
        fortran_file = MPI_File_c2f(file);
#endif
    }
    here(solver, particle, receive, win, info, op, group, handler, file);
    if (strcmp(mode, "wait") == 0) {
        say(dir, "ready", rank);
        wait_for(dir, "go");
    }
    MPI_Win_unlock(rank, win);
    MPI_Send(data, 10, MPI_INT, (rank + size - 1) % size, 42, solver);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Win_free(&win);
    MPI_File_close(&file);
}

static int crash(const char *dir) {
    char own[4096];
    snprintf(own, sizeof own, "%s/%d", dir, rank);
    mkdir(own, 0777);
    struct rlimit core = {RLIM_INFINITY, RLIM_INFINITY};
    if (chdir(own) != 0 || setrlimit(RLIMIT_CORE, &core) != 0)
        return 3;
    // Communication libraries may have handlers that print a lot and change how a process dies.
    signal(SIGSEGV, SIG_DFL), signal(SIGQUIT, SIG_DFL);
    int pid = getpid(), pids[64], value = 0;
    MPI_Comm solver;
    MPI_Comm_dup(MPI_COMM_WORLD, &solver);
    MPI_Comm_set_name(solver, "solver");
    MPI_Allgather(&pid, 1, MPI_INT, pids, 1, MPI_INT, solver);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 2, 7, solver, MPI_STATUS_IGNORE);
    if (rank != 2)
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, solver);
    wait_for(dir, "go");
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < size; i++)
        if (i != 2)
            kill(pids[i], SIGQUIT);
    wait_for(dir, "rest");
    *(volatile int *)16 = value;
    return 4;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "stop", *dir = argc > 2 ? argv[2] : ".";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(mode, "crash") == 0)
        return crash(dir);
    objects(mode, dir);
    MPI_Finalize();
    return 0;
}
