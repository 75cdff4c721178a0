/*
 * Two ranks create objects of all kinds; rank 0 writes their handles to a file and waits to be queried, with one thread in a
 * collective that the other rank never joins. When the file "die" appears it aborts, with a core file in its directory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static FILE *list;

/* Freed last, so that no other object gets its handle. */
static MPI_Comm gone_comm;
static MPI_Datatype gone_type;
static MPI_Group gone_group;
static MPI_File gone_file;
static MPI_Op gone_op;
static MPI_Info gone_info;
static MPI_Errhandler gone_errors;
static MPI_Win gone_win;
static double gone_memory[2];

/* In the standard ABI the integer form is the language-neutral one. */
#ifdef MPI_ABI
#define MPI_Comm_c2f MPI_Comm_toint
#define MPI_Type_c2f MPI_Type_toint
#define MPI_Group_c2f MPI_Group_toint
#define MPI_Op_c2f MPI_Op_toint
#define MPI_Errhandler_c2f MPI_Errhandler_toint
#define MPI_Info_c2f MPI_Info_toint
#define MPI_File_c2f MPI_File_toint
#define MPI_Win_c2f MPI_Win_toint
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Op_f2c MPI_Op_fromint
#define MPI_Errhandler_f2c MPI_Errhandler_fromint
#endif

/* Handles are ints or pointers. */
#define WORD(h) ((unsigned long long)(sizeof(h) == 4 ? (unsigned)(uintptr_t)(h) : (uintptr_t)(h)))
#define SAY(name, kind, h) fprintf(list, "%s %s %#llx\n", name, kind, WORD(h))
#define FORTRAN(name, kind, f) fprintf(list, "%s fortran-%s %d\n", name, kind, (int)(f))

static void operation(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)in, (void)inout, (void)n, (void)type;
}
static void handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }
static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}
static int query(void *extra, MPI_Status *status) {
    (void)extra, (void)status;
    return MPI_SUCCESS;
}
static int release(void *extra) { return extra == NULL ? MPI_SUCCESS : MPI_SUCCESS; }
static int cancel(void *extra, int complete) { return (void)extra, (void)complete, MPI_SUCCESS; }

static void communicators(int rank, MPI_Comm mine) {
    MPI_Comm cart, graph, dist, half, inter, turned;
    int dims[2] = {2, 1}, periods[2] = {1, 0}, index[2] = {1, 2}, edges[2] = {1, 0};
    int peer[1] = {1 - rank}, weight[1] = {7 + rank};
    MPI_Cart_create(mine, 2, dims, periods, 0, &cart);
    MPI_Graph_create(mine, 2, index, edges, 0, &graph);
    MPI_Dist_graph_create_adjacent(mine, 1, peer, weight, 1, peer, weight, MPI_INFO_NULL, 0, &dist);
    MPI_Comm_split(mine, 0, -rank, &turned);
    SAY("turned", "comm", turned);
    SAY("self", "comm", MPI_COMM_SELF);
    MPI_Comm_split(mine, rank, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 5, &inter);
    MPI_Comm_dup(MPI_COMM_SELF, &gone_comm);
    SAY("mine", "comm", mine);
    FORTRAN("mine", "comm", MPI_Comm_c2f(mine));
    SAY("world", "comm", MPI_COMM_WORLD);
    FORTRAN("world", "comm", MPI_Comm_c2f(MPI_COMM_WORLD));
    SAY("null", "comm", MPI_COMM_NULL);
    SAY("cart", "comm", cart);
    SAY("graph", "comm", graph);
    SAY("dist", "comm", dist);
    SAY("half", "comm", half);
    SAY("inter", "comm", inter);
    SAY("gone", "comm", gone_comm);
}

