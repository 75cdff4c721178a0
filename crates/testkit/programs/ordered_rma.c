/* Correct one-sided communication: the same memory is used by several operations, but something orders them, or they need no order. */
#include <mpi.h>
#include <stddef.h>

static int rank, size, memory[64], value, values[64];
static MPI_Win win;

static void put(int target, int place, int count)
{
    MPI_Put(values, count, MPI_INT, target, place, count, MPI_INT, win);
}

static void get(int target, int place, int count)
{
    MPI_Get(values, count, MPI_INT, target, place, count, MPI_INT, win);
}

static void in_different_fences(void)
{
    MPI_Win_fence(0, win);
    for (int turn = 0; turn < size; turn++) {
        if (rank == turn)
            put(0, 0, 4);
        MPI_Win_fence(0, win);
    }
    get(0, 0, 4);
    MPI_Win_fence(0, win);
    /* The same data: in any order. */
    for (int i = 0; i < 10; i++)
        put(0, 4 * rank, 4);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

static void interleaved(void)
{
    MPI_Datatype every_other;
    MPI_Type_vector(4, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Win_fence(0, win);
    if (rank < 2)
        MPI_Put(values, 4, MPI_INT, 2, rank, 1, every_other, win);
    /* The last element ends at the end of the memory. */
    if (rank == 3)
        MPI_Put(values, 4, MPI_INT, 2, 57, 1, every_other, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Type_free(&every_other);
}

static void under_exclusive_locks(void)
{
    for (int i = 0; i < 20; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        put(1, 0, 4);
        MPI_Win_flush(1, win);
        get(1, 0, 4);
        MPI_Win_flush_local(1, win);
        put(1, 2, 1);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_after_the_other(void)
{
    for (int turn = 0; turn < size; turn++) {
        if (rank == turn) {
            MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win);
            put(2, 0, 4);
            MPI_Win_unlock(2, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_lock_all(0, win);
    if (rank > 0)
        MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    put(2, 0, 4);
    MPI_Win_flush(2, win);
    if (rank < size - 1)
        MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each process takes its turn when the number in the memory of rank 0 is its own. */
static void by_turns(void)
{
    int turn, next = rank + 1;
    MPI_Win_lock_all(0, win);
    do {
        MPI_Fetch_and_op(NULL, &turn, MPI_INT, 0, 40, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
    } while (turn != rank);
    put(3, 50, 2);
    MPI_Win_flush(3, win);
    MPI_Accumulate(&next, 1, MPI_INT, 0, 40, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_flush(0, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void atomic(void)
{
    int one = 1, zero = 0, before[3];
    MPI_Request request;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 50; i++) {
        MPI_Accumulate(&one, 1, MPI_INT, 0, 10, 1, MPI_INT, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &before[0], MPI_INT, 0, 10, MPI_SUM, win);
        MPI_Get_accumulate(NULL, 0, MPI_INT, &before[1], 1, MPI_INT, 0, 10, 1, MPI_INT, MPI_NO_OP, win);
        MPI_Compare_and_swap(&one, &zero, &before[2], MPI_INT, 0, 11, win);
        get(1, 0, 4);
        MPI_Win_flush_all(win);
    }
    MPI_Rget(values, 4, MPI_INT, rank, 20, 4, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    put(rank, 20, 4);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* In turn, each process exposes its memory to one origin after the other. */
static void post_and_start(void)
{
    MPI_Group world, one;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int target = 0; target < size; target++)
        for (int origin = 0; origin < size; origin++) {
            if (origin == target)
                continue;
            if (rank == target) {
                MPI_Group_incl(world, 1, &origin, &one);
                MPI_Win_post(one, 0, win);
                MPI_Win_wait(win);
                MPI_Group_free(&one);
            }
            if (rank == origin) {
                MPI_Group_incl(world, 1, &target, &one);
                MPI_Win_start(one, 0, win);
                put(target, 0, 4);
                MPI_Win_complete(win);
                MPI_Group_free(&one);
            }
        }
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void dynamic(void)
{
    MPI_Win fixed = win;
    MPI_Aint address, all[64];
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int i = 0; i < 3; i++) {
        MPI_Win_attach(win, memory + 16 * i, 16 * sizeof(int));
        MPI_Get_address(memory + 16 * i, &address);
        MPI_Allgather(&address, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
        MPI_Win_lock_all(0, win);
        MPI_Put(values, 4, MPI_INT, 0, all[0] + 4 * rank * (int)sizeof(int), 4, MPI_INT, win);
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_detach(win, memory + 16 * i);
    }
    MPI_Win_free(&win);
    win = fixed;
}

/* However the program learns that an operation with a request is complete at the origin, it may use the buffer again,
 * also before a flush. */
static void requests_complete(int next)
{
    MPI_Request request, requests[2];
    int done = 0, which;
    MPI_Raccumulate(values, 4, MPI_INT, next, 0, 4, MPI_INT, MPI_SUM, win, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    values[0]++;
    MPI_Raccumulate(values, 4, MPI_INT, next, 0, 4, MPI_INT, MPI_SUM, win, &request);
    for (done = 0; !done;)
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    values[0]++;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++)
        MPI_Raccumulate(&values[4 * i], 4, MPI_INT, next, 4 * i, 4, MPI_INT, MPI_SUM, win, &requests[i]);
    for (int i = 0; i < 2; i++) {
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        values[4 * which]++;
    }
    MPI_Win_flush(next, win);
    for (int i = 0; i < 2; i++)
        MPI_Rput(&values[4 * i], 4, MPI_INT, next, 4 * i, 4, MPI_INT, win, &requests[i]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    values[4]++;
    MPI_Win_flush_local(next, win);
    values[0]++;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    /* Its request is complete only behind the flush. */
    MPI_Win_flush(next, win);
    MPI_Rput(values, 4, MPI_INT, next, 0, 4, MPI_INT, win, &request);
    MPI_Win_flush(next, win);
    values[0]++;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The origin's buffer is changed as soon as the operation is complete there. */
static void reused(void)
{
    MPI_Request request;
    int next = (rank + 1) % size;
    MPI_Win_fence(0, win);
    put(next, 0, 4);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    values[0]++;
    MPI_Win_lock_all(0, win);
    put(next, 0, 4);
    MPI_Win_flush_local(next, win);
    values[0]++;
    MPI_Win_flush(next, win);
    put(next, 0, 4);
    MPI_Win_flush_local_all(win);
    values[0]++;
    MPI_Win_flush_all(win);
    MPI_Rput(values, 4, MPI_INT, next, 0, 4, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    values[0]++;
    MPI_Win_flush(next, win);
    requests_complete(next);
    /* Fetched, not sent. */
    MPI_Get_accumulate(values, 4, MPI_INT, values + 8, 4, MPI_INT, next, 0, 4, MPI_INT, MPI_NO_OP, win);
    values[0]++;
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Accumulate(values, 4, MPI_INT, next, 0, 4, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(next, win);
    values[0]++;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Memory at the origin. */
static void origins(void)
{
    int next = (rank + 1) % size, one = 1, fetched[2];
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 3; i++) {
        MPI_Get(values, 4, MPI_INT, next, 0, 4, MPI_INT, win);
        MPI_Get(values + 4, 4, MPI_INT, next, 0, 4, MPI_INT, win);
        MPI_Win_flush_local(next, win);
        MPI_Accumulate(values + 4, 4, MPI_INT, next, 16, 4, MPI_INT, MPI_SUM, win);
        MPI_Accumulate(values + 4, 4, MPI_INT, next, 16, 4, MPI_INT, MPI_SUM, win);
        MPI_Win_flush(next, win);
        MPI_Fetch_and_op(&one, &fetched[0], MPI_INT, next, 20, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &fetched[1], MPI_INT, next, 20, MPI_SUM, win);
        /* What is not combined is not read. */
        MPI_Get_accumulate(values, 4, MPI_INT, values, 4, MPI_INT, next, 24, 4, MPI_INT, MPI_NO_OP, win);
        MPI_Win_flush_all(win);
        MPI_Bcast(fetched, 2, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Memory of the window in messages and collectives. */
static void own_memory(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Request requests[2];
    for (int i = 0; i < 5; i++) {
        MPI_Sendrecv(memory, 4, MPI_INT, next, 0, memory + 8, 4, MPI_INT, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Bcast(memory + 16, 4, MPI_INT, i % size, MPI_COMM_WORLD);
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        put(next, 8, 4);
        MPI_Get(values + 20, 4, MPI_INT, next, 40, 4, MPI_INT, win);
        /* Other bytes, or both only read. */
        MPI_Irecv(memory + 12, 4, MPI_INT, last, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(memory + 40, 4, MPI_INT, next, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Allreduce(memory + 40, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        MPI_Reduce(rank == 0 ? MPI_IN_PLACE : memory + 8, memory + 8, 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* The lock of the target excludes the others. */
    for (int i = 0; i < 5; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        if (rank == 1)
            MPI_Sendrecv(memory + 2, 1, MPI_INT, 1, 0, memory + 3, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            put(1, 2, 2);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* Messages tell each side when it is its turn. */
    MPI_Win_lock_all(0, win);
    if (rank == 1) {
        MPI_Recv(memory + 30, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(memory + 30, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(memory + 30, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        put(1, 30, 1);
        MPI_Win_flush(1, win);
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    in_different_fences();
    interleaved();
    under_exclusive_locks();
    one_after_the_other();
    by_turns();
    atomic();
    post_and_start();
    dynamic();
    reused();
    origins();
    own_memory();
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
