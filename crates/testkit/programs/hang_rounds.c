/* Programs that go round in step until one rank goes another number of rounds, or skips a part of one. The comments have the
 * format of hang.c. */
#include "hang.h"

enum { ROUNDS = 8, ODD = 5, LARGE = 4 << 20 };

static int value, total;
static char large[LARGE];

static void start(int *received, MPI_Request *requests, int with_left, int with_right)
{
    MPI_Irecv(&received[0], 1, MPI_INT, with_left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&received[1], 1, MPI_INT, with_right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(&value, 1, MPI_INT, with_right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(&value, 1, MPI_INT, with_left, 2, MPI_COMM_WORLD, &requests[3]);
}

static void exchange(int with_left, int with_right)
{
    int received[2];
    MPI_Request requests[4];
    start(received, requests, with_left, with_right);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void exchange_with(int partner)
{
    int received;
    MPI_Request requests[2];
    MPI_Irecv(&received, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&value, 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* With both neighbours of a ring. */
static void exchange_in_ring(void)
{
    exchange((rank + size - 1) % size, (rank + 1) % size);
}

/* With the neighbours in a row; those at its ends have one. */
static void exchange_in_row(void)
{
    exchange(rank ? rank - 1 : MPI_PROC_NULL, rank < size - 1 ? rank + 1 : MPI_PROC_NULL);
}

static void shift(void)
{
    int received;
    MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 3, &received, 1, MPI_INT, (rank + size - 1) % size, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sum(void)
{
    MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* A loop of rounds that one rank leaves early, or in which it stays longer. */
static void rounds(void (*round)(void), int odd, int odd_rounds)
{
    for (int i = 0; i < (rank == odd ? odd_rounds : ROUNDS); i++)
        round();
}

/* scenario leaves_the_ring_early 4 deadlock culprit 2 says ranks [0-1,3] are all still in MPI_Waitall */
static void leaves_the_ring_early(void)
{
    rounds(exchange_in_ring, 2, ODD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario leaves_the_row_early 5 message-never-sent culprit 3 */
static void leaves_the_row_early(void)
{
    rounds(exchange_in_row, 3, ROUNDS - 1);
    MPI_Gather(&value, 1, MPI_INT, large, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/* scenario leaves_the_shifts_early 4 deadlock culprit 1 says which rank 1 has left */
static void leaves_the_shifts_early(void)
{
    rounds(shift, 1, ODD);
    sum();
}

static void exchange_and_sum(void)
{
    exchange_in_ring();
    sum();
}

/* scenario leaves_exchanges_and_sums_early 4 deadlock culprit 2 says ranks [1,3] all wait for rank 2, which has gone on without them */
static void leaves_exchanges_and_sums_early(void)
{
    rounds(exchange_and_sum, 2, ODD);
    sum();
}

/* scenario goes_round_the_ring_once_more 4 deadlock culprit 2 says ranks [1,3] have each sent 8 messages to rank 2, which has received all of them */
static void goes_round_the_ring_once_more(void)
{
    rounds(exchange_in_ring, 2, ROUNDS + 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario goes_along_the_row_once_more 5 deadlock culprit 4 says rank 4 has skipped it, or goes round once more */
static void goes_along_the_row_once_more(void)
{
    rounds(exchange_in_row, 4, ROUNDS + 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario shifts_once_more 4 deadlock culprit 1 says rank 1 has skipped it, or goes round once more */
static void shifts_once_more(void)
{
    rounds(shift, 1, ROUNDS + 1);
    sum();
}

/* Rank 0 answers the requests of all others. */
static void serve(int requests, int unanswered)
{
    MPI_Status status;
    for (int i = 0; i < requests; i++) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, &status);
        if (i != unanswered)
            MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, 5, MPI_COMM_WORLD);
    }
}

static void ask(void)
{
    MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* scenario asks_once_more 4 deadlock culprit 2 says rank 2 has sent 9 messages to rank 0, but ranks [1,3] have each sent 8 */
static void asks_once_more(void)
{
    /* The others begin after rank 2 has been answered, so that it is one of them for which no answer is left. */
    if (rank == 1 || rank == 3)
        MPI_Recv(&value, 1, MPI_INT, 2, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        serve((size - 1) * ROUNDS, -1);
    else
        rounds(ask, 2, ROUNDS + 1);
    for (int to = 1; rank == 2 && to < size; to += 2)
        MPI_Send(&value, 1, MPI_INT, to, 8, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario asks_one_less 4 message-never-sent culprit 2 */
static void asks_one_less(void)
{
    if (rank == 0)
        serve((size - 1) * ROUNDS, -1);
    else
        rounds(ask, 2, ROUNDS - 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario request_without_answer 4 message-never-sent culprit 0 says but sent each of ranks */
static void request_without_answer(void)
{
    if (rank == 0)
        serve((size - 1) * ROUNDS, 7);
    else
        rounds(ask, -1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario last_request_without_answer 4 message-never-sent culprit 0 says but sent each of ranks */
static void last_request_without_answer(void)
{
    if (rank == 0)
        serve((size - 1) * ROUNDS, (size - 1) * ROUNDS - 1);
    else
        rounds(ask, -1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario sum_skipped_before_an_exchange 4 deadlock culprit 2 */
static void sum_skipped_before_an_exchange(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (rank != 2 || i != ODD)
            sum();
        exchange_in_ring();
    }
}

/* scenario sum_skipped_before_shifts 4 deadlock culprit 1 says rank 1 has skipped it, or goes round once more */
static void sum_skipped_before_shifts(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (rank != 1 || i != ODD)
            sum();
        shift();
        if (i % 4 == 3)
            MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* scenario round_skipped 4 deadlock culprit 2 says ranks [1,3] all wait for rank 2, which has gone on without them */
static void round_skipped(void)
{
    for (int i = 0; i < ROUNDS; i++)
        if (rank != 2 || i != ODD)
            exchange_in_ring();
    sum();
}

/* scenario message_skipped_in_a_pipeline 5 message-never-sent culprit 2 */
static void message_skipped_in_a_pipeline(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (rank > 0)
            MPI_Recv(&value, 1, MPI_INT, rank - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank < size - 1 && (rank != 2 || i != ODD))
            MPI_Send(&value, 1, MPI_INT, rank + 1, 6, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario barrier_skipped_on_the_way 4 deadlock culprit 2 says rank 2 has skipped it, or goes round once more */
static void barrier_skipped_on_the_way(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (rank != 2 || i != ODD)
            MPI_Barrier(MPI_COMM_WORLD);
        if (rank % 2)
            MPI_Ssend(&value, 1, MPI_INT, rank - 1, i, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_INT, rank + 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* scenario sum_of_two_skipped 4 collective-not-entered culprit 3 says rank 3 skipped a collective on MPI_COMM_WORLD: number 12, MPI_Allreduce */
static void sum_of_two_skipped(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (rank != 3 || i != ODD)
            MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* scenario sum_of_a_row_skipped 4 collective-not-entered culprit 3 */
static void sum_of_a_row_skipped(void)
{
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank != 3 || i != ODD)
            MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, row);
        MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, column);
    }
}

/* scenario large_message_without_progress 2 slow culprit 0 */
static void large_message_without_progress(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(large, LARGE, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
        sleep(140);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(large, LARGE, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* scenario rounds_of_another_parity 4 deadlock culprit 1 */
static void rounds_of_another_parity(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        exchange_in_ring();
        if (i % 2 == (rank == 1))
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* scenario two_leave_early 6 deadlock culprit 2 says and ranks [2,4] have gone on without them */
static void two_leave_early(void)
{
    rounds(exchange_in_ring, rank == 4 ? 4 : 2, ODD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario leaves_after_a_sum 4 collective-mismatch culprit 2 says ranks [1,3] wait for messages of rank 2 */
static void leaves_after_a_sum(void)
{
    for (int i = 0; i < (rank == 2 ? ODD : ROUNDS); i++)
        exchange_and_sum();
    MPI_Gather(&value, 1, MPI_INT, large, 1, MPI_INT, 2, MPI_COMM_WORLD);
}

/* Rank 0 sends the others one message each, once but for the last of them. */
static void distribute(int left_out)
{
    for (int to = 1; rank == 0 && to < size - left_out; to++)
        MPI_Send(&value, 1, MPI_INT, to, 9, MPI_COMM_WORLD);
    if (rank > 0)
        MPI_Recv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* scenario last_one_left_out 4 message-never-sent culprit 0 says rank 0 has sent 7 messages to rank 3, but 8 to each of */
static void last_one_left_out(void)
{
    for (int i = 0; i < ROUNDS; i++)
        distribute(i == ODD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario receives_once_more 4 deadlock culprit 3 says rank 3 has skipped it, or goes round once more */
static void receives_once_more(void)
{
    for (int i = 0; i < (rank == 3 ? ROUNDS + 1 : ROUNDS); i++)
        distribute(0);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario dimension_skipped 8 message-never-sent culprit 5 says rank 5 has sent 3 messages to rank 7, but 4 to each of */
static void dimension_skipped(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        for (int bit = 1; bit < size; bit *= 2)
            if (rank != 5 || bit != 2 || i != 3)
                exchange_with(rank ^ bit);
        sum();
    }
}

/* scenario leaves_polling_ranks_early 4 polling culprit 2 says and rank 2 has gone on without them */
static void leaves_polling_ranks_early(void)
{
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < (rank == 2 ? ODD : ROUNDS); i++) {
        int received[2], done = 0;
        MPI_Request requests[4];
        start(received, requests, left, right);
        while (!done)
            MPI_Testall(4, requests, &done, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario sums_once_more 4 collective-not-entered culprit 3 says they are in MPI_Finalize; only rank 3 called it */
static void sums_once_more(void)
{
    rounds(sum, 3, ROUNDS + 1);
}

/* Rank 0 hands out work, and ends each of the others with another tag. */
static void hand_out(int work, int not_ended)
{
    MPI_Status status;
    for (int to = 1; to < size; to++)
        MPI_Send(&value, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    for (int ended = 0; ended < size - 1; work--) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
        ended += work <= 0;
        if (work > 0 || status.MPI_SOURCE != not_ended)
            MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, work > 0 ? 1 : 3, MPI_COMM_WORLD);
    }
}

/* scenario worker_not_ended 5 message-never-sent culprit 0 says [1,3-4] 1 more than it received */
static void worker_not_ended(void)
{
    MPI_Status status = {.MPI_TAG = 0};
    if (rank == 0)
        hand_out(20, 2);
    while (rank > 0 && status.MPI_TAG != 3) {
        MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == 1)
            MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

SCENARIOS(S(leaves_the_ring_early), S(leaves_the_row_early), S(leaves_the_shifts_early), S(leaves_exchanges_and_sums_early),
          S(goes_round_the_ring_once_more), S(goes_along_the_row_once_more), S(shifts_once_more), S(asks_once_more),
          S(asks_one_less), S(request_without_answer), S(last_request_without_answer), S(sum_skipped_before_an_exchange),
          S(sum_skipped_before_shifts), S(round_skipped), S(message_skipped_in_a_pipeline), S(barrier_skipped_on_the_way),
          S(sum_of_two_skipped), S(sum_of_a_row_skipped), S(large_message_without_progress),
          S(rounds_of_another_parity), S(two_leave_early),
          S(leaves_after_a_sum), S(last_one_left_out), S(receives_once_more), S(dimension_skipped), S(leaves_polling_ranks_early),
          S(sums_once_more), S(worker_not_ended))
