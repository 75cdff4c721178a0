/* Programs that hang in calls of only some of the ranks: see hang.c, whose comments have the same format. */
#include "hang.h"
#include <stdio.h>
#include <stdlib.h>

static int values[64];

static MPI_Group group_of(int count, const int ranks[])
{
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, ranks, &group);
    MPI_Group_free(&world);
    return group;
}

static MPI_Win window(void)
{
    MPI_Win win;
    MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, "halo");
    return win;
}

/* scenario nobody_starts_an_access 3 rma culprit 1 says one of ranks [1-2] to start and complete its access to "halo" */
static void nobody_starts_an_access(void)
{
    MPI_Win win = window();
    const int origins[2] = {1, 2};
    if (rank == 0) {
        MPI_Win_post(group_of(2, origins), 0, win);
        MPI_Win_wait(win); /* here: nobody_starts_an_access */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario access_to_memory_that_is_being_freed 2 rma culprit 1 says rank 1 to expose its memory in "halo" (MPI_Win_post) */
static void access_to_memory_that_is_being_freed(void)
{
    MPI_Win win = window();
    const int target = 1;
    if (rank == 0) {
        MPI_Win_start(group_of(1, &target), 0, win);
        MPI_Put(values, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
    }
    MPI_Win_free(&win);
}

/* scenario shared_lock_of_all 3 rma culprit 1 says rank 1 to release its shared lock */
static void shared_lock_of_all(void)
{
    MPI_Win win = window();
    if (rank == 1) {
        MPI_Win_lock_all(0, win);
        MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_flush_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* here: shared_lock_of_all */
}

/* scenario group_without_a_member 3 collective-not-entered culprit 1 says rank 1 to call MPI_Comm_create_group with tag 5 */
static void group_without_a_member(void)
{
    const int members[2] = {0, 1};
    MPI_Comm comm;
    if (rank == 0)
        MPI_Comm_create_group(MPI_COMM_WORLD, group_of(2, members), 5, &comm);
    MPI_Barrier(MPI_COMM_WORLD); /* here: group_without_a_member */
}

/* scenario leaders_with_different_tags 3 no-partner culprit 1 says rank 1 to call MPI_Intercomm_create with tag 8 */
static void leaders_with_different_tags(void)
{
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 8 - rank % 2, &between); /* here: leaders_with_different_tags */
}

/* scenario rings_on_two_communicators 4 deadlock says 0 -> 1 -> 0 (2 ranks wait for each other), and 2 -> 3 -> 2 */
static void rings_on_two_communicators(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    MPI_Recv(values, 1, MPI_INT, 1 - rank % 2, 3, half, MPI_STATUS_IGNORE); /* here: rings_on_two_communicators */
}

SCENARIOS(
    S(nobody_starts_an_access), S(access_to_memory_that_is_being_freed), S(shared_lock_of_all), S(group_without_a_member),
    S(leaders_with_different_tags), S(rings_on_two_communicators))
