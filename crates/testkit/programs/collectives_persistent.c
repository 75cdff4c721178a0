/* Persistent collectives (MPI 4.0). */
#include "expect.h"

#if !HAVE_MPI_4_PARTS
#error "no persistent collectives"
#endif

enum { MAX = 16, CALLS = 17 };

int main(int argc, char **argv)
{
    static int mine[MAX], got[CALLS][MAX * MAX], counts[MAX], places[MAX], bytes[MAX];
    MPI_Datatype types[MAX];
    MPI_Request requests[CALLS];
    MPI_Info info = MPI_INFO_NULL;
    MPI_Comm world = MPI_COMM_WORLD;
    long sum = 0;
    expect_init(&argc, &argv);
    int n = expect_size, value = expect_rank + 1, root = 0, k = 0, shared = value;
    for (int i = 0; i < n; i++) {
        mine[i] = value + i;
        counts[i] = 1;
        places[i] = i;
        bytes[i] = i * (int) sizeof(int);
        types[i] = MPI_INT;
    }
    CALL(MPI_Barrier_init, world, info, &requests[k]), k++;
    CALL(MPI_Bcast_init, &shared, 1, MPI_INT, root, world, info, &requests[k]), k++;
    CALL(MPI_Gather_init, &value, 1, MPI_INT, got[k], 1, MPI_INT, root, world, info, &requests[k]), k++;
    CALL(MPI_Gatherv_init, &value, 1, MPI_INT, got[k], counts, places, MPI_INT, root, world, info, &requests[k]), k++;
    CALL(MPI_Scatter_init, mine, 1, MPI_INT, got[k], 1, MPI_INT, root, world, info, &requests[k]), k++;
    CALL(MPI_Scatterv_init, mine, counts, places, MPI_INT, got[k], 1, MPI_INT, root, world, info, &requests[k]), k++;
    CALL(MPI_Allgather_init, &value, 1, MPI_INT, got[k], 1, MPI_INT, world, info, &requests[k]), k++;
    CALL(MPI_Allgatherv_init, &value, 1, MPI_INT, got[k], counts, places, MPI_INT, world, info, &requests[k]), k++;
    CALL(MPI_Alltoall_init, mine, 1, MPI_INT, got[k], 1, MPI_INT, world, info, &requests[k]), k++;
    CALL(MPI_Alltoallv_init, mine, counts, places, MPI_INT, got[k], counts, places, MPI_INT, world, info,
         &requests[k]), k++;
    CALL(MPI_Alltoallw_init, mine, counts, bytes, types, got[k], counts, bytes, types, world, info, &requests[k]), k++;
    CALL(MPI_Reduce_init, &value, got[k], 1, MPI_INT, MPI_SUM, root, world, info, &requests[k]), k++;
    CALL(MPI_Allreduce_init, &value, got[k], 1, MPI_INT, MPI_SUM, world, info, &requests[k]), k++;
    CALL(MPI_Reduce_scatter_block_init, mine, got[k], 1, MPI_INT, MPI_SUM, world, info, &requests[k]), k++;
    CALL(MPI_Reduce_scatter_init, mine, got[k], counts, MPI_INT, MPI_SUM, world, info, &requests[k]), k++;
    CALL(MPI_Scan_init, &value, got[k], 1, MPI_INT, MPI_SUM, world, info, &requests[k]), k++;
    CALL(MPI_Exscan_init, &value, got[k], 1, MPI_INT, MPI_SUM, world, info, &requests[k]), k++;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < CALLS; i++) {
            /* MPICH 4.0 and Intel MPI cannot start a persistent scatter a second time ("Invalid communicator"). */
            if (i == 4 && round > 0)
                continue;
            CALL(MPI_Start, &requests[i]);
            CALL(MPI_Wait, &requests[i], MPI_STATUS_IGNORE);
        }
        sum += shared;
        for (int i = 4; i < 16; i++)
            if (i != 11)
                sum += got[i][0];
    }
    for (int i = 0; i < CALLS; i++)
        CALL(MPI_Request_free, &requests[i]);
    expect_summary("collectives_persistent", sum);
    expect_finish();
    return 0;
}
