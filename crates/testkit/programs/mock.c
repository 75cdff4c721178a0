/* Every function of the mock library. */
#include "expect.h"

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int size;
    CALL(MPI_Type_size, *type, &size);
    for (int i = 0; i < *length; i++)
        ((int *) inout)[i] += ((int *) in)[i] + size;
}

int main(int argc, char **argv)
{
    int mine[4] = {1, 2, 3, 4}, got[4] = {0}, flag = 0, count = 0, level = 0;
    long sum = 0;
    MPI_Request requests[3];
    MPI_Status status;
    MPI_Op op;
    CALL(MPI_Initialized, &flag);
    CALL(MPI_Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &level);
    expect_who();
    int me = expect_rank;
    CALL(MPI_Send, mine, 4, MPI_INT, me, 3, MPI_COMM_WORLD);
    CALL(MPI_Recv, got, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CALL(MPI_Get_count, &status, MPI_INT, &count);
    sum += got[3] + count + status.MPI_TAG;
    CALL(MPI_Irecv, got, 2, MPI_INT, me, 5, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Test, &requests[0], &flag, &status);
    sum += flag;
    CALL(MPI_Isend, mine, 2, MPI_INT, me, 5, MPI_COMM_WORLD, &requests[1]);
    CALL(MPI_Isend, mine, 2, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &requests[2]);
    sum += requests[1] == requests[2];
    CALL(MPI_Waitall, 3, requests, MPI_STATUSES_IGNORE);
    sum += got[1];
    CALL(MPI_Irecv, got, 1, MPI_INT, me, 6, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Request_free, &requests[0]);
    CALL(MPI_Isend, mine, 1, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &requests[0]);
    CALL(MPI_Wait, &requests[0], &status);
    CALL(MPI_Op_create, add, 1, &op);
    CALL(MPI_Allreduce, mine, got, 4, MPI_INT, op, MPI_COMM_WORLD);
    CALL(MPI_Op_free, &op);
    sum += got[0];
    CALL(MPI_Bcast, got, 4, MPI_INT, 0, MPI_COMM_WORLD);
    CALL_AS("MPI_Barrier", PMPI_Barrier, MPI_COMM_WORLD);
    expect_summary("mock", sum);
    CALL(MPI_Finalize);
    CALL(MPI_Finalized, &flag);
    expect_write();
    return flag ? 0 : 1;
}
