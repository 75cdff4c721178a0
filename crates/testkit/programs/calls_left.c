/* Calls that never return because a signal handler leaves them with siglongjmp, on the mock
 * library. Each one ends when the next one is made, whether in the same function, in a
 * caller of it, or in a user function called by the library, and when the thread ends. */
#include "expect.h"
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

static sigjmp_buf back;

static void ring(int number)
{
    (void) number;
    siglongjmp(back, 1);
}

/* Waits for a message that is never sent. */
static __attribute__((noinline)) void receive(int levels)
{
    volatile int value = 0;
    struct itimerval soon = {{0, 0}, {0, 200000}};
    if (levels) {
        receive(levels - 1);
        value++;
        return;
    }
    expect_count("MPI_Recv");
    setitimer(ITIMER_REAL, &soon, NULL);
    MPI_Recv((void *) &value, 1, MPI_INT, expect_rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void leave(int levels)
{
    if (!sigsetjmp(back, 1))
        receive(levels);
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void) in, (void) inout, (void) length, (void) type;
    leave(3);
    expect_message();
}

/* Leaves a call by siglongjmp. */
static void stay(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void) in, (void) inout, (void) length, (void) type;
    receive(1);
}

static void escape(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void) in, (void) inout, (void) length, (void) type;
    siglongjmp(back, 1);
}

/* Leaves the call in which the library calls a user function. */
static void leave_by(MPI_Op op)
{
    int mine = 1, all;
    expect_count("MPI_Allreduce");
    if (!sigsetjmp(back, 1))
        MPI_Allreduce(&mine, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
}

static void *thread(void *nothing)
{
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    leave(0);
    return nothing;
}

int main(int argc, char **argv)
{
    int mine = 1, all, level;
    pthread_t other;
    MPI_Op op;
    sigset_t alarm;
    CALL(MPI_Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &level);
    expect_who();
    signal(SIGALRM, ring);
    if (!sigsetjmp(back, 1))
        receive(0);
    expect_message();
    leave(5);
    CALL(MPI_Comm_rank, MPI_COMM_WORLD, &level);
    expect_message();
    CALL(MPI_Op_create, add, 1, &op);
    CALL(MPI_Allreduce, &mine, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
    CALL(MPI_Op_free, &op);
    CALL(MPI_Op_create, escape, 1, &op);
    leave_by(op);
    expect_message();
    leave_by(op);
    CALL(MPI_Comm_rank, MPI_COMM_WORLD, &level);
    CALL(MPI_Op_free, &op);
    CALL(MPI_Op_create, stay, 1, &op);
    leave_by(op);
    expect_message();
    CALL(MPI_Op_free, &op);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    expect_finish();
    return 0;
}
