/* Collectives of intercommunicators, with garbage in all arguments that are not significant according to the standard. */
#include "expect.h"

#define N 64

int main(int argc, char **argv)
{
    MPI_Comm mine, inter;
    int in[N], out[N], counts[N], places[N], local;
    long sum = 0;
    expect_init(&argc, &argv);
    for (int i = 0; i < N; i++) {
        in[i] = expect_rank + i;
        out[i] = 0;
        counts[i] = 1;
        places[i] = i;
    }
    int first = expect_rank < expect_size / 2;
    CALL(MPI_Comm_split, MPI_COMM_WORLD, first, expect_rank, &mine);
    CALL(MPI_Intercomm_create, mine, 0, MPI_COMM_WORLD, first ? expect_size / 2 : 0, 7, &inter);
    CALL(MPI_Comm_rank, mine, &local);

    /* The first half has the root; the other ranks of that half take no part. */
    int root = first ? (local == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    int is_root = root == MPI_ROOT, is_leaf = !first;
    /* Neither null, nor a number that an argument check would reject, nor a datatype. */
    MPI_Datatype none = MPI_DATATYPE_NULL;
    int many = 12345;
    MPI_Datatype rooted = is_root ? MPI_INT : none, leaf = is_leaf ? MPI_INT : none;
    void *all = is_root ? out : NULL, *one = is_leaf ? in : NULL;
    CALL(MPI_Gather, one, is_leaf ? 1 : many, leaf, all, is_root ? 1 : many, rooted, root, inter);
    sum += out[1];
    CALL(MPI_Gatherv, one, is_leaf ? 1 : many, leaf, all, is_root ? counts : NULL, is_root ? places : NULL, rooted,
         root, inter);
    all = is_root ? in : NULL;
    one = is_leaf ? out : NULL;
    CALL(MPI_Scatter, all, is_root ? 1 : many, rooted, one, is_leaf ? 1 : many, leaf, root, inter);
    CALL(MPI_Scatterv, all, is_root ? counts : NULL, is_root ? places : NULL, rooted, one, is_leaf ? 1 : many, leaf,
         root, inter);
    sum += out[0];
    if (root == MPI_PROC_NULL)
        CALL(MPI_Bcast, NULL, 0, MPI_INT, root, inter);
    else
        CALL(MPI_Bcast, out, 4, MPI_INT, root, inter);
    CALL(MPI_Allreduce, in, out, 1, MPI_INT, MPI_SUM, inter);
    CALL(MPI_Alltoall, in, 1, MPI_INT, out, 1, MPI_INT, inter);
    sum += out[1];
    CALL(MPI_Barrier, inter);
    CALL(MPI_Comm_free, &inter);
    CALL(MPI_Comm_free, &mine);
    expect_summary("intercomm", sum);
    expect_finish();
    return 0;
}