static MPI_Datatype datatypes(void) {
    MPI_Datatype contiguous, vector, structure, resized, subarray, darray, indexed, block, raw;
    MPI_Type_contiguous(1000000, MPI_INT, &contiguous);
    MPI_Type_vector(3, 2, 4, MPI_INT, &vector);
    MPI_Type_set_name(vector, "three pairs");
    int lengths[3] = {1, 2, 1}, places[3] = {9, 0, 4};
    MPI_Aint at[3] = {0, 16, 128};
    MPI_Datatype parts[3] = {MPI_CHAR, MPI_DOUBLE, vector};
    MPI_Type_create_struct(3, lengths, at, parts, &structure);
    MPI_Type_create_resized(MPI_INT, -4, 16, &resized);
    int sizes[2] = {4, 6}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &subarray);
    int gsizes[2] = {8, 6}, distribs[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, psizes[2] = {2, 2};
    MPI_Type_create_darray(4, 1, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_C, MPI_DOUBLE, &darray);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &indexed);
    MPI_Type_create_indexed_block(3, 2, places, MPI_SHORT, &block);
    MPI_Type_dup(MPI_INT, &gone_type);
    MPI_Type_dup(vector, &raw);
    MPI_Type_commit(&contiguous);
    MPI_Type_commit(&vector);
    MPI_Type_commit(&structure);
    MPI_Type_commit(&darray);
    SAY("int", "datatype", MPI_INT);
    SAY("double_int", "datatype", MPI_DOUBLE_INT);
    SAY("contiguous", "datatype", contiguous);
    SAY("vector", "datatype", vector);
    FORTRAN("vector", "datatype", MPI_Type_c2f(vector));
    SAY("struct", "datatype", structure);
    SAY("resized", "datatype", resized);
    SAY("subarray", "datatype", subarray);
    SAY("darray", "datatype", darray);
    SAY("indexed", "datatype", indexed);
    SAY("block", "datatype", block);
    SAY("raw", "datatype", raw);
    SAY("gone_type", "datatype", gone_type);
    return vector;
}

typedef int displaced(int, int *, MPI_Aint *, MPI_Datatype, MPI_Datatype *);
typedef int strided(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
typedef int structured(int, int *, MPI_Aint *, MPI_Datatype *, MPI_Datatype *);

/* The other constructors. Those of MPI-1 are no longer in every library. */
static void constructors(void) {
    MPI_Datatype hvector, hindexed, hblock, type;
    int lengths[2] = {1, 2};
    MPI_Aint places[2] = {16, 0};
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};
    displaced *old_hindexed = (displaced *)dlsym(RTLD_DEFAULT, "MPI_Type_hindexed");
    strided *old_hvector = (strided *)dlsym(RTLD_DEFAULT, "MPI_Type_hvector");
    structured *old_struct = (structured *)dlsym(RTLD_DEFAULT, "MPI_Type_struct");
    MPI_Type_create_hvector(2, 1, 12, MPI_INT, &hvector);
    MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &hindexed);
    MPI_Type_create_hindexed_block(2, 1, places, MPI_INT, &hblock);
    SAY("hvector", "datatype", hvector);
    SAY("hindexed", "datatype", hindexed);
    SAY("hblock", "datatype", hblock);
    if (old_hvector && old_hvector(2, 1, 12, MPI_INT, &type) == MPI_SUCCESS)
        SAY("old_hvector", "datatype", type);
    if (old_hindexed && old_hindexed(2, lengths, places, MPI_INT, &type) == MPI_SUCCESS)
        SAY("old_hindexed", "datatype", type);
    if (old_struct && old_struct(2, lengths, places, parts, &type) == MPI_SUCCESS)
        SAY("old_struct", "datatype", type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Type_create_f90_real(6, 30, &type) == MPI_SUCCESS)
        SAY("f90_real", "datatype", type);
    if (MPI_Type_create_f90_complex(6, 30, &type) == MPI_SUCCESS)
        SAY("f90_complex", "datatype", type);
    if (MPI_Type_create_f90_integer(9, &type) == MPI_SUCCESS)
        SAY("f90_integer", "datatype", type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static void small(MPI_Comm mine, MPI_Info *info) {
    MPI_Group group, first, turned;
    MPI_Op op, other;
    MPI_Errhandler errors;
    int zero[1] = {0}, key;
    MPI_Comm_group(mine, &group);
    MPI_Group_incl(group, 1, zero, &first);
    MPI_Group_incl(group, 1, zero, &gone_group);
    MPI_Op_create(operation, 1, &op);
    MPI_Op_create(operation, 0, &other);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Comm_set_errhandler(mine, errors);
    MPI_Info_create(info);
    MPI_Info_set(*info, "first key", "value one");
    MPI_Info_set(*info, "second", "2");
    MPI_Info_set(*info, "third", "3");
    MPI_Info_delete(*info, "second");
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, (void *)0x77);
    MPI_Comm_set_attr(mine, key, (void *)0x1234);
    SAY("group", "group", group);
    FORTRAN("group", "group", MPI_Group_c2f(group));
    int order[2] = {1, 0};
    MPI_Group_incl(group, 2, order, &turned);
    SAY("turned_group", "group", turned);
    SAY("first", "group", first);
    SAY("empty", "group", MPI_GROUP_EMPTY);
    SAY("gone_group", "group", gone_group);
    SAY("op", "op", op);
    FORTRAN("op", "op", MPI_Op_c2f(op));
    SAY("other", "op", other);
    SAY("sum", "op", MPI_SUM);
    SAY("errors", "errhandler", errors);
    FORTRAN("errors", "errhandler", MPI_Errhandler_c2f(errors));
    SAY("return", "errhandler", MPI_ERRORS_RETURN);
    SAY("info", "info", *info);
    FORTRAN("info", "info", MPI_Info_c2f(*info));
    fprintf(list, "key keyval %#llx\n", 1ull << 32 | (unsigned)key);
    fprintf(list, "operation address %#llx\n", (unsigned long long)(uintptr_t)operation);
    fprintf(list, "handler address %#llx\n", (unsigned long long)(uintptr_t)handler);
}

