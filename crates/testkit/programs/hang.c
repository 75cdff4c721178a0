/* Programs that hang, each for a different reason; `hang NAME` runs one of them.
 *
 * The comment before each function states the expected verdict of `mpiscope why`:
 *
 *   scenario NAME RANKS KIND [culprit RANKS] [says TEXT] [also TEXT] [without LIBRARIES]
 *
 * LIBRARIES do not hang there, or let the odd rank leave the collective: then only a history of collectives would reveal it.
 * KIND is the kind of the verdict; the line with the comment `here: NAME` must be part of the evidence. Programs of the kinds
 * `running`, `slow` and `finished` are correct, and must never get another verdict.
 */
#include "hang.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define LARGE (4 << 20)

static char large[LARGE];

static void compute_for(double seconds)
{
    double until = MPI_Wtime() + seconds;
    volatile double x = 0;
    while (MPI_Wtime() < until)
        for (int i = 0; i < 100000; i++)
            x += i;
}

static void receive(int from, int tag, MPI_Comm comm)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
}

static void send(int to, int tag, MPI_Comm comm)
{
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, to, tag, comm);
}

/* scenario ring_of_receives 4 deadlock says 0 -> 3 -> 2 -> 1 -> 0 */
static void ring_of_receives(void)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: ring_of_receives */
    send((rank + 1) % size, 7, MPI_COMM_WORLD);
}

/* scenario two_receives 2 deadlock says 0 -> 1 -> 0 */
static void two_receives(void)
{
    receive(1 - rank, 0, MPI_COMM_WORLD);
    send(1 - rank, 0, MPI_COMM_WORLD);
}

