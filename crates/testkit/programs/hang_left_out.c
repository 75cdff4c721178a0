/* Programs that hang because one rank omits a call, or makes another one instead: see hang.c, whose comments have the same format.
 *
 * The rank that omitted it is found by comparing the calls of the others before the place where all wait.
 */
#include "hang.h"

#define LARGE (4 << 20)

static char large[LARGE];

static void receive(int from, int tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* scenario send_left_out_of_a_loop 4 message-never-sent culprit 2 says : rank 2 has called MPI_Send at hang_left_out.c: */
static void send_left_out_of_a_loop(void)
{
    int value = rank, sum, from_left;
    for (int i = 0; i < 6; i++) {
        MPI_Request request;
        MPI_Irecv(&from_left, 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, &request);
        if (rank != 2 || i != 3)
            MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here: send_left_out_of_a_loop */
    }
}

/* scenario send_left_out_of_a_gather 5 message-never-sent culprit 3 says : rank 3 has not called MPI_Send at hang_left_out.c: */
static void send_left_out_of_a_gather(void)
{
    int value = rank;
    for (int from = 1; from < size && rank == 0; from++)
        receive(from, 7);
    if (rank != 0 && rank != 3)
        MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* here: send_left_out_of_a_gather */
}

/* scenario receive_left_out 3 message-never-received culprit 2 without intel,intel-abi says : rank 2 has not called MPI_Recv at hang_left_out.c: */
static void receive_left_out(void)
{
    for (int to = 1; to < size && rank == 0; to++)
        MPI_Send(large, LARGE, MPI_CHAR, to, 7, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(large, LARGE, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD); /* here: receive_left_out */
}

/* scenario sent_behind_the_barrier 4 deadlock says 0 -> 1 -> 0 */
static void sent_behind_the_barrier(void)
{
    /* No rank has omitted a call: the order is wrong. */
    int value = rank;
    if (rank == 2)
        MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    if (rank == 0) {
        receive(2, 6);
        receive(1, 7);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* here: sent_behind_the_barrier */
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
}

/* scenario freed_while_others_reduce 3 collective-mismatch culprit 2 says rank 2 has freed it in collective 1 */
static void freed_while_others_reduce(void)
{
    int value = rank, sum;
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank != 2)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, copy); /* here: freed_while_others_reduce */
    MPI_Comm_free(&copy);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario group_with_other_members 4 collective-not-entered without openmpi-4.1,openmpi-5.0 says with tag 5 on MPI_COMM_WORLD for the same group */
static void group_with_other_members(void)
{
    int all[3] = {0, 1, 2}, fewer[2] = {0, 2};
    MPI_Group world, group;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, rank == 2 ? 2 : 3, rank == 2 ? fewer : all, &group);
    if (rank < 3)
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &comm); /* here: group_with_other_members */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario locks_in_a_ring 3 rma says to release its exclusive lock of hang_left_out.c: */
static void locks_in_a_ring(void)
{
    int *memory, value = 1, first = (rank + 1) % size, second = (rank + 2) % size;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, window);
    MPI_Put(&value, 1, MPI_INT, first, 0, 1, MPI_INT, window);
    MPI_Win_flush(first, window);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Either call may wait, depending on the library. */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, second, 0, window), MPI_Win_flush(second, window); /* here: locks_in_a_ring */
    MPI_Win_unlock(second, window);
    MPI_Win_unlock(first, window);
    MPI_Win_free(&window);
}

SCENARIOS(S(send_left_out_of_a_loop), S(send_left_out_of_a_gather), S(receive_left_out), S(sent_behind_the_barrier),
          S(freed_while_others_reduce), S(group_with_other_members), S(locks_in_a_ring))