static void files(MPI_Info info) {
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_File_set_view(file, 64, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_open(MPI_COMM_SELF, "data", MPI_MODE_RDONLY, MPI_INFO_NULL, &gone_file);
    SAY("file", "file", file);
    FORTRAN("file", "file", MPI_File_c2f(file));
    SAY("gone_file", "file", gone_file);
    SAY("no_file", "file", MPI_FILE_NULL);
}

static void windows(int rank, MPI_Comm mine, MPI_Info info) {
    static double memory[16];
    MPI_Win locked, fenced, posted, exposed;
    MPI_Group all, other;
    int peer[1] = {1 - rank};
    MPI_Win_create(memory, sizeof memory, 8, info, mine, &locked);
    MPI_Win_create(memory, 32, 4, MPI_INFO_NULL, mine, &fenced);
    MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, mine, &posted);
    MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, mine, &exposed);
    MPI_Win_set_name(locked, "locked one");
    MPI_Win_fence(0, fenced);
    MPI_Comm_group(mine, &all);
    MPI_Group_incl(all, 1, peer, &other);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, locked);
        MPI_Win_start(other, 0, posted);
        MPI_Win_post(other, 0, exposed);
    } else {
        MPI_Win_post(other, 0, posted);
    }
    SAY("locked", "win", locked);
    FORTRAN("locked", "window", MPI_Win_c2f(locked));
    SAY("fenced", "win", fenced);
    SAY("posted", "win", posted);
    SAY("exposed", "win", exposed);
    fprintf(list, "memory address %#llx\n", (unsigned long long)(uintptr_t)memory);
}

static void requests(int rank, MPI_Comm mine, MPI_Datatype vector) {
    static int buffer[256], other[16], byte;
    static MPI_Status status;
    MPI_Request pending, persistent, general, alias, freed, finished;
    MPI_Message message;
    if (rank == 1) {
        MPI_Send(buffer, 3, MPI_INT, 0, 55, mine);
        MPI_Send(buffer, 5, MPI_INT, 0, 66, mine);
        return;
    }
    MPI_Irecv(buffer, 8, vector, MPI_ANY_SOURCE, 7, mine, &pending);
    MPI_Send_init(other, 4, MPI_INT, 1, 9, mine, &persistent);
    MPI_Grequest_start(query, release, cancel, NULL, &general);
    MPI_Irecv(&byte, 1, MPI_INT, 1, 8, mine, &freed);
    alias = freed;
    MPI_Request_free(&freed);
    MPI_Mprobe(1, 55, mine, &message, MPI_STATUS_IGNORE);
    MPI_Recv(other, 16, MPI_INT, 1, 66, mine, &status);
    MPI_Recv_init(&byte, 1, MPI_INT, MPI_PROC_NULL, 10, mine, &finished);
    MPI_Start(&finished);
    MPI_Wait(&finished, MPI_STATUS_IGNORE);
    SAY("finished", "request", finished);
    SAY("pending", "request", pending);
    FORTRAN("pending", "request", MPI_Request_c2f(pending));
    SAY("persistent", "request", persistent);
    SAY("general", "request", general);
    SAY("alias", "request", alias);
    SAY("no_request", "request", MPI_REQUEST_NULL);
    SAY("message", "message", message);
    SAY("status", "status", (void *)&status);
    fprintf(list, "buffer address %#llx\n", (unsigned long long)(uintptr_t)buffer);
}

/* Operations in which the other rank does not take part. */
static MPI_Comm busy, later;
static MPI_Datatype busy_type;
static MPI_Op busy_op, later_op;

static void *reduce(void *unused) {
    static int in[8], out[8];
    MPI_Allreduce(in, out, 1, busy_type, busy_op, busy);
    return unused;
}

