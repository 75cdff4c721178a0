/*
 * Two ranks make objects of all kinds; rank 0 writes down their handles and waits to be asked. When the file "die" appears
 * it dies with a core file in its directory.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static FILE *list;

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
    MPI_Comm cart, graph, dist, half, inter, gone;
    int dims[2] = {2, 1}, periods[2] = {1, 0}, index[2] = {1, 2}, edges[2] = {1, 0};
    int peer[1] = {1 - rank}, weight[1] = {7 + rank};
    MPI_Cart_create(mine, 2, dims, periods, 0, &cart);
    MPI_Graph_create(mine, 2, index, edges, 0, &graph);
    MPI_Dist_graph_create_adjacent(mine, 1, peer, weight, 1, peer, weight, MPI_INFO_NULL, 0, &dist);
    MPI_Comm_split(mine, rank, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank, 5, &inter);
    MPI_Comm_dup(MPI_COMM_SELF, &gone);
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
    SAY("gone", "comm", gone);
    MPI_Comm_free(&gone);
}

static MPI_Datatype datatypes(void) {
    MPI_Datatype contiguous, vector, structure, resized, subarray, darray, indexed, block, gone, raw;
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
    MPI_Type_dup(MPI_INT, &gone);
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
    SAY("gone_type", "datatype", gone);
    MPI_Type_free(&gone);
    return vector;
}

static void small(MPI_Comm mine, MPI_Info *info) {
    MPI_Group group, first, gone;
    MPI_Op op, other;
    MPI_Errhandler errors;
    int zero[1] = {0}, key;
    MPI_Comm_group(mine, &group);
    MPI_Group_incl(group, 1, zero, &first);
    MPI_Group_incl(group, 1, zero, &gone);
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
    SAY("first", "group", first);
    SAY("empty", "group", MPI_GROUP_EMPTY);
    SAY("gone_group", "group", gone);
    MPI_Group_free(&gone);
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
    MPI_File file, gone;
    MPI_File_open(MPI_COMM_SELF, "data", MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_File_set_view(file, 64, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_open(MPI_COMM_SELF, "data", MPI_MODE_RDONLY, MPI_INFO_NULL, &gone);
    SAY("file", "file", file);
    FORTRAN("file", "file", MPI_File_c2f(file));
    SAY("gone_file", "file", gone);
    MPI_File_close(&gone);
}

static void windows(int rank, MPI_Comm mine, MPI_Info info) {
    static double memory[16];
    MPI_Win locked, fenced, posted;
    MPI_Group all, other;
    int peer[1] = {1 - rank};
    MPI_Win_create(memory, sizeof memory, 8, info, mine, &locked);
    MPI_Win_create(memory, 32, 4, MPI_INFO_NULL, mine, &fenced);
    MPI_Win_create(memory, 64, 1, MPI_INFO_NULL, mine, &posted);
    MPI_Win_set_name(locked, "locked one");
    MPI_Win_fence(0, fenced);
    MPI_Comm_group(mine, &all);
    MPI_Group_incl(all, 1, peer, &other);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, locked);
        MPI_Win_start(other, 0, posted);
    } else {
        MPI_Win_post(other, 0, posted);
    }
    SAY("locked", "win", locked);
    FORTRAN("locked", "window", MPI_Win_c2f(locked));
    SAY("fenced", "win", fenced);
    SAY("posted", "win", posted);
    fprintf(list, "memory address %#llx\n", (unsigned long long)(uintptr_t)memory);
}

static void requests(int rank, MPI_Comm mine, MPI_Datatype vector) {
    static int buffer[256], other[16], byte;
    static MPI_Status status;
    MPI_Request pending, persistent, general, alias, freed;
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

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
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
    small(mine, &info);
    communicators(rank, mine);
    files(info);
    windows(rank, mine, info);
    requests(rank, mine, vector);
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
