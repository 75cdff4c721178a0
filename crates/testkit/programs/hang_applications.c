/* Programs like parts of applications: they go round many times before the mistake, in several phases.
 * The comments have the format of hang.c. */
#include "hang.h"
#include <pthread.h>
#include <setjmp.h>

#define ROUNDS 40
#define MISTAKE 30

static int value;

static void send(int to, int tag, MPI_Comm comm)
{
    MPI_Send(&value, 1, MPI_INT, to, tag, comm);
}

/* A sparse exchange: nobody knows from whom messages will come, so all probe until all have been received. */
static void sparse_exchange(int tag_of_last)
{
    int there, received, done = 0, sent = 0;
    MPI_Status status;
    MPI_Request sends[2], barrier = MPI_REQUEST_NULL;
    MPI_Issend(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &sends[0]);
    MPI_Issend(&value, 1, MPI_INT, (rank + 2) % size, tag_of_last, MPI_COMM_WORLD, &sends[1]);
    while (!done) {
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &there, &status);
        if (there)
            MPI_Recv(&received, 1, MPI_INT, status.MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (barrier != MPI_REQUEST_NULL) {
            MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        } else {
            MPI_Testall(2, sends, &sent, MPI_STATUSES_IGNORE);
            if (sent)
                MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
        }
    }
}

/* scenario sparse_exchange_with_two_tags 4 polling culprit 1 says with tag 8 to rank 3 on MPI_COMM_WORLD */
static void sparse_exchange_with_two_tags(void)
{
    for (int i = 0; i < ROUNDS; i++)
        sparse_exchange(rank == 1 && i == MISTAKE ? 8 : 7);
}

/* scenario sparse_exchange_with_a_late_rank 4 slow culprit 2 */
static void sparse_exchange_with_a_late_rank(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 2 && i == MISTAKE)
            sleep(140); /* here: sparse_exchange_with_a_late_rank */
        sparse_exchange(7);
    }
}

static void sum(MPI_Comm comm)
{
    int total;
    MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, comm); /* here: sums_of_rows_and_columns */
}

/* Sums over the rows and columns of a square; `swaps` does it the other way round. */
static void sums(int swaps, int late)
{
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &column);
    for (int i = 0; i < ROUNDS; i++) {
        if (late && i == MISTAKE)
            sleep(140);
        sum(swaps && i == MISTAKE ? column : row);
        sum(swaps && i == MISTAKE ? row : column);
    }
}

/* scenario sums_of_rows_and_columns 4 deadlock culprit 0 says 0 -> 2 -> 3 -> 1 -> 0 (4 ranks wait for each other) */
static void sums_of_rows_and_columns(void)
{
    sums(rank == 0 || rank == 3, 0);
}

/* scenario sums_with_a_late_rank 4 slow culprit 3 */
static void sums_with_a_late_rank(void)
{
    sums(0, rank == 3);
}

/* Ranks 1 and 2 put something into the memory of rank 0; `stop` is what rank 2 does in the end before completion. */
static void puts_of_two(void (*stop)(void))
{
    static int origins[] = {1, 2}, target[] = {0};
    int *memory;
    MPI_Win window;
    MPI_Group world, first, others;
    MPI_Win_allocate(sizeof *memory * 4, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, target, &first);
    MPI_Group_incl(world, 2, origins, &others);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            MPI_Win_post(others, 0, window);
            MPI_Win_wait(window); /* here: epoch_not_completed */
        } else {
            MPI_Win_start(first, 0, window);
            MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
            if (rank == 2 && i == MISTAKE)
                stop();
            MPI_Win_complete(window);
        }
    }
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void rest(void)
{
    sleep(140);
}

/* scenario epoch_not_completed 3 rma culprit 2 says rank 0 waits for rank 2 to complete its access */
static void epoch_not_completed(void)
{
    puts_of_two(barrier);
}

/* scenario epoch_completed_late 3 slow culprit 2 */
static void epoch_completed_late(void)
{
    puts_of_two(rest);
}

/* Asks rank 0 for work until there is none, then reports; `gives_up` returns earlier. */
static void work(int gives_up)
{
    MPI_Status status;
    for (;;) {
        send(0, 1, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == 4)
            break;
        if (gives_up && value >= MISTAKE)
            return;
    }
    send(0, 2, MPI_COMM_WORLD);
}

/* scenario worker_gives_up 5 message-never-sent culprit 3 says rank 3 did not */
static void worker_gives_up(void)
{
    int given = 0, stopped = 0, asks;
    MPI_Status status;
    if (rank > 0)
        work(rank == 3);
    while (rank == 0 && stopped < size - 1) {
        MPI_Recv(&asks, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status); /* here: worker_gives_up */
        value = given;
        if (given++ < 10 * ROUNDS || status.MPI_SOURCE == 3)
            send(status.MPI_SOURCE, 3, MPI_COMM_WORLD);
        else
            send(status.MPI_SOURCE, 4, MPI_COMM_WORLD), stopped++;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static jmp_buf top;

/* scenario ring_left_by_a_jump 3 message-never-sent culprit 1 says rank 1 is in MPI_Finalize */
static void ring_left_by_a_jump(void)
{
    int received, after = (rank + 1) % size, before = (rank + size - 1) % size;
    const MPI_Comm world = MPI_COMM_WORLD;
    if (setjmp(top))
        return;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Sendrecv(&value, 1, MPI_INT, after, 3, &received, 1, MPI_INT, before, 3, world, MPI_STATUS_IGNORE); /* here: ring_left_by_a_jump */
        if (rank == 1 && i == MISTAKE)
            longjmp(top, 1);
    }
}

/* Answers messages on its own communicator, of which there are none. */
static void *answer(void *comm)
{
    int there, message;
    for (;;) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, *(MPI_Comm *)comm, &there, MPI_STATUS_IGNORE);
        if (there)
            MPI_Recv(&message, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, *(MPI_Comm *)comm, MPI_STATUS_IGNORE);
        usleep(1000);
    }
    return NULL;
}

/* scenario message_left_out_while_threads_poll 3 polling culprit 2 says rank 2 has called MPI_Send */
static void message_left_out_while_threads_poll(void)
{
    static MPI_Comm control;
    pthread_t thread;
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    pthread_create(&thread, NULL, answer, &control);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank > 0 && !(rank == 2 && i == MISTAKE))
            send(0, 9, MPI_COMM_WORLD);
        for (int from = 1; rank == 0 && from < size; from++)
            MPI_Recv(&value, 1, MPI_INT, from, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD); /* here: message_left_out_while_threads_poll */
    }
    pthread_join(thread, NULL);
}

/* scenario pipeline_far_ahead 3 message-never-sent without intel,intel-abi culprit 0 says records of earlier messages */
/* Rank 0 is far ahead: not all of its messages are recorded any more. */
static void pipeline_far_ahead(void)
{
    for (int i = 0; i < 3000; i++) {
        if (rank > 0)
            MPI_Recv(&value, 1, MPI_INT, rank - 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: pipeline_far_ahead */
        if (rank < size - 1)
            send(rank + 1, rank == 0 && i == 1200 ? i + 1 : i, MPI_COMM_WORLD);
    }
}

SCENARIOS(S(sparse_exchange_with_two_tags), S(sparse_exchange_with_a_late_rank), S(sums_of_rows_and_columns),
          S(sums_with_a_late_rank), S(epoch_not_completed), S(epoch_completed_late), S(worker_gives_up),
          S(ring_left_by_a_jump), S(message_left_out_while_threads_poll), S(pipeline_far_ahead))
