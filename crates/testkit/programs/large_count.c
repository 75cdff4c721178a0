/* The variants with MPI_Count (MPI 4.0), counted under their own names. */
#include "expect.h"

#if !HAVE_LARGE_COUNT
#error "no large counts"
#endif

int main(int argc, char **argv)
{
    long sum = 0;
    static int got[64], mine[64];
    expect_init(&argc, &argv);
    int peer = expect_rank ^ 1, value = expect_rank + 1, size_int = 0;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Count count = 0;
    for (int round = 0; round < 3; round++) {
        if (expect_rank % 2 == 0) {
            CALL(MPI_Send_c, &value, 1, MPI_INT, peer, 1, world);
            CALL(MPI_Recv_c, got, 1, MPI_INT, peer, 1, world, &status);
        } else {
            CALL(MPI_Recv_c, got, 1, MPI_INT, peer, 1, world, &status);
            CALL(MPI_Send_c, &value, 1, MPI_INT, peer, 1, world);
        }
        CALL(MPI_Get_count_c, &status, MPI_INT, &count);
        sum += got[0] + count;
        CALL(MPI_Irecv_c, got, 1, MPI_INT, peer, 2, world, &requests[0]);
        CALL(MPI_Isend_c, &value, 1, MPI_INT, peer, 2, world, &requests[1]);
        CALL(MPI_Waitall, 2, requests, MPI_STATUSES_IGNORE);
        sum += got[0];
        CALL(MPI_Sendrecv_c, &value, 1, MPI_INT, peer, 3, got, 1, MPI_INT, peer, 3, world, &status);
        CALL(MPI_Send, &value, 1, MPI_INT, MPI_PROC_NULL, 3, world);
    }
    for (int i = 0; i < 64; i++)
        mine[i] = i;
    CALL(MPI_Bcast_c, got, 4, MPI_INT, 0, world);
    CALL(MPI_Allreduce_c, mine, got, 4, MPI_INT, MPI_SUM, world);
    sum += got[3];
    CALL(MPI_Alltoall_c, mine, 1, MPI_INT, got, 1, MPI_INT, world);
    CALL(MPI_Iallreduce_c, mine, got, 4, MPI_INT, MPI_SUM, world, &requests[0]);
    CALL(MPI_Wait, &requests[0], MPI_STATUS_IGNORE);
    MPI_Datatype type;
    CALL(MPI_Type_contiguous_c, 3, MPI_INT, &type);
    CALL(MPI_Type_commit, &type);
    CALL(MPI_Type_size_c, type, &count);
    CALL(MPI_Type_size, type, &size_int);
    sum += count + size_int;
    CALL(MPI_Type_free, &type);
    expect_summary("large_count", sum);
    expect_finish();
    return 0;
}
