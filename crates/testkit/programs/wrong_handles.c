/* Handles of one kind passed for another, to functions of every sort.
 *
 * On Open MPI, where a handle is an address, nothing is freed or started: its effect on the memory at that address would be random.
 *
 * Each call is made in a separate process, forked without the C library so that nothing
 * blocks. One line per call: its result, or the signal that killed it. Each library may treat
 * such a handle in its own way; it must do the same under the layer. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OPEN_MPI
#define HARMFUL(call) 0
#else
#define HARMFUL(call) call
#endif

typedef uintptr_t word;

static word to_word(const void *handle, size_t size)
{
    word bits = 0;
    memcpy(&bits, handle, size);
    return bits;
}
#define WORD(handle) to_word(&(handle), sizeof(handle))
#define AS(type) (*(type *)&wrong)

static MPI_Comm world;
static int data[64], out[64], one = 1, n, flag;
/* For a library whose handles are addresses: a meaningless object. */
static long nothing[8192];
static MPI_Status status;

/* Groups of functions by their parameters; `wrong` is the handle they get. */
static int for_comm(int which, word wrong)
{
    MPI_Comm new, comm = AS(MPI_Comm);
    MPI_Group group;
    MPI_Request request;
    MPI_Win win;
    int dims[1] = {1}, periods[1] = {0};
    switch (which) {
    case 0: return MPI_Comm_size(comm, &n);
    case 1: return MPI_Comm_dup(comm, &new);
    case 2: return MPI_Comm_group(comm, &group);
    case 3: return MPI_Comm_split(comm, 0, 0, &new);
    case 4: return MPI_Send(data, 1, MPI_INT, MPI_PROC_NULL, 1, comm);
    case 5: return MPI_Isend(data, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &request);
    case 6: return MPI_Recv(data, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &status);
    case 7: return MPI_Irecv(data, 1, MPI_INT, 0, 1, comm, &request);
    case 8: return MPI_Send_init(data, 1, MPI_INT, 0, 1, comm, &request);
    case 9: return MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, &status);
    case 10: return MPI_Barrier(comm);
    case 11: return MPI_Bcast(data, 1, MPI_INT, 0, comm);
    case 12: return MPI_Allreduce(data, out, 1, MPI_INT, MPI_SUM, comm);
    case 13: return MPI_Alltoall(data, 1, MPI_INT, out, 1, MPI_INT, comm);
    case 14: return MPI_Allgatherv(data, 1, MPI_INT, out, &one, data, MPI_INT, comm);
    case 15: return MPI_Ibarrier(comm, &request);
    case 16: return MPI_Neighbor_allgather(data, 1, MPI_INT, out, 1, MPI_INT, comm);
    case 17: return MPI_Cart_create(comm, 1, dims, periods, 0, &new);
    case 18: return MPI_Comm_set_name(comm, "wrong");
    case 19: return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    case 20: return MPI_Win_create(data, 4, 1, MPI_INFO_NULL, comm, &win);
    case 21: return HARMFUL(MPI_Comm_free(&comm));
    case 22: return MPI_Sendrecv(data, 1, MPI_INT, MPI_PROC_NULL, 1, out, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &status);
    case 23: return MPI_Comm_idup(comm, &new, &request);
    case 24: return MPI_Comm_set_info(comm, MPI_INFO_NULL);
    }
    return -1;
}

static int for_group(int which, word wrong)
{
    MPI_Group new, group = AS(MPI_Group);
    MPI_Comm comm;
    switch (which) {
    case 0: return MPI_Group_size(group, &n);
    case 1: return MPI_Group_incl(group, 1, data, &new);
    case 2: return MPI_Group_union(group, MPI_GROUP_EMPTY, &new);
    case 3: return MPI_Comm_create(world, group, &comm);
    case 4: return MPI_Comm_create_group(world, group, 1, &comm);
    case 5: return MPI_Group_excl(group, 0, data, &new);
    case 6: return HARMFUL(MPI_Group_free(&group));
    case 7: return MPI_Group_rank(group, &n);
    }
    return -1;
}

static int for_datatype(int which, word wrong)
{
    MPI_Datatype new, type = AS(MPI_Datatype);
    MPI_Request request;
    MPI_Aint displacement = 0;
    switch (which) {
    case 0: return MPI_Type_size(type, &n);
    case 1: return MPI_Type_contiguous(2, type, &new);
    case 2: return MPI_Type_vector(2, 1, 2, type, &new);
    case 3: return MPI_Type_create_struct(1, &one, &displacement, &type, &new);
    case 4: return MPI_Type_commit(&type);
    case 5: return MPI_Type_dup(type, &new);
    case 6: return HARMFUL(MPI_Type_free(&type));
    case 7: return MPI_Send(data, 1, type, MPI_PROC_NULL, 1, world);
    case 8: return MPI_Send(data, 0, type, MPI_PROC_NULL, 1, world);
    case 9: return MPI_Recv(data, 1, type, MPI_PROC_NULL, 1, world, &status);
    case 10: return MPI_Isend(data, 1, type, MPI_PROC_NULL, 1, world, &request);
    case 11: return MPI_Recv_init(data, 1, type, 0, 1, world, &request);
    case 12: return MPI_Bcast(data, 1, type, 0, world);
    case 13: return MPI_Bcast(data, 0, type, 0, world);
    case 14: return MPI_Type_set_name(type, "wrong");
    case 15: return MPI_Irecv(data, 0, type, MPI_PROC_NULL, 1, world, &request);
    case 16: return MPI_Gather(data, 1, MPI_INT, out, 0, type, 0, world);
    case 17: return MPI_Type_create_resized(type, 0, 8, &new);
    case 18: return MPI_Get_count(&status, type, &n);
    case 19: return MPI_Alltoallw(data, &n, data, &type, out, &n, out, &type, world);
    }
    return -1;
}

