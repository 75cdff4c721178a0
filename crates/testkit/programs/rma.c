/* One-sided communication: all kinds of windows, all ways to synchronize, all ways to move data. */
#include "expect.h"

enum { N = 16 };
static long sum;
static int next;

static void fence(MPI_Win win, int *base)
{
    int value = expect_rank + 1, got = 0, one = 1;
    CALL(MPI_Win_fence, 0, win);
    CALL(MPI_Put, &value, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    CALL(MPI_Win_fence, 0, win);
    CALL(MPI_Get, &got, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    CALL(MPI_Win_fence, 0, win);
    CALL(MPI_Accumulate, &one, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_SUM, win);
    CALL(MPI_Win_fence, MPI_MODE_NOSUCCEED, win);
    sum += got + base[0] + base[1];
}

static void post_start(MPI_Win win)
{
    MPI_Group world, to, from;
    int previous = (expect_rank + expect_size - 1) % expect_size, value = 3;
    CALL(MPI_Comm_group, MPI_COMM_WORLD, &world);
    CALL(MPI_Group_incl, world, 1, &next, &to);
    CALL(MPI_Group_incl, world, 1, &previous, &from);
    CALL(MPI_Win_post, from, 0, win);
    CALL(MPI_Win_start, to, 0, win);
    CALL(MPI_Put, &value, 1, MPI_INT, next, 2, 1, MPI_INT, win);
    CALL(MPI_Win_complete, win);
    CALL(MPI_Win_wait, win);
    CALL(MPI_Win_post, from, 0, win);
    CALL(MPI_Win_start, to, 0, win);
    CALL(MPI_Win_complete, win);
    int flag = 0;
    do
        CALL(MPI_Win_test, win, &flag);
    while (!flag);
    CALL(MPI_Group_free, &to);
    CALL(MPI_Group_free, &from);
    CALL(MPI_Group_free, &world);
}

static void lock(MPI_Win win)
{
    int value = 5, old = 0, zero = 0, got = 0;
    MPI_Request request;
    CALL(MPI_Win_lock, MPI_LOCK_EXCLUSIVE, next, 0, win);
    CALL(MPI_Put, &value, 1, MPI_INT, next, 3, 1, MPI_INT, win);
    CALL(MPI_Win_flush_local, next, win);
    CALL(MPI_Win_unlock, next, win);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    CALL(MPI_Win_lock_all, 0, win);
    CALL(MPI_Fetch_and_op, &value, &old, MPI_INT, 0, 4, MPI_SUM, win);
    CALL(MPI_Win_flush, 0, win);
    CALL(MPI_Compare_and_swap, &value, &zero, &got, MPI_INT, next, 5, win);
    CALL(MPI_Win_flush_all, win);
    CALL(MPI_Get_accumulate, &value, 1, MPI_INT, &old, 1, MPI_INT, next, 6, 1, MPI_INT, MPI_SUM, win);
    CALL(MPI_Win_flush_local_all, win);
    CALL(MPI_Rput, &value, 1, MPI_INT, next, 7, 1, MPI_INT, win, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Win_flush, next, win);
    CALL(MPI_Rget, &got, 1, MPI_INT, next, 7, 1, MPI_INT, win, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Raccumulate, &value, 1, MPI_INT, next, 8, 1, MPI_INT, MPI_SUM, win, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Rget_accumulate, &value, 1, MPI_INT, &old, 1, MPI_INT, next, 9, 1, MPI_INT, MPI_SUM, win, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Win_sync, win);
    CALL(MPI_Win_unlock_all, win);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    sum += got;
}

int main(int argc, char **argv)
{
    int *base = NULL;
    MPI_Win win;
    MPI_Info info;
    MPI_Group group;
    expect_init(&argc, &argv);
    next = (expect_rank + 1) % expect_size;

    CALL(MPI_Win_allocate, N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    memset(base, 0, N * sizeof(int));
    CALL(MPI_Win_set_name, win, "window");
    fence(win, base);
    post_start(win);
    lock(win);
    CALL(MPI_Win_get_group, win, &group);
    CALL(MPI_Group_free, &group);
    CALL(MPI_Win_get_info, win, &info);
    CALL(MPI_Info_free, &info);
    CALL(MPI_Win_free, &win);

    int memory[N] = {0};
    CALL(MPI_Win_create, memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    fence(win, memory);
    CALL(MPI_Win_free, &win);

    MPI_Comm node;
    MPI_Aint size;
    int unit;
    CALL(MPI_Comm_split_type, MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    CALL(MPI_Win_allocate_shared, N * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &base, &win);
    CALL(MPI_Win_shared_query, win, 0, &size, &unit, &base);
    sum += size;
    CALL(MPI_Win_free, &win);
    CALL(MPI_Comm_free, &node);

    CALL(MPI_Win_create_dynamic, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    CALL(MPI_Win_attach, win, memory, sizeof memory);
    CALL(MPI_Win_detach, win, memory);
    CALL(MPI_Win_free, &win);

    expect_summary("rma", sum);
    expect_finish();
    return 0;
}
