/* Creates and frees objects of many kinds repeatedly, with messages and collectives on them, and provides its image
 * twice: after a while, and at the end. */
#include "say.h"

static void combine(void *in, void *inout, int *n, MPI_Datatype *type)
{
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
}

/* Not inlined, so that each line is one call site: compilers duplicate calls in front of loops. */
__attribute__((noinline)) static void turn(long step)
{
    MPI_Comm quiet, used, cart;
    MPI_Datatype pieces, record;
    MPI_Group group, part;
    MPI_Info info;
    MPI_Op op;
    MPI_Errhandler errhandler;
    MPI_Request requests[2];
    int dims[1] = {size}, periods[1] = {1}, zero = 0, in = 0, out = (int) step, lengths[2] = {1, 2};
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Aint places[2] = {0, 64};
    MPI_Datatype types[2];

    /* Only collectives. */
    MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
    if (step % 16 == 0)
        MPI_Barrier(quiet);
    MPI_Comm_free(&quiet);

    /* Messages; every other time, the receive is still pending when the communicator is freed. */
    if (step % 64 == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &used);
        MPI_Comm_set_name(used, "for messages");
        MPI_Irecv(&in, 1, MPI_INT, before, 1, used, &requests[0]);
        if (step % 128 == 0) {
            MPI_Isend(&out, 1, MPI_INT, next, 1, used, &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            MPI_Comm_free(&used);
        } else {
            MPI_Isend(&out, 1, MPI_INT, next, 1, used, &requests[1]);
            MPI_Comm_free(&used);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
        if (in != out)
            abort();
        MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart);
        MPI_Comm_free(&cart);
    }

    MPI_Type_vector(3, 1, 2, MPI_INT, &pieces);
    types[0] = MPI_DOUBLE;
    types[1] = pieces;
    MPI_Type_create_struct(2, lengths, places, types, &record);
    MPI_Type_set_name(record, "a record with a name");
    MPI_Type_commit(&record);
    MPI_Type_free(&pieces);
    MPI_Type_free(&record);

    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_incl(group, 1, &zero, &part);
    MPI_Group_free(&group);
    MPI_Group_free(&part);

    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_set(info, "another", "longer value, to make the block grow");
    MPI_Info_free(&info);

    MPI_Op_create(combine, 1, &op);
    MPI_Op_free(&op);
    MPI_Comm_create_errhandler(on_error, &errhandler);
    MPI_Errhandler_free(&errhandler);
}

int main(int argc, char **argv)
{
    const char *text = getenv("STEADY_STEPS");
    long steps = text ? atol(text) : 10000;
    MPI_Init(&argc, &argv);
    open_said();
    for (long step = 0; step < steps; step++) {
        /* By then every kind has the maximum number of tombstones: 64 times the configured number. */
        if (step == 64 * 16)
            hand_over("early");
        turn(step);
    }
    fclose(said);
    hand_over("late");
    MPI_Finalize();
    return 0;
}