static int for_others(int which, word wrong)
{
    MPI_Op op = AS(MPI_Op);
    MPI_Request request = AS(MPI_Request), requests[2] = {request, MPI_REQUEST_NULL};
    MPI_Info info = AS(MPI_Info), copy;
    MPI_Errhandler handler = AS(MPI_Errhandler);
    MPI_Win win = AS(MPI_Win);
    MPI_File file = AS(MPI_File);
    MPI_Message message = AS(MPI_Message);
    MPI_Comm comm;
    MPI_Group group;
    switch (which) {
    case 0: return MPI_Reduce(data, out, 1, MPI_INT, op, 0, world);
    case 1: return HARMFUL(MPI_Op_free(&op));
    case 2: return MPI_Test(&request, &flag, &status);
    case 3: return MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
    case 4: return MPI_Request_get_status(request, &flag, &status);
    case 5: return HARMFUL(MPI_Start(&request));
    case 6: return HARMFUL(MPI_Request_free(&request));
    case 7: return MPI_Info_dup(info, &copy);
    case 8: return MPI_Info_set(info, "key", "value");
    case 9: return HARMFUL(MPI_Info_free(&info));
    case 10: return MPI_Comm_dup_with_info(world, info, &comm);
    case 11: return MPI_Comm_set_errhandler(world, handler);
    case 12: return HARMFUL(MPI_Errhandler_free(&handler));
    case 13: return MPI_Win_get_group(win, &group);
    case 14: return MPI_Win_fence(0, win);
    case 15: return MPI_Put(data, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    case 16: return MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    case 17: return HARMFUL(MPI_Win_free(&win));
    case 18: return MPI_File_get_group(file, &group);
    case 19: return MPI_File_read(file, data, 1, MPI_INT, &status);
    case 20: return HARMFUL(MPI_File_close(&file));
    case 21: return MPI_Mrecv(data, 1, MPI_INT, &message, &status);
    case 22: return MPI_Reduce_local(data, out, 1, MPI_INT, op);
    }
    return -1;
}

static const struct {
    const char *name;
    int count;
    int (*call)(int, word);
} groups[] = {{"communicator", 25, for_comm},
            {"group", 8, for_group},
            {"datatype", 20, for_datatype},
            {"other", 23, for_others}};

static void in_a_process_of_its_own(int (*call)(int, word), int which, word wrong)
{
    fflush(stdout);
    pid_t child = (pid_t)syscall(SYS_fork);
    if (child == 0) {
        alarm(1);
        int code = call(which, wrong), class = 0;
        if (code != MPI_SUCCESS)
            MPI_Error_class(code, &class);
        printf("class %d\n", class);
        fflush(stdout);
        _exit(0);
    }
    int how = 0;
    waitpid(child, &how, 0);
    if (WIFSIGNALED(how))
        printf("signal %d\n", WTERMSIG(how));
    else if (WEXITSTATUS(how))
        printf("status %d\n", WEXITSTATUS(how));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int s = SIGSEGV; s; s = s == SIGSEGV ? SIGBUS : s == SIGBUS ? SIGABRT : 0)
        signal(s, SIG_DFL);

    MPI_Group group, null_group = MPI_GROUP_NULL;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Info info;
    MPI_Op op = MPI_SUM;
    MPI_Errhandler handler = MPI_ERRORS_RETURN;
    MPI_Win win;
    MPI_Comm comm;
    MPI_Comm_dup(world, &comm);
    MPI_Comm_group(world, &group);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Send_init(data, 1, MPI_INT, MPI_PROC_NULL, 1, world, &request);
    MPI_Info_create(&info);
    MPI_Win_create(out, sizeof out, 1, MPI_INFO_NULL, world, &win);
    int plain = 12;
    /* Where handles are numbers, an address is a different number in each run. */
    void *place = sizeof(MPI_Comm) == sizeof(int) ? (void *)0x5ec0ffe0 : (void *)nothing;

    const struct {
        const char *name;
        word word;
    } kinds[] = {
        {"communicator", WORD(comm)}, {"world", WORD(world)}, {"group", WORD(group)}, {"datatype", WORD(type)},
        {"request", WORD(request)}, {"info", WORD(info)}, {"op", WORD(op)}, {"errhandler", WORD(handler)},
        {"window", WORD(win)}, {"null group", WORD(null_group)}, {"number", WORD(plain)}, {"address", WORD(place)},
    };
    /* Open MPI looks into the object, where the contents of another kind are random: only zeros are certain. */
#ifdef OPEN_MPI
    size_t kind = sizeof kinds / sizeof kinds[0] - 1;
#else
    size_t kind = 0;
#endif
    for (; kind < sizeof kinds / sizeof kinds[0]; kind++)
        for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
            for (int which = 0; which < groups[g].count; which++) {
                printf("%s for %s, call %d: ", kinds[kind].name, groups[g].name, which);
                in_a_process_of_its_own(groups[g].call, which, kinds[kind].word);
            }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
