/* Correct collectives in which members send and expect different amounts: there must be no findings. */
#include <mpi.h>
#include <stdlib.h>

enum { MOST = 16 };

int main(int argc, char **argv)
{
    int rank, size, in[MOST * MOST] = {0}, out[MOST * MOST], pairs[MOST], at[MOST], same[MOST], sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Datatype pair, types[MOST];
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    /* Rank r sends r pairs; the others expect twice as many integers. */
    for (int i = 0; i < size; i++) {
        pairs[i] = 2 * i, at[i] = sum, sum += 2 * i, same[i] = 1;
        types[i] = i ? MPI_INT : MPI_DATATYPE_NULL;
    }
    for (int root = 0; root < size; root++) {
        int is_root = rank == root;
        MPI_Gather(is_root ? MPI_IN_PLACE : in, 1, pair, out, 2, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Scatter(in, 2, MPI_INT, is_root ? MPI_IN_PLACE : out, 1, pair, root, MPI_COMM_WORLD);
        MPI_Gatherv(in, rank, pair, is_root ? out : NULL, is_root ? pairs : NULL, at, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Gatherv(is_root ? MPI_IN_PLACE : in, rank, pair, out, pairs, at, MPI_INT, root, MPI_COMM_WORLD);
        MPI_Scatterv(is_root ? in : NULL, pairs, at, MPI_INT, out, rank, pair, root, MPI_COMM_WORLD);
        MPI_Scatterv(in, pairs, at, MPI_INT, is_root ? MPI_IN_PLACE : out, rank, pair, root, MPI_COMM_WORLD);
    }
    MPI_Allgather(in, 1, pair, out, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 77, MPI_DATATYPE_NULL, out, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(in, 1, pair, out, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(MPI_IN_PLACE, 77, MPI_DATATYPE_NULL, out, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(in, rank, pair, out, pairs, at, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgatherv(MPI_IN_PLACE, 77, MPI_DATATYPE_NULL, out, pairs, at, MPI_INT, MPI_COMM_WORLD);
    /* Every rank sends as many pairs to rank i as its own number. */
    int mine[MOST], starts[MOST], there[MOST], apart[MOST];
    for (int i = 0; i < size; i++)
        mine[i] = 2 * rank, starts[i] = 2 * rank * i, there[i] = 4 * at[i], apart[i] = i;
    MPI_Alltoallv(in, pairs, at, MPI_INT, out, mine, starts, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, same, apart, MPI_INT, MPI_COMM_WORLD);
    /* Rank 0 takes no part: the datatype of zero elements is ignored. */
    int none[MOST], zero[MOST] = {0};
    for (int i = 0; i < size; i++)
        none[i] = rank && i ? 1 : 0, types[i] = none[i] ? MPI_INT : MPI_BYTE;
    MPI_Alltoallw(in, none, zero, types, out, none, there, types, MPI_COMM_WORLD);
    /* Every rank sends a real to rank 0, an integer and a real to the others, and bytes to the last one. */
    MPI_Datatype mixed, wanted[MOST], parts[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Aint gaps[2] = {0, 8};
    int one[2] = {1, 1}, count[MOST], wants[MOST], far[MOST], next[MOST];
    MPI_Type_create_struct(2, one, gaps, parts, &mixed);
    MPI_Type_commit(&mixed);
    for (int i = 0; i < size; i++)
        types[i] = i == size - 1 ? MPI_BYTE : i ? mixed : MPI_DOUBLE, count[i] = i == size - 1 ? 16 : 1;
    for (int i = 0; i < size; i++)
        wanted[i] = types[rank], wants[i] = count[rank], far[i] = 32 * i, next[i] = i;
    MPI_Alltoallw(in, count, far, types, out, wants, far, wanted, MPI_COMM_WORLD);
    MPI_Gatherv(in, 1, mixed, out, same, next, mixed, 0, MPI_COMM_WORLD);
    MPI_Type_free(&mixed);
    MPI_Reduce_scatter(in, out, pairs, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(MPI_IN_PLACE, out, pairs, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Request requests[3];
    MPI_Ialltoallv(in, pairs, at, MPI_INT, out, mine, starts, MPI_INT, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallgatherv(in + 100, rank, pair, in + 150, pairs, at, MPI_INT, MPI_COMM_WORLD, &requests[1]);
    MPI_Igatherv(in + 100, rank, pair, in + 50, pairs, at, MPI_INT, size - 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&pair);
    /* Two groups that send each other different amounts. */
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    /* Only the leaders of the groups need to know each other: the others pass anything. */
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 1 - rank : rank, 5, &between);
    MPI_Allgather(in, 1 + rank % 2, MPI_INT, out, 2 - rank % 2, MPI_INT, between);
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
