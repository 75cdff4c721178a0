/* MPI_THREAD_MULTIPLE: four threads in each process, each with its own
 * communicator, and one with the smallest stack that a thread may have. */
#include "expect.h"
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 50, MATCHED = 500, LONG = 4096 };
static MPI_Comm comms[THREADS];
static long sums[THREADS];

/* The library reuses the handle of a received message at once for the next
 * one, which another thread may match before the first has returned. */
static void match(int me, int peer)
{
    static int data[THREADS][LONG];
    for (int i = 0; i < MATCHED; i++) {
        MPI_Message message = MPI_MESSAGE_NULL;
        int there = 0;
        if (expect_rank == 0) {
            for (int j = 0; j < LONG; j++)
                data[me][j] = i + j;
            CALL(MPI_Send, data[me], LONG, MPI_INT, peer, me, comms[me]);
            continue;
        }
        while (!there)
            CALL(MPI_Improbe, peer, me, comms[me], &there, &message, MPI_STATUS_IGNORE);
        CALL(MPI_Mrecv, data[me], LONG, MPI_INT, &message, MPI_STATUS_IGNORE);
        for (int j = 0; j < LONG; j++) {
            if (data[me][j] != i + j) {
                fprintf(stderr, "thread %d: %d came, not %d\n", me, data[me][j], i + j);
                MPI_Abort(MPI_COMM_WORLD, 97);
            }
        }
    }
}

static void *work(void *argument)
{
    int me = (int) (long) argument, peer = expect_rank ^ 1;
    for (int i = 0; i < ROUNDS; i++) {
        int value = me + i, got = 0;
        MPI_Request requests[2];
        CALL(MPI_Irecv, &got, 1, MPI_INT, peer, me, comms[me], &requests[0]);
        CALL(MPI_Isend, &value, 1, MPI_INT, peer, me, comms[me], &requests[1]);
        CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
        sums[me] += got;
    }
    match(me, peer);
    int here = 0;
    CALL(MPI_Is_thread_main, &here);
    CALL(MPI_Allreduce, MPI_IN_PLACE, &sums[me], 1, MPI_LONG, MPI_SUM, comms[me]);
    return NULL;
}

/* The library needs almost no stack for this. */
static void *ask(void *argument)
{
    (void) argument;
    int here = 0;
    CALL(MPI_Is_thread_main, &here);
    return NULL;
}

static void ask_on_a_small_stack(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    long least = sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, least > 16384 ? (size_t) least : 16384);
    pthread_create(&thread, &attributes, ask, NULL);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
    int provided = 0, level = 0;
    long sum = 0;
    pthread_t threads[THREADS];
    CALL(MPI_Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    expect_who();
    CALL(MPI_Query_thread, &level);
    if (provided != MPI_THREAD_MULTIPLE || level != provided) {
        fprintf(stderr, "this library does not provide MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 98);
    }
    ask_on_a_small_stack();
    for (int i = 0; i < THREADS; i++)
        CALL(MPI_Comm_dup, MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *) i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += sums[i];
        CALL(MPI_Comm_free, &comms[i]);
    }
    expect_summary("threads", sum);
    expect_finish();
    return 0;
}
