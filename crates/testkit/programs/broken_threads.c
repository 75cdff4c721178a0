/* Findings of `mpiscope run` about threads. See broken.c. */
#include "broken.h"
#include <pthread.h>
#include <unistd.h>

static void *send_from_here(void *nothing)
{
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    return nothing;
}

/* finding another_thread_sends 2 thread-level ranks 1 dies says was called by a thread other than the one that initialized MPI, with MPI_THREAD_SINGLE */
static void another_thread_sends(void)
{
    int value = 1;
    pthread_t thread;
    if (rank == 1) {
        pthread_create(&thread, NULL, send_from_here, NULL);
        pthread_join(thread, NULL);
        MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    }
}

static int take_long(void *nothing, MPI_Status *status)
{
    (void)nothing;
    usleep(400 * 1000);
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int let_go(void *nothing)
{
    (void)nothing;
    return MPI_SUCCESS;
}

static int cancel(void *nothing, int complete)
{
    (void)nothing, (void)complete;
    return MPI_SUCCESS;
}

static void *wait_long(void *nothing)
{
    MPI_Request request;
    MPI_Grequest_start(take_long, let_go, cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: two_threads_at_once */
    return nothing;
}

/* finding two_threads_at_once 2 thread-level ranks 1 says were called by two threads at once, with MPI_THREAD_SERIALIZED */
/* The calls of rank 0, which take turns, are not reported. */
static void two_threads_at_once(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_long, NULL);
    if (rank == 0)
        pthread_join(thread, NULL);
    wait_long(NULL);
    if (rank == 1)
        pthread_join(thread, NULL);
}

/* Rank 0 is inside the collective in two threads, until rank 1 comes; the threads of rank 1 take turns. */
static void in_two_threads(void *(*call)(void *))
{
    pthread_t thread;
    if (rank == 1)
        usleep(300 * 1000);
    pthread_create(&thread, NULL, call, NULL);
    if (rank == 1)
        pthread_join(thread, NULL);
    else
        usleep(100 * 1000);
    call(NULL);
    if (rank == 0)
        pthread_join(thread, NULL);
}

static void *reduce_from_here(void *nothing)
{
    int in = 1, out;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here: two_collectives_at_once */
    return nothing;
}

/* finding two_collectives_at_once 2 concurrent-collectives ranks 0 without intel,intel-abi says was called on MPI_COMM_WORLD by two threads at once */
static void two_collectives_at_once(void)
{
    in_two_threads(reduce_from_here);
}

static MPI_Win win;

static void *fence_from_here(void *nothing)
{
    MPI_Win_fence(0, win); /* here: two_fences_at_once */
    return nothing;
}

/* finding two_fences_at_once 2 concurrent-collectives ranks 0 says MPI_Win_fence at */
static void two_fences_at_once(void)
{
    static int memory;
    MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    in_two_threads(fence_from_here);
    MPI_Win_free(&win);
}

static void initialize(int *argc, char ***argv)
{
    int level;
    if (*argc > 1 && !strcmp((*argv)[1], "another_thread_sends"))
        MPI_Init(argc, argv);
    else if (*argc > 1 && !strcmp((*argv)[1], "two_threads_at_once"))
        MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level);
    else
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
}

FINDINGS(initialize, F(another_thread_sends), F(two_threads_at_once), F(two_collectives_at_once), F(two_fences_at_once))