/* scenario head_to_head_sends 2 deadlock without intel,intel-abi says 0 -> 1 -> 0 */
static void head_to_head_sends(void)
{
    MPI_Send(large, LARGE, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD); /* here: head_to_head_sends */
    MPI_Recv(large, LARGE, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* scenario synchronous_sends 3 deadlock says 0 -> 1 -> 2 -> 0 */
static void synchronous_sends(void)
{
    int value = 0;
    MPI_Ssend(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD); /* here: synchronous_sends */
    receive((rank + size - 1) % size, 0, MPI_COMM_WORLD);
}

/* scenario inner_ring 5 deadlock says 1 -> 3 -> 1 */
static void inner_ring(void)
{
    if (rank == 1 || rank == 3)
        receive(4 - rank, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* here: inner_ring */
}

static void hang_while_others_exchange(int first, int second)
{
    double until = MPI_Wtime() + 60;
    MPI_Comm comm;
    int in, pair = rank == first || rank == second;
    MPI_Comm_split(MPI_COMM_WORLD, pair, rank, &comm);
    if (pair)
        MPI_Recv(&in, 1, MPI_INT, first + second - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: a_pair_hangs_while_others_exchange */
    for (int go = 1; go;) {
        MPI_Allreduce(&rank, &in, 1, MPI_INT, MPI_SUM, comm);
        usleep(1000);
        go = MPI_Wtime() < until;
        MPI_Bcast(&go, 1, MPI_INT, 0, comm);
    }
}

/* scenario a_pair_hangs_while_others_exchange 6 deadlock says 1 -> 3 -> 1 */
static void a_pair_hangs_while_others_exchange(void)
{
    hang_while_others_exchange(1, 3);
}

/* On three hosts neither is on the host of rank 0; only the tests of many hosts use it. */
static void another_pair_hangs_while_others_exchange(void)
{
    hang_while_others_exchange(3, 5);
}

/* scenario receive_against_barrier 3 deadlock says 0 -> 1 -> 0 */
static void receive_against_barrier(void)
{
    if (rank == 0)
        receive(1, 5, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        send(0, 5, MPI_COMM_WORLD);
}

/* scenario wait_for_receives 2 deadlock says 0 -> 1 -> 0 */
static void wait_for_receives(void)
{
    int value;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: wait_for_receives */
    send(1 - rank, 3, MPI_COMM_WORLD);
}

/* scenario waitall_in_a_ring 4 deadlock says 0 -> */
static void waitall_in_a_ring(void)
{
    int value[2];
    MPI_Request requests[2];
    MPI_Irecv(&value[0], 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&value[1], 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* here: waitall_in_a_ring */
}

/* scenario waitany_nobody_sends 3 deadlock says no rank is left that could release them */
static void waitany_nobody_sends(void)
{
    int value[2], index;
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&value[i], 1, MPI_INT, (rank + 1 + i) % size, 3, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE); /* here: waitany_nobody_sends */
}

/* scenario wildcards_everywhere 3 deadlock says no rank is left that could release them */
static void wildcards_everywhere(void)
{
    receive(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD);
}

/* scenario probe_for_nothing 2 deadlock says 0 -> 1 -> 0 */
static void probe_for_nothing(void)
{
    MPI_Probe(1 - rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: probe_for_nothing */
}

/* scenario sendrecv_crossed 3 deadlock says -> */
static void sendrecv_crossed(void)
{
    int out = 0, in;
    /* Every rank receives from the right and sends to the right. */
    int right = (rank + 1) % size;
    MPI_Sendrecv(&out, 1, MPI_INT, right, 0, &in, 1, MPI_INT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: sendrecv_crossed */
}

/* scenario self_receive 2 deadlock says 0 -> 0 */
static void self_receive(void)
{
    if (rank == 0)
        receive(0, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario subcommunicator_ranks 4 deadlock says 1 -> 3 -> 1 */
static void subcommunicator_ranks(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, rank % 2 ? "odd" : "even");
    int mine;
    MPI_Comm_rank(half, &mine);
    if (rank % 2)
        receive(1 - mine, 4, half);
    MPI_Barrier(half);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario reordered_communicator 3 deadlock says 0 -> 2 -> 0 */
static void reordered_communicator(void)
{
    MPI_Comm turned;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &turned);
    if (rank != 1)
        receive(rank, 4, turned);
    MPI_Barrier(turned);
}

/* scenario other_tag 2 message-never-sent culprit 0 says tag 42 */
static void other_tag(void)
{
    if (rank == 0)
        send(1, 41, MPI_COMM_WORLD);
    else
        receive(0, 42, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario other_tag_then_finalize 2 message-never-sent culprit 0 says tag 41 */
static void other_tag_then_finalize(void)
{
    if (rank == 0)
        send(1, 41, MPI_COMM_WORLD);
    else
        receive(0, 42, MPI_COMM_WORLD);
}

/* scenario two_other_tags 2 message-never-sent culprit 0 says tag 42 */
static void two_other_tags(void)
{
    if (rank == 0) {
        send(1, 41, MPI_COMM_WORLD);
        send(1, 43, MPI_COMM_WORLD);
    } else
        receive(0, 42, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario other_communicator 2 message-never-sent culprit 0 says "other" */
static void other_communicator(void)
{
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "other");
    if (rank == 0)
        send(1, 7, other);
    else
        receive(0, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario other_receiver 3 message-never-sent says tag 7 */
static void other_receiver(void)
{
    if (rank == 0)
        send(1, 7, MPI_COMM_WORLD);
    if (rank == 2)
        receive(0, 7, MPI_COMM_WORLD);
}

/* scenario other_sender 3 message-never-sent says rank 2 sent */
static void other_sender(void)
{
    if (rank == 2)
        send(1, 7, MPI_COMM_WORLD);
    if (rank == 1)
        receive(0, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario nothing_sent_then_finalize 2 message-never-sent culprit 1 says in MPI_Finalize */
static void nothing_sent_then_finalize(void)
{
    if (rank == 0)
        receive(1, 7, MPI_COMM_WORLD);
}

/* scenario one_message_too_few 2 message-never-sent culprit 0 says in MPI_Finalize */
static void one_message_too_few(void)
{
    for (int i = 0; i < 100; i++) {
        if (rank == 0 && i < 99)
            send(1, 7, MPI_COMM_WORLD);
        if (rank == 1)
            receive(0, 7, MPI_COMM_WORLD);
    }
}

/* scenario never_received 2 message-never-received culprit 1 says is in MPI_Finalize */
static void never_received(void)
{
    int value = 0;
    if (rank == 0)
        MPI_Ssend(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD); /* here: never_received */
}

/* scenario large_never_received 2 message-never-received culprit 1 without intel,intel-abi says is in MPI_Finalize */
static void large_never_received(void)
{
    if (rank == 0)
        MPI_Send(large, LARGE, MPI_CHAR, 1, 7, MPI_COMM_WORLD); /* here: large_never_received */
}

/* scenario different_functions 4 collective-mismatch culprit 1 says MPI_Bcast */
static void different_functions(void)
{
    int value = 0, sum;
    if (rank == 1)
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario barrier_against_allreduce 3 collective-mismatch without intel,intel-abi says MPI_Barrier */
static void barrier_against_allreduce(void)
{
    int value = 0, sum;
    for (int i = 0; i < 10; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(&value, 1, MPI_INT, large, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario different_order_of_communicators 2 deadlock says crossed collectives: rank 0 is in MPI_Barrier at hang.c: */
static void different_order_of_communicators(void)
{
    MPI_Comm a, b;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_dup(MPI_COMM_WORLD, &b);
    MPI_Barrier(rank ? a : b); /* here: different_order_of_communicators */
    MPI_Barrier(rank ? b : a);
}

/* scenario one_skips_a_barrier 3 collective-not-entered culprit 1 says never entered MPI_Barrier */
static void one_skips_a_barrier(void)
{
    if (rank != 1)
        MPI_Barrier(MPI_COMM_WORLD); /* here: one_skips_a_barrier */
}

/* scenario one_leaves_a_loop_early 4 collective-not-entered culprit 2 */
static void one_leaves_a_loop_early(void)
{
    int value = 1, sum;
    for (int i = 0; i < 20; i++) {
        if (rank == 2 && i == 15)
            break;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here: one_leaves_a_loop_early */
    }
}

/* scenario nonblocking_collective_missing 3 collective-not-entered culprit 1 */
static void nonblocking_collective_missing(void)
{
    MPI_Request request;
    if (rank != 1) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: nonblocking_collective_missing */
    }
}

/* scenario polling_for_nothing 2 polling culprit 0 */
static void polling_for_nothing(void)
{
    int value, flag = 0;
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* here: polling_for_nothing */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario iprobe_for_nothing 2 polling culprit 0 */
static void iprobe_for_nothing(void)
{
    int flag = 0;
    if (rank == 0)
        while (!flag)
            MPI_Iprobe(1, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); /* here: iprobe_for_nothing */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario lock_never_given_back 2 rma culprit 0 says rank 0 to release its exclusive lock */
static void lock_never_given_back(void)
{
    int value = 0, *memory;
    MPI_Win win;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "counters");
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        receive(1, 9, MPI_COMM_WORLD);
    else {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        send(0, 9, MPI_COMM_WORLD);
    }
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
}

/* scenario one_computes 4 slow culprit 1 says computing */
static void one_computes(void)
{
    if (rank == 1)
        compute_for(140);
    MPI_Barrier(MPI_COMM_WORLD); /* here: one_computes */
}

/* scenario one_sleeps 3 slow culprit 0 says sleeping */
static void one_sleeps(void)
{
    if (rank == 0)
        sleep(60);
    MPI_Barrier(MPI_COMM_WORLD); /* here: one_sleeps */
}

/* scenario sender_computes 2 slow culprit 0 says computing */
static void sender_computes(void)
{
    if (rank == 0) {
        compute_for(60);
        send(1, 3, MPI_COMM_WORLD);
    } else
        receive(0, 3, MPI_COMM_WORLD);
}

/* scenario one_is_stopped 2 rank-stopped culprit 1 says stopped */
static void one_is_stopped(void)
{
    if (rank == 1)
        raise(SIGSTOP);
    MPI_Barrier(MPI_COMM_WORLD); /* here: one_is_stopped */
}

/* scenario one_is_stopped_in_a_call 2 rank-stopped culprit 1 says stopped by a signal in MPI_Barrier */
static void one_is_stopped_in_a_call(void)
{
    int other = getpid();
    if (rank == 1)
        MPI_Send(&other, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    else {
        MPI_Recv(&other, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(300000);
        kill(other, SIGSTOP);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* here: one_is_stopped_in_a_call */
}

/* scenario all_compute 3 running */
static void all_compute(void)
{
    compute_for(60);
}

/* scenario busy_with_messages 4 running */
static void busy_with_messages(void)
{
    double until = MPI_Wtime() + 60;
    int go = 1;
    while (go) {
        int in, out = rank;
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        go = MPI_Wtime() < until;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* scenario wildcard_server_idles 3 slow culprit 1 says computing */
static void wildcard_server_idles(void)
{
    if (rank == 0)
        for (int i = 1; i < size; i++)
            receive(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD);
    else {
        compute_for(60);
        send(0, 1, MPI_COMM_WORLD);
    }
}

/* scenario many_messages_in_flight 2 slow culprit 1 says computing */
static void many_messages_in_flight(void)
{
    if (rank == 0)
        for (int i = 0; i < 2000; i++)
            send(1, i % 5, MPI_COMM_WORLD);
    else
        compute_for(60);
    MPI_Barrier(MPI_COMM_WORLD);
}

SCENARIOS(
    S(ring_of_receives), S(two_receives), S(head_to_head_sends), S(synchronous_sends), S(inner_ring), S(a_pair_hangs_while_others_exchange), S(another_pair_hangs_while_others_exchange),
    S(receive_against_barrier), S(wait_for_receives), S(waitall_in_a_ring), S(waitany_nobody_sends),
    S(wildcards_everywhere), S(probe_for_nothing), S(sendrecv_crossed), S(self_receive),
    S(subcommunicator_ranks), S(reordered_communicator), S(other_tag), S(other_tag_then_finalize),
    S(two_other_tags), S(other_communicator), S(other_receiver), S(other_sender),
    S(nothing_sent_then_finalize), S(one_message_too_few), S(never_received), S(large_never_received),
    S(different_functions), S(barrier_against_allreduce), S(different_order_of_communicators),
    S(one_skips_a_barrier), S(one_leaves_a_loop_early), S(nonblocking_collective_missing),
    S(polling_for_nothing), S(iprobe_for_nothing), S(lock_never_given_back), S(one_computes), S(one_sleeps),
    S(sender_computes), S(one_is_stopped), S(one_is_stopped_in_a_call), S(all_compute), S(busy_with_messages),
    S(wildcard_server_idles), S(many_messages_in_flight))
