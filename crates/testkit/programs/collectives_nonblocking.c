/* Non-blocking collectives, several in flight at once. */
#include "expect.h"

enum { MAX = 16, CALLS = 17 };

int main(int argc, char **argv)
{
    static int mine[MAX], got[CALLS][MAX * MAX], counts[MAX], places[MAX], bytes[MAX];
    MPI_Datatype types[MAX];
    MPI_Request requests[CALLS];
    long sum = 0;
    expect_init(&argc, &argv);
    int n = expect_size, value = expect_rank + 1, root = n - 1;
    for (int i = 0; i < n; i++) {
        mine[i] = value + i;
        counts[i] = 1;
        places[i] = i;
        bytes[i] = i * (int) sizeof(int);
        types[i] = MPI_INT;
    }
    for (int round = 0; round < 3; round++) {
        MPI_Comm world = MPI_COMM_WORLD;
        int k = 0, shared = value;
        CALL(MPI_Ibarrier, world, &requests[k++]);
        CALL(MPI_Ibcast, &shared, 1, MPI_INT, root, world, &requests[k++]);
        CALL(MPI_Igather, &value, 1, MPI_INT, got[k], 1, MPI_INT, root, world, &requests[k]), k++;
        CALL(MPI_Igatherv, &value, 1, MPI_INT, got[k], counts, places, MPI_INT, root, world, &requests[k]), k++;
        CALL(MPI_Iscatter, mine, 1, MPI_INT, got[k], 1, MPI_INT, root, world, &requests[k]), k++;
        CALL(MPI_Iscatterv, mine, counts, places, MPI_INT, got[k], 1, MPI_INT, root, world, &requests[k]), k++;
        CALL(MPI_Iallgather, &value, 1, MPI_INT, got[k], 1, MPI_INT, world, &requests[k]), k++;
        CALL(MPI_Iallgatherv, &value, 1, MPI_INT, got[k], counts, places, MPI_INT, world, &requests[k]), k++;
        CALL(MPI_Ialltoall, mine, 1, MPI_INT, got[k], 1, MPI_INT, world, &requests[k]), k++;
        CALL(MPI_Ialltoallv, mine, counts, places, MPI_INT, got[k], counts, places, MPI_INT, world, &requests[k]), k++;
        CALL(MPI_Ialltoallw, mine, counts, bytes, types, got[k], counts, bytes, types, world, &requests[k]), k++;
        CALL(MPI_Ireduce, &value, got[k], 1, MPI_INT, MPI_SUM, root, world, &requests[k]), k++;
        CALL(MPI_Iallreduce, &value, got[k], 1, MPI_INT, MPI_SUM, world, &requests[k]), k++;
        CALL(MPI_Ireduce_scatter_block, mine, got[k], 1, MPI_INT, MPI_SUM, world, &requests[k]), k++;
        CALL(MPI_Ireduce_scatter, mine, got[k], counts, MPI_INT, MPI_SUM, world, &requests[k]), k++;
        CALL(MPI_Iscan, &value, got[k], 1, MPI_INT, MPI_SUM, world, &requests[k]), k++;
        CALL(MPI_Iexscan, &value, got[k], 1, MPI_INT, MPI_SUM, world, &requests[k]), k++;
        int flag = 0;
        do
            CALL(MPI_Testall, 3, requests, &flag, MPI_STATUSES_IGNORE);
        while (!flag);
        CALL(MPI_Waitall, CALLS, requests, MPI_STATUSES_IGNORE);
        sum += shared;
        /* The first element is undefined where only the root receives, or on rank 0 of the exclusive scan. */
        for (int i = 4; i < 16; i++)
            if (i != 11)
                sum += got[i][0];
    }
    expect_summary("collectives_nonblocking", sum);
    expect_finish();
    return 0;
}