/* Frees one of each kind. */
static void go(MPI_Comm mine) {
    static int in, out;
    MPI_Request done;
    MPI_Op_create(operation, 0, &gone_op);
    MPI_Info_create(&gone_info);
    MPI_Comm_create_errhandler(handler, &gone_errors);
    MPI_Win_create(gone_memory, sizeof gone_memory, 8, MPI_INFO_NULL, mine, &gone_win);
    SAY("gone_op", "op", gone_op);
    SAY("gone_info", "info", gone_info);
    SAY("gone_errors", "errhandler", gone_errors);
    SAY("gone_win", "win", gone_win);
    MPI_Irecv(&in, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &done);
    SAY("gone_request", "request", done);
    MPI_Send(&out, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
    MPI_Wait(&done, MPI_STATUS_IGNORE);
    MPI_Win_free(&gone_win);
    MPI_Op_free(&gone_op);
    MPI_Info_free(&gone_info);
    MPI_Errhandler_free(&gone_errors);
    MPI_File_close(&gone_file);
    MPI_Group_free(&gone_group);
    MPI_Type_free(&gone_type);
    MPI_Comm_free(&gone_comm);
}

static void under_way(int rank, MPI_Comm mine) {
    static int in, out, piece[4], read[4];
    static double target[4], origin;
    MPI_Request reduction, reading, accumulating;
    MPI_File file;
    MPI_Win win;
    MPI_Comm_dup(mine, &busy);
    MPI_Comm_dup(mine, &later);
    MPI_Type_contiguous(4, MPI_INT, &busy_type);
    MPI_Type_commit(&busy_type);
    MPI_Op_create(operation, 1, &busy_op);
    MPI_Op_create(operation, 0, &later_op);
    MPI_Win_create(target, sizeof target, 8, MPI_INFO_NULL, mine, &win);
    if (rank == 1)
        return;
    MPI_Iallreduce(&in, &out, 1, MPI_INT, later_op, later, &reduction);
    MPI_File_open(MPI_COMM_SELF, "pieces", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 0, piece, 4, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, 0, read, 4, MPI_INT, &reading);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Raccumulate(&origin, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_SUM, win, &accumulating);
    SAY("busy", "comm", busy);
    SAY("busy_type", "datatype", busy_type);
    SAY("busy_op", "op", busy_op);
    SAY("later", "comm", later);
    SAY("later_op", "op", later_op);
    SAY("reduction", "request", reduction);
    SAY("pieces", "file", file);
    SAY("reading", "request", reading);
    SAY("shared", "win", win);
    SAY("accumulating", "request", accumulating);
}

/* Available in libraries of MPI 4. */
static void newer(int rank, MPI_Comm mine, MPI_Info info) {
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    static double parts[8];
    MPI_Request partitioned;
    MPI_Session session;
    MPI_Group world;
    MPI_Comm apart;
    MPI_Comm_dup(mine, &apart);
    if (MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS) {
        MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
        SAY("session", "session", session);
        SAY("of_session", "group", world);
    }
    if (rank == 0) {
        MPI_Psend_init(parts, 4, 2, MPI_DOUBLE, 1, 12, apart, MPI_INFO_NULL, &partitioned);
        SAY("partitioned", "request", partitioned);
    } else {
        MPI_Precv_init(parts, 4, 2, MPI_DOUBLE, 0, 12, apart, MPI_INFO_NULL, &partitioned);
    }
#else
    (void)rank, (void)mine, (void)info;
#endif
}

#include "origins.h"

int main(int argc, char **argv) {
    int rank, level;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char name[64];
    snprintf(name, sizeof name, "rank%d", rank);
    if (argc < 2 || chdir(argv[1]) != 0 || chdir(name) != 0 || (list = fopen("making", "w")) == NULL)
        MPI_Abort(MPI_COMM_WORLD, 3);
    fprintf(list, "pid number %d\n", (int)getpid());
    MPI_Comm mine;
    MPI_Info info;
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_set_name(mine, "my own communicator");
    MPI_Datatype vector = datatypes();
    constructors();
    small(mine, &info);
    communicators(rank, mine);
    files(info);
    windows(rank, mine, info);
    requests(rank, mine, vector);
    newer(rank, mine, info);
    /* Objects that got the info earlier do not have this key. */
    MPI_Info_set(info, "fourth", "too late");
    under_way(rank, mine);
    origins(rank, mine);
    go(mine);
    int threads = rank == 0 && level == MPI_THREAD_MULTIPLE;
    if (threads)
        pthread_create(&thread, NULL, reduce, NULL);
    fprintf(list, "threads number %d\n", threads);
    fclose(list);
    rename("making", "handles");
    for (int i = 0; i < 9000 && access("die", F_OK) != 0; i++) {
        int flag;
        /* The other rank may need this one's help. */
        if (rank == 1)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        usleep(20000);
    }
    struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &all);
    signal(SIGABRT, SIG_DFL);
    abort();
}
