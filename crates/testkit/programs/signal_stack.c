/* A signal handler that calls MPI on an alternate stack above the frames it interrupts, on the mock library. The
 * handler may have interrupted malloc, so the layer must not allocate in it. */
#include "expect.h"
#include <signal.h>

static volatile int handling, allocated;

void *__libc_malloc(size_t size);

/* Replaces malloc for the C library as well. */
void *malloc(size_t size)
{
    allocated |= handling;
    return __libc_malloc(size);
}

static void handle(int number)
{
    int size;
    (void) number;
    handling = 1;
    CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
    handling = 0;
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void) in, (void) inout, (void) length, (void) type;
    raise(SIGUSR1);
    expect_message();
}

static __attribute__((noinline)) void reduce(void)
{
    int mine = 1, all;
    MPI_Op op;
    CALL(MPI_Op_create, add, 1, &op);
    CALL(MPI_Allreduce, &mine, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
    CALL(MPI_Op_free, &op);
}

int main(int argc, char **argv)
{
    static struct sigaction action;
    char room[256 * 1024];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    expect_init(&argc, &argv);
    sigaltstack(&stack, NULL);
    action.sa_handler = handle;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    reduce();
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    expect_finish();
    return allocated ? 1 : 0;
}
