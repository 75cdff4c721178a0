/* A program with its own stacks, on the mock library: a user function called by the library continues on another
 * stack, which is above the one it was called on, makes calls there and comes back. This does not end any call. */
#include "expect.h"
#include <ucontext.h>

enum { ROOM = 512 * 1024 };

/* The second stack is above the first. */
static _Alignas(64) char stacks[2][ROOM];
static ucontext_t outside, first, second;

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void) in, (void) inout, (void) length, (void) type;
    expect_message();
    swapcontext(&first, &second);
    expect_message();
}

static void above(void)
{
    int size;
    CALL(MPI_Comm_size, MPI_COMM_WORLD, &size);
    expect_message();
    swapcontext(&second, &first);
}

static void below(void)
{
    int mine = 1, all;
    MPI_Op op;
    CALL(MPI_Op_create, add, 1, &op);
    CALL(MPI_Allreduce, &mine, &all, 1, MPI_INT, op, MPI_COMM_WORLD);
    CALL(MPI_Op_free, &op);
    expect_message();
}

static void begin(ucontext_t *context, char *stack, void (*function)(void))
{
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = ROOM;
    context->uc_link = &outside;
    makecontext(context, function, 0);
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv);
    begin(&first, stacks[0], below);
    begin(&second, stacks[1], above);
    swapcontext(&outside, &first);
    expect_finish();
    return 0;
}
