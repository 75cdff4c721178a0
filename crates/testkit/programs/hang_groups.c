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

/* scenario leaders_without_a_member 4 no-partner says rank 2 is in MPI_Intercomm_create */
/* The leaders have met, but rank 1 has yet to join the group of one of them, and waits for one of the other group. */
static void leaders_without_a_member(void)
{
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    if (rank == 1)
        MPI_Recv(values, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: leaders_without_a_member */
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 3 - rank % 2, 8, &between);
    if (rank == 0)
        MPI_Send(values, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
}

/* scenario rings_on_two_communicators 4 deadlock says 0 -> 1 -> 0 (2 ranks wait for each other), and 2 -> 3 -> 2 */
static void rings_on_two_communicators(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    MPI_Recv(values, 1, MPI_INT, 1 - rank % 2, 3, half, MPI_STATUS_IGNORE); /* here: rings_on_two_communicators */
}

/* scenario sent_on_the_world 4 message-never-sent culprit 2 says rank 2 sent a message with tag 3 to rank 1 on MPI_COMM_WORLD */
/* Meant for rank 1 of its half. */
static void sent_on_the_world(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    if (rank == 2)
        MPI_Send(values, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    if (rank == 3)
        MPI_Recv(values, 1, MPI_INT, 0, 3, half, MPI_STATUS_IGNORE); /* here: sent_on_the_world */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario group_with_two_tags 3 collective-mismatch without openmpi-4.1,openmpi-5.0 says with tag 5 on MPI_COMM_WORLD, not with tag 6 */
static void group_with_two_tags(void)
{
    const int members[2] = {0, 1};
    MPI_Comm comm;
    if (rank < 2)
        MPI_Comm_create_group(MPI_COMM_WORLD, group_of(2, members), 5 + rank, &comm); /* here: group_with_two_tags */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario children_ignore_their_parent 1 slow without mpich-4.0,intel,intel-abi says rank 0 waits for ranks 1.[0-1]: sleeping */
static void children_ignore_their_parent(void)
{
    MPI_Comm children;
    char *arguments[] = {"child_that_sleeps", NULL};
    MPI_Comm_spawn((char *)program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    MPI_Barrier(children); /* here: children_ignore_their_parent */
}

static void child_that_sleeps(void)
{
    sleep(140);
}

/* scenario two_senders_of_another_tag 3 message-never-sent culprit 1 says instead, which nobody receives; so did rank 2 */
static void two_senders_of_another_tag(void)
{
    MPI_Request requests[2];
    int at;
    if (rank > 0)
        MPI_Send(values, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    for (int i = 0; i < 2 && rank == 0; i++)
        MPI_Irecv(values + i, 1, MPI_INT, i + 1, 5, MPI_COMM_WORLD, &requests[i]);
    if (rank == 0)
        MPI_Waitany(2, requests, &at, MPI_STATUS_IGNORE); /* here: two_senders_of_another_tag */
    MPI_Barrier(MPI_COMM_WORLD); /* here: two_senders_of_another_tag */
}

/* scenario grids_that_differ 4 collective-mismatch culprit 1 says ranks [0,2-3] passed 2 x 2, rank 1 passed 1 x 4 to MPI_Cart_create */
static void grids_that_differ(void)
{
    int square[2] = {2, 2}, row[2] = {1, 4}, periods[2] = {0, 0}, before, after;
    MPI_Comm grid;
    MPI_Cart_create(MPI_COMM_WORLD, 2, rank == 1 ? row : square, periods, 0, &grid);
    MPI_Cart_shift(grid, 1, 1, &before, &after);
    MPI_Recv(values, 1, MPI_INT, before, 0, grid, MPI_STATUS_IGNORE);
    MPI_Ssend(values, 1, MPI_INT, after, 0, grid); /* here: grids_that_differ */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario spins_on_a_window 3 slow says making many MPI calls, such as MPI_ */
static void spins_on_a_window(void)
{
    int one = 1, zero = 0, taken = 0;
    MPI_Win win = window();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    /* Rank 0 takes what is meant to be a lock and does not give it back. */
    do {
        MPI_Compare_and_swap(&one, &zero, &taken, MPI_INT, 0, 0, win);
        MPI_Win_flush(0, win);
        if (rank == 0)
            MPI_Barrier(MPI_COMM_WORLD); /* here: spins_on_a_window */
    } while (taken || rank > 0);
}

SCENARIOS(
    S(nobody_starts_an_access), S(access_to_memory_that_is_being_freed), S(shared_lock_of_all), S(group_without_a_member),
    S(leaders_with_different_tags), S(leaders_without_a_member), S(rings_on_two_communicators), S(sent_on_the_world),
    S(group_with_two_tags),
    S(children_ignore_their_parent), S(child_that_sleeps), S(two_senders_of_another_tag), S(grids_that_differ),
    S(spins_on_a_window))
