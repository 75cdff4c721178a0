/* handlers: a signal handler calls MPI for this rank repeatedly while other calls are made;
 * the results are printed. On x86-64 the processor's single-step mode runs the handler after
 * every instruction, also between the program and the library. Elsewhere a fast timer does. */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

#ifdef __x86_64__
enum { SIGNAL = SIGTRAP, ROUNDS = 1 };

/* The trap flag. The compiler may store data below the stack pointer. */
#define interrupt() __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc")
#define leave_alone() __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc")
#else
enum { SIGNAL = SIGALRM, ROUNDS = 20000 };

static void every(long microseconds)
{
    struct itimerval interval = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_REAL, &interval, NULL);
}

#define interrupt() every(50)
#define leave_alone() every(0)
#endif

static int rank, size;
static volatile int interrupted, mistaken;

static void asks(int signal)
{
    int answer = -1;
    (void)signal;
    interrupted = 1;
    if (MPI_Comm_rank(MPI_COMM_WORLD, &answer) != MPI_SUCCESS || answer != rank)
        mistaken = 1;
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    int length = 0;
    MPI_Type_size(*type, &length);
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i] + length;
}

int main(int argc, char **argv)
{
    int world = 0, length = 0, flag = -1, in = 0, sum = 0, right = 0;
    struct sigaction action;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(add, 1, &op);
    memset(&action, 0, sizeof action);
    action.sa_handler = asks;
    action.sa_flags = SA_RESTART;
    sigaction(SIGNAL, &action, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        int out = rank + 1, two = 2;
        sum = 3;
        interrupt();
        MPI_Comm_size(MPI_COMM_WORLD, &world);
        MPI_Type_size(MPI_DOUBLE, &length);
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 5, &in, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Reduce_local(&two, &sum, 1, MPI_INT, op);
        leave_alone();
        right += world == size && length == (int)sizeof(double) && !flag && in == out && sum == 5 + (int)sizeof(int);
    }
    printf("%s, %s, %d of %d rounds right: %d ranks, %d bytes, %d waits, %d came, sum %d\n", interrupted ? "interrupted" : "left alone",
           mistaken ? "mistaken" : "never mistaken", right, ROUNDS, world, length, flag, in, sum);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
