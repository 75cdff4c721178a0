/* Blocking collectives. */
#include "expect.h"

enum { MAX = 16 };

int main(int argc, char **argv)
{
    int mine[MAX], all[MAX * MAX], counts[MAX], places[MAX];
    MPI_Datatype types[MAX];
    long sum = 0;
    expect_init(&argc, &argv);
    int n = expect_size;
    for (int i = 0; i < n; i++) {
        counts[i] = 1;
        places[i] = i;
        types[i] = MPI_INT;
    }
    for (int round = 0; round < 4; round++) {
        int root = round % n, value = expect_rank + round, got = 0;
        for (int i = 0; i < n; i++)
            mine[i] = value + i;
        CALL(MPI_Barrier, MPI_COMM_WORLD);
        CALL(MPI_Bcast, &value, 1, MPI_INT, root, MPI_COMM_WORLD);
        CALL(MPI_Gather, &value, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
        CALL(MPI_Gatherv, &value, 1, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD);
        CALL(MPI_Scatter, mine, 1, MPI_INT, &got, 1, MPI_INT, root, MPI_COMM_WORLD);
        CALL(MPI_Scatterv, mine, counts, places, MPI_INT, &got, 1, MPI_INT, root, MPI_COMM_WORLD);
        sum += got;
        CALL(MPI_Allgather, &value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        CALL(MPI_Allgatherv, &value, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
        CALL(MPI_Alltoall, mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        sum += all[n - 1];
        CALL(MPI_Alltoallv, mine, counts, places, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
        int bytes[MAX];
        for (int i = 0; i < n; i++)
            bytes[i] = i * (int) sizeof(int);
        CALL(MPI_Alltoallw, mine, counts, bytes, types, all, counts, bytes, types, MPI_COMM_WORLD);
        sum += all[0];
        CALL(MPI_Reduce, &value, &got, 1, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD);
        CALL(MPI_Allreduce, &value, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += got;
        CALL(MPI_Allreduce, MPI_IN_PLACE, &got, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        CALL(MPI_Reduce_scatter_block, mine, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CALL(MPI_Reduce_scatter, mine, &got, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += got;
        CALL(MPI_Scan, &value, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        sum += got;
        got = 0;
        CALL(MPI_Exscan, &value, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    int in[2] = {1, 2}, inout[2] = {10, 20};
    CALL(MPI_Reduce_local, in, inout, 2, MPI_INT, MPI_SUM);
    sum += inout[0] + inout[1];
    expect_summary("collectives", sum);
    expect_finish();
    return 0;
}
