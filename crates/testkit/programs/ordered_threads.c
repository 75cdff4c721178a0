/* Collectives of several threads, each on its own communicator or one after the other.
 *
 * Nothing may be found, with and without `--check`.
 */
#include <mpi.h>
#include <pthread.h>
#include <unistd.h>

#define TIMES 5

static int rank;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static MPI_Comm own[2];

static void reduce(MPI_Comm comm)
{
    int in = 1, out;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
}

static void *on_one_each(void *comm)
{
    for (int i = 0; i < TIMES; i++)
        reduce(*(MPI_Comm *)comm);
    return NULL;
}

static void *in_turn(void *nothing)
{
    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&turn);
        reduce(MPI_COMM_WORLD);
        pthread_mutex_unlock(&turn);
    }
    return nothing;
}

/* Threads that create communicators of the same group at once, which the tag tells apart. */
static void *create(void *tag)
{
    MPI_Group group;
    MPI_Comm comm;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, *(int *)tag, &comm);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    return NULL;
}

/* Alone on its communicator, a process has no other member that could see another order. */
static void *alone(void *nothing)
{
    for (int i = 0; i < 50; i++)
        reduce(MPI_COMM_SELF);
    return nothing;
}

static void run_both(void *(*what)(void *), void *one, void *other)
{
    pthread_t thread;
    pthread_create(&thread, NULL, what, one);
    what(other);
    pthread_join(thread, NULL);
}

/* A collective whose request one thread waits for, while another is in the next one. */
static void *complete(void *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return NULL;
}

static void started_and_followed(void)
{
    MPI_Request request;
    pthread_t thread;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (rank == 0)
        usleep(50 * 1000);
    pthread_create(&thread, NULL, complete, &request);
    reduce(MPI_COMM_WORLD);
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    static int tags[2] = {1, 2};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &own[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &own[1]);
    run_both(on_one_each, &own[0], &own[1]);
    run_both(in_turn, NULL, NULL);
    run_both(create, &tags[0], &tags[1]);
    run_both(alone, NULL, NULL);
    started_and_followed();
    MPI_Comm_free(&own[0]);
    MPI_Comm_free(&own[1]);
    MPI_Finalize();
    return 0;
}
