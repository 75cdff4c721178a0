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

/* scenario group_with_other_members 4 collective-mismatch without openmpi-4.1,openmpi-5.0 says with tag 5 on MPI_COMM_WORLD for the same group */
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

#define MOST_PARTNERS 8

/* Every rank sends to all others, except for one message, and waits for any of them in turn. */
static void exchange(int tag, int with, int without)
{
    MPI_Request received[MOST_PARTNERS], sent[MOST_PARTNERS];
    int values[MOST_PARTNERS], count = 0, sends = 0, which;
    for (int other = 0; other < size; other++) {
        if (other == rank)
            continue;
        MPI_Irecv(&values[count], 1, MPI_INT, other, tag, MPI_COMM_WORLD, &received[count]);
        count++;
        if (rank != with || other != without)
            MPI_Isend(&rank, 1, MPI_INT, other, tag, MPI_COMM_WORLD, &sent[sends++]);
    }
    for (int i = 0; i < count; i++)
        MPI_Waitany(count, received, &which, MPI_STATUS_IGNORE); /* here: waitany_lacks_one_send */
    MPI_Waitall(sends, sent, MPI_STATUSES_IGNORE);
}

/* scenario waitany_lacks_one_send 4 message-never-sent culprit 2 says rank 2 has sent 3 messages to rank 1, but 4 to each of ranks [0,3] */
static void waitany_lacks_one_send(void)
{
    for (int round = 0; round < 4; round++)
        exchange(5, round == 3 ? 2 : -1, 1);
    for (int other = 0; other < size && rank == 1; other++)
        if (other != rank)
            MPI_Send(&other, 1, MPI_INT, other, 9, MPI_COMM_WORLD);
    if (rank != 1)
        receive(1, 9);
}

/* scenario one_of_several_sends_nothing 4 message-never-sent culprit 2 says rank 2 has sent no message to rank 0, but ranks [1,3] have each sent 1 */
static void one_of_several_sends_nothing(void)
{
    int value = rank;
    for (int i = 1; i < size && rank == 0; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: one_of_several_sends_nothing */
    if (rank != 0 && rank != 2)
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
}

/* scenario token_not_passed_on 4 message-never-sent culprit 2 says rank 2 has received 7 messages from rank 1, but sent 6 to rank 3 */
static void token_not_passed_on(void)
{
    int token = 0;
    for (int i = 0; i < 10; i++) {
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: token_not_passed_on */
        if (rank != 0 && (rank != 2 || i != 6))
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
    }
}

/* scenario group_of_another_color 6 collective-not-entered culprit 2 says passed color 0 there, and rank 2 color 1 */
static void group_of_another_color(void)
{
    int value = rank, sum;
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2 ? 1 : rank % 2, rank, &half);
    if (rank % 2 == 0)
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, half); /* here: group_of_another_color */
}

/* scenario halo_on_another_communicator 4 message-never-sent culprit 2 says on MPI_COMM_WORLD (4 bytes, hang_left_out.c: */
static void halo_on_another_communicator(void)
{
    MPI_Comm halo;
    MPI_Comm_dup(MPI_COMM_WORLD, &halo);
    for (int i = 0; i < 5; i++) {
        MPI_Request requests[4];
        MPI_Comm used = rank == 2 ? MPI_COMM_WORLD : halo;
        int left = (rank + size - 1) % size, right = (rank + 1) % size, from_left, from_right;
        MPI_Irecv(&from_left, 1, MPI_INT, left, 1, used, &requests[0]);
        MPI_Irecv(&from_right, 1, MPI_INT, right, 2, used, &requests[1]);
        MPI_Isend(&rank, 1, MPI_INT, right, 1, used, &requests[2]);
        MPI_Isend(&rank, 1, MPI_INT, left, 2, used, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* here: halo_on_another_communicator */
    }
}

/* scenario sum_on_another_communicator 4 deadlock culprit 1 says ; rank 1 called MPI_Allreduce at hang_left_out.c: */
static void sum_on_another_communicator(void)
{
    int value = rank, sum;
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, rank == 1 ? MPI_COMM_WORLD : copy); /* here: sum_on_another_communicator */
}

/* scenario synchronous_receive_left_out 3 message-never-received culprit 1 says and goes on only when it is; rank 1 waits for a message */
static void synchronous_receive_left_out(void)
{
    int value = rank;
    if (rank == 0) {
        MPI_Ssend(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: synchronous_receive_left_out */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario receive_from_a_finished_rank 3 message-never-sent culprit 2 says rank 0 has sent it none there, and is in MPI_Finalize */
static void receive_from_a_finished_rank(void)
{
    int value = rank;
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD);
    if (rank == 2)
        MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: receive_from_a_finished_rank */
}

/* scenario one_receive_too_many 4 deadlock culprit 0 says ; ranks [1-3] have each sent 3 messages to rank 0, which has received all of them */
static void one_receive_too_many(void)
{
    int value = rank;
    for (int from = 1; from < size && rank == 0; from++)
        for (int i = 0; i < (from == 3 ? 4 : 3); i++)
            MPI_Recv(&value, 1, MPI_INT, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: one_receive_too_many */
    for (int i = 0; i < 3 && rank != 0; i++)
        MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario one_receive_of_the_only_worker_too_many 2 deadlock culprit 0 says ; rank 1 is in MPI_Barrier at hang_left_out.c: */
static void one_receive_of_the_only_worker_too_many(void)
{
    int value = rank;
    for (int i = 0; i < 4 && rank == 0; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: one_receive_of_the_only_worker_too_many */
    for (int i = 0; i < 3 && rank != 0; i++)
        MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario after_a_short_receive 2 deadlock without intel-abi says 0 -> 1 -> 0 */
static void after_a_short_receive(void)
{
    /* The error is returned, and the program does not look at it. */
    int values[2] = {rank, rank};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Send(values, 2, MPI_INT, 1, 7, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(values, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: after_a_short_receive */
    MPI_Recv(values, 1, MPI_INT, 1 - rank, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* scenario rejected_and_not_repeated 3 collective-mismatch culprit 1 without intel-abi says MPI_Gather at hang_left_out.c: */
static void rejected_and_not_repeated(void)
{
    /* The error is returned, and the program does not look at it. */
    int value = rank, all[8];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++)
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, rank == 1 ? size + 5 : 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* here: rejected_and_not_repeated */
}

SCENARIOS(S(send_left_out_of_a_loop), S(send_left_out_of_a_gather), S(receive_left_out), S(sent_behind_the_barrier),
          S(freed_while_others_reduce), S(group_with_other_members), S(locks_in_a_ring),
          S(waitany_lacks_one_send), S(one_of_several_sends_nothing), S(token_not_passed_on), S(group_of_another_color),
          S(halo_on_another_communicator), S(sum_on_another_communicator), S(synchronous_receive_left_out),
          S(receive_from_a_finished_rank), S(one_receive_too_many), S(one_receive_of_the_only_worker_too_many),
          S(after_a_short_receive), S(rejected_and_not_repeated))
