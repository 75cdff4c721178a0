/* Programs that hang for several reasons at once, or whose ranks do several things, or whose threads wait outside MPI.
 * The comments have the format of hang.c; the expected text about a second problem follows `also`. */
#define _GNU_SOURCE
#include "hang.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

static int value;

static void receive(int from, int tag, MPI_Comm comm)
{
    MPI_Recv(&value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
}

/* Two groups of the same size. */
static MPI_Comm half(void)
{
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, rank >= size / 2, rank, &comm);
    MPI_Comm_set_name(comm, rank >= size / 2 ? "upper" : "lower");
    return comm;
}

/* scenario another_tag_and_a_ring 4 message-never-sent culprit 1 says tag 41 also deadlock: 2 -> 3 -> 2 */
static void another_tag_and_a_ring(void)
{
    MPI_Comm comm = half();
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 41, comm);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 42, comm, MPI_STATUS_IGNORE); /* here: another_tag_and_a_ring */
    if (rank > 1)
        receive(1 - rank % 2, 7, comm);
    MPI_Barrier(comm);
}

/* scenario a_mismatch_and_a_ring 4 collective-mismatch says (root) on "upper" also deadlock: 0 -> 1 -> 0 */
static void a_mismatch_and_a_ring(void)
{
    MPI_Comm comm = half();
    int sum;
    if (rank < 2)
        receive(1 - rank, 7, comm);
    else
        MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, rank - 2, comm); /* here: a_mismatch_and_a_ring */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario one_sleeps_and_one_is_stopped 3 rank-stopped culprit 2 says ranks [1-2] (rank 2: stopped by a signal */
static void one_sleeps_and_one_is_stopped(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        sleep(140);
    if (rank == 2)
        raise(SIGSTOP);
    MPI_Barrier(MPI_COMM_WORLD); /* here: one_sleeps_and_one_is_stopped */
}

static int gives_status(void *unused, MPI_Status *status)
{
    (void)unused;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int is_freed(void *unused)
{
    (void)unused;
    return MPI_SUCCESS;
}

static int is_cancelled(void *unused, int complete)
{
    (void)unused;
    (void)complete;
    return MPI_SUCCESS;
}

/* scenario generalized_never_completed 2 request-not-completed culprit 0 says rank 0 waits for itself to call MPI_Grequest_complete */
static void generalized_never_completed(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Grequest_start(gives_status, is_freed, is_cancelled, NULL, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: generalized_never_completed */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static MPI_Request completed_later;

static void *completes_later(void *unused)
{
    sleep(140);
    MPI_Grequest_complete(completed_later);
    return unused;
}

/* scenario a_thread_completes_it_later 2 slow culprit 0 says MPI_Grequest_complete */
static void a_thread_completes_it_later(void)
{
    pthread_t thread;
    if (rank == 0) {
        MPI_Grequest_start(gives_status, is_freed, is_cancelled, NULL, &completed_later);
        pthread_create(&thread, NULL, completes_later, NULL);
        MPI_Wait(&completed_later, MPI_STATUS_IGNORE); /* here: a_thread_completes_it_later */
        pthread_join(thread, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *receives_from_the_other(void *unused)
{
    receive(1 - rank, 1, MPI_COMM_WORLD);
    return unused;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *receives_under_the_lock(void *unused)
{
    pthread_mutex_lock(&lock);
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: main_thread_waits_for_a_lock */
    pthread_mutex_unlock(&lock);
    return unused;
}

/* scenario main_thread_waits_for_a_lock 2 deadlock says 0 -> 1 -> 0 */
static void main_thread_waits_for_a_lock(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, receives_under_the_lock, NULL);
    usleep(300000);
    pthread_mutex_lock(&lock);
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

static void *sends_under_the_lock(void *unused)
{
    usleep(300000);
    pthread_mutex_lock(&lock); /* here: silent_thread_waits_for_a_lock */
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    pthread_mutex_unlock(&lock);
    return unused;
}

/* The thread that waits for the lock has never called MPI. */
/* scenario silent_thread_waits_for_a_lock 2 deadlock says 0 -> 1 -> 0 */
static void silent_thread_waits_for_a_lock(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sends_under_the_lock, NULL);
    pthread_mutex_lock(&lock);
    receive(1 - rank, 1, MPI_COMM_WORLD);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

/* scenario main_thread_waits_for_another_process 3 slow */
static void main_thread_waits_for_another_process(void)
{
    /* Rank 2 posts the semaphores much later: they are in memory shared by all ranks. */
    MPI_Win win;
    MPI_Aint bytes;
    int unit;
    sem_t *shared;
    MPI_Win_allocate_shared(rank == 0 ? 4096 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &shared);
    if (rank == 0) {
        sem_init(&shared[0], 1, 0);
        sem_init(&shared[1], 1, 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        sleep(140);
        sem_post(&shared[0]);
        sem_post(&shared[1]);
    } else {
        pthread_t thread;
        pthread_create(&thread, NULL, receives_from_the_other, NULL);
        while (sem_wait(&shared[rank]))
            ;
        MPI_Send(&rank, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
        pthread_join(thread, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static sem_t own;

static void posts(int signal)
{
    (void)signal;
    sem_post(&own);
}

/* scenario main_thread_waits_for_a_signal 2 slow */
static void main_thread_waits_for_a_signal(void)
{
    pthread_t thread;
    sem_init(&own, 0, 0);
    signal(SIGUSR2, posts);
    pthread_create(&thread, NULL, receives_from_the_other, NULL);
    while (sem_wait(&own))
        ;
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    pthread_join(thread, NULL);
}

SCENARIOS(S(another_tag_and_a_ring), S(a_mismatch_and_a_ring), S(one_sleeps_and_one_is_stopped),
          S(generalized_never_completed), S(a_thread_completes_it_later), S(main_thread_waits_for_a_lock), S(silent_thread_waits_for_a_lock),
          S(main_thread_waits_for_another_process), S(main_thread_waits_for_a_signal))
