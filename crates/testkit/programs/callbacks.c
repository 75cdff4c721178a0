/* The library calls functions of the program, which call MPI: these are calls of the program and are counted. The library
 * decides how often an operator is applied; the program counts its calls in each. */
#include "expect.h"

static long seen;

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int rank, size;
    CALL(MPI_Comm_rank, MPI_COMM_WORLD, &rank);
    CALL(MPI_Type_size, *type, &size);
    for (int i = 0; i < *length; i++)
        ((int *) inout)[i] += ((int *) in)[i];
}

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *result, int *flag)
{
    int size;
    (void) key, (void) extra;
    CALL(MPI_Comm_size, comm, &size);
    *(void **) result = value;
    *flag = 1;
    seen += size;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    int rank;
    (void) key, (void) value, (void) extra;
    CALL(MPI_Comm_rank, comm, &rank);
    seen += 100;
    return MPI_SUCCESS;
}

static void complain(MPI_Comm *comm, int *code, ...)
{
    int rank, class;
    CALL(MPI_Comm_rank, *comm, &rank);
    CALL(MPI_Error_class, *code, &class);
    seen += 1000 + (class == MPI_ERR_RANK);
}

static int query(void *extra, MPI_Status *status)
{
    (void) extra;
    CALL(MPI_Status_set_elements, status, MPI_INT, 3);
    CALL(MPI_Status_set_cancelled, status, 0);
    status->MPI_SOURCE = 0;
    status->MPI_TAG = 0;
    seen += 10000;
    return MPI_SUCCESS;
}

static int forget(void *extra)
{
    int flag;
    (void) extra;
    CALL(MPI_Initialized, &flag);
    seen += 100000;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void) extra, (void) complete;
    return MPI_SUCCESS;
}

static void operators(void)
{
    MPI_Op op;
    int mine[3] = {1, 2, expect_rank}, all[3] = {0}, commutes = 0;
    CALL(MPI_Op_create, add, 1, &op);
    CALL(MPI_Op_commutative, op, &commutes);
    CALL(MPI_Allreduce, mine, all, 3, MPI_INT, op, MPI_COMM_WORLD);
    CALL(MPI_Reduce_local, mine, all, 3, MPI_INT, op);
    seen += all[0] + all[1] + all[2];
    CALL(MPI_Reduce, mine, all, 3, MPI_INT, op, 0, MPI_COMM_WORLD);
    MPI_Request request;
    CALL(MPI_Iallreduce, mine, all, 3, MPI_INT, op, MPI_COMM_WORLD, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Op_free, &op);
    seen += all[0] + all[1] + all[2] + commutes;
}

static void attributes(void)
{
    int key, flag, *value, number = 5;
    MPI_Comm twin;
    CALL(MPI_Comm_create_keyval, copy, delete, &key, NULL);
    CALL(MPI_Comm_set_attr, MPI_COMM_WORLD, key, &number);
    CALL(MPI_Comm_dup, MPI_COMM_WORLD, &twin);
    CALL(MPI_Comm_get_attr, twin, key, &value, &flag);
    seen += flag ? *value : 0;
    CALL(MPI_Comm_free, &twin);
    CALL(MPI_Comm_delete_attr, MPI_COMM_WORLD, key);
    CALL(MPI_Comm_free_keyval, &key);
}

static void errors(void)
{
    MPI_Errhandler handler;
    int value = 0;
    CALL(MPI_Comm_create_errhandler, complain, &handler);
    CALL(MPI_Comm_set_errhandler, MPI_COMM_WORLD, handler);
    CALL(MPI_Comm_call_errhandler, MPI_COMM_WORLD, MPI_ERR_RANK);
    if (CALL_CODE(MPI_Send, &value, 1, MPI_INT, expect_size + 5, 0, MPI_COMM_WORLD) != MPI_SUCCESS)
        seen += 7;
    CALL(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CALL(MPI_Errhandler_free, &handler);
}

static void generalised_request(void)
{
    MPI_Request request;
    MPI_Status status;
    int count;
    CALL(MPI_Grequest_start, query, forget, cancel, NULL, &request);
    CALL(MPI_Grequest_complete, request);
    CALL(MPI_Wait, &request, &status);
    CALL(MPI_Get_elements, &status, MPI_INT, &count);
    seen += count;
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        operators();
        attributes();
        errors();
        generalised_request();
    }
    expect_summary("callbacks", seen);
    expect_finish();
    return 0;
}
