/* Polling loops (MPI_Test, MPI_Iprobe, …): some for events that never occur, and correct ones that send at timed intervals.
 * The comments have the format of hang.c. */
#include "hang.h"
#include <stdlib.h>
#include <time.h>

/* Seconds between messages sent at timed intervals. */
#define PERIOD 1.0

static double now(void)
{
    /* Not an MPI call: it is not visible from outside that a loop reads the clock. */
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

/* All ranks receive messages from any rank, and send one to the next rank at timed intervals. */
static void beat(int microseconds)
{
    int value = 0, there;
    double next = now() + PERIOD;
    for (;;) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (now() > next) {
            next = now() + PERIOD;
            MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        }
        if (microseconds)
            usleep(microseconds);
    }
}

/* scenario beats_and_pauses 3 slow says may be waiting for a certain time */
static void beats_and_pauses(void)
{
    beat(1000);
}

/* scenario beats_and_spins 2 slow says may be waiting for a certain time */
static void beats_and_spins(void)
{
    beat(0);
}

/* scenario work_by_the_clock 2 slow culprit 0 says may be waiting for a certain time */
static void work_by_the_clock(void)
{
    int value = 0, done;
    MPI_Request request;
    double next = now() + PERIOD;
    if (rank == 1)
        for (;;) {
            MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        }
    MPI_Irecv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    for (;;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* here: work_by_the_clock */
        if (done)
            MPI_Irecv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
        if (now() > next) {
            next = now() + PERIOD;
            MPI_Send(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        }
    }
}

/* Rank 0 polls for a message of each of the others in turn. */
static void test_in_turn(void)
{
    int values[8], done = 0;
    MPI_Request requests[8];
    for (int i = 1; i < size; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD, &requests[i]);
    for (int i = 1; !done; i = i % (size - 1) + 1) {
        MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        if (i == size - 1)
            usleep(1000);
    }
}

/* scenario tests_in_turn 3 slow culprit 1 */
static void tests_in_turn(void)
{
    if (rank == 0)
        test_in_turn();
    if (rank == 1)
        sleep(140);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario tests_in_turn_for_nothing 3 polling culprit 0 */
static void tests_in_turn_for_nothing(void)
{
    if (rank == 0)
        test_in_turn();
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario probes_in_turn 3 slow culprit 1 */
static void probes_in_turn(void)
{
    int there = 0;
    for (int i = 1; rank == 0 && !there; i = i % (size - 1) + 1) {
        MPI_Iprobe(i, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (i == size - 1)
            usleep(1000);
    }
    if (rank == 1)
        sleep(140);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario tests_for_one_that_finalizes 2 polling culprit 0 says rank 1: in MPI_Finalize */
static void tests_for_one_that_finalizes(void)
{
    int value, done = 0;
    MPI_Request request;
    if (rank == 1)
        return;
    MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* here: tests_for_one_that_finalizes */
}

/* scenario all_poll_for_nothing 3 polling says nobody else can bring about */
static void all_poll_for_nothing(void)
{
    int there = 0;
    while (!there)
        MPI_Iprobe((rank + 1) % size, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE); /* here: all_poll_for_nothing */
}

/* scenario polls_for_a_barrier 3 polling culprit 2 says nobody can bring about */
static void polls_for_a_barrier(void)
{
    int done = 0;
    MPI_Request request;
    if (rank == 2)
        return;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

/* scenario tests_what_is_complete_too 3 polling culprit 0 says nobody else can bring about */
static void tests_what_is_complete_too(void)
{
    int values[2], one = 0, two = 0;
    MPI_Request requests[2];
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, i + 1, 0, MPI_COMM_WORLD, &requests[i]);
        while (!one || !two) {
            MPI_Test(&requests[0], &one, MPI_STATUS_IGNORE);
            MPI_Test(&requests[1], &two, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 1)
        MPI_Send(values, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Receives of one message from each neighbor, which none of them sends. */
static void from_both_sides(int *values, MPI_Request *requests)
{
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, (rank + 1 + i) % size, 0, MPI_COMM_WORLD, &requests[i]);
}

/* scenario testany_for_nothing 3 polling culprit 0 */
static void testany_for_nothing(void)
{
    int values[2], which, done = 0;
    MPI_Request requests[2];
    if (rank == 0) {
        from_both_sides(values, requests);
        while (!done)
            MPI_Testany(2, requests, &which, &done, MPI_STATUS_IGNORE); /* here: testany_for_nothing */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario testsome_for_nothing 3 polling says nobody else can bring about */
static void testsome_for_nothing(void)
{
    int values[2], which[2], done = 0;
    MPI_Request requests[2];
    from_both_sides(values, requests);
    while (!done)
        MPI_Testsome(2, requests, &done, which, MPI_STATUSES_IGNORE); /* here: testsome_for_nothing */
}

/* Arrays of requests that are never created, or never started. */
static void none_under_way(MPI_Request *requests, int inactive)
{
    static int values[2];
    for (int i = 0; i < 2; i++)
        if (inactive)
            MPI_Recv_init(&values[i], 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &requests[i]);
        else
            requests[i] = MPI_REQUEST_NULL;
}

/* scenario testany_of_nothing 2 polling culprit 0 says all requests in the call are null or inactive */
static void testany_of_nothing(void)
{
    MPI_Request requests[2];
    int which, done, got = 0;
    none_under_way(requests, 0);
    while (rank == 0 && got < 2) {
        MPI_Testany(2, requests, &which, &done, MPI_STATUS_IGNORE); /* here: testany_of_nothing */
        got += done && which != MPI_UNDEFINED;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario testsome_of_inactive_requests 2 polling culprit 0 says all requests in the call are null or inactive */
static void testsome_of_inactive_requests(void)
{
    MPI_Request requests[2];
    int which[2], done, got = 0;
    none_under_way(requests, 1);
    while (rank == 0 && got < 2) {
        MPI_Testsome(2, requests, &done, which, MPI_STATUSES_IGNORE); /* here: testsome_of_inactive_requests */
        got += done == MPI_UNDEFINED ? 0 : done;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario waitany_of_nothing 2 polling culprit 0 says all requests in the call are null or inactive */
static void waitany_of_nothing(void)
{
    MPI_Request requests[2];
    int which, got = 0;
    none_under_way(requests, 0);
    while (rank == 0 && got < 2) {
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE); /* here: waitany_of_nothing */
        got += which != MPI_UNDEFINED;
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario wait_for_nothing 2 polling culprit 0 says all requests in the call are null or inactive */
static void wait_for_nothing(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    for (volatile int done = 0; rank == 0 && !done;)
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: wait_for_nothing */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario waitall_of_nothing 2 polling culprit 0 says all requests in the call are null or inactive */
static void waitall_of_nothing(void)
{
    MPI_Request requests[2];
    none_under_way(requests, 0);
    for (volatile int done = 0; rank == 0 && !done;)
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* here: waitall_of_nothing */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario waitany_after_nothing 2 message-never-sent says in MPI_Finalize */
/* In the end it waits for an active request. */
static void waitany_after_nothing(void)
{
    MPI_Request requests[2];
    int which, value;
    none_under_way(requests, 0);
    for (int i = 0; rank == 0 && i < 100; i++) {
        if (i == 99)
            MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE); /* here: waitany_after_nothing */
    }
}

SCENARIOS(S(beats_and_pauses), S(beats_and_spins), S(work_by_the_clock), S(tests_in_turn),
          S(tests_in_turn_for_nothing), S(probes_in_turn), S(tests_for_one_that_finalizes), S(all_poll_for_nothing),
          S(polls_for_a_barrier), S(tests_what_is_complete_too), S(testany_for_nothing), S(testsome_for_nothing),
          S(testany_of_nothing), S(testsome_of_inactive_requests), S(waitany_of_nothing), S(waitany_after_nothing),
          S(wait_for_nothing), S(waitall_of_nothing))
