/* Findings of `mpiscope run` about collectives whose members together send other than they expect. See broken.c.
 *
 * Each member may pass counts and datatypes of its own, so none is wrong by itself, and all may be wrong in the same way.
 */
#include "broken.h"

/* finding gather_with_too_much_room 3 collective-mismatch ranks 0 says the members give 12 bytes in all, and expect 24: ranks [1-2] give each 4, rank 0 gives 4 and expects 24 */
static void gather_with_too_much_room(void)
{
    int all[6], value = rank;
    if (rank == 0)
        MPI_Gather(&value, 1, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD); /* here: gather_with_too_much_room */
    else
        MPI_Gather(&value, 1, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
}

/* finding gather_without_room 3 collective-mismatch ranks 0 says give 12 bytes in all, and expect 0: ranks [1-2] give each 4, rank 0 gives 4 and expects nothing */
static void gather_without_room(void)
{
    int all[3], value = rank;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Gather(&value, 1, MPI_INT, all, 0, MPI_INT, 0, MPI_COMM_WORLD); /* here: gather_without_room */
}

/* finding allgather_with_too_much_room 3 collective-mismatch ranks [0-2] says give 36 bytes in all, and expect 72: ranks [0-2] give each 12 and expect 24 */
static void allgather_with_too_much_room(void)
{
    /* All members pass the same. */
    int all[6], value = rank;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Allgather(&value, 1, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD); /* here: allgather_with_too_much_room */
}

/* finding alltoall_without_waiting_of_other_types 3 collective-mismatch ranks [0-2] says give elements other than those they expect: ranks [0-2] give each 4-byte integer elements and expect 4-byte real elements */
static void alltoall_without_waiting_of_other_types(void)
{
    float all[3];
    int values[3] = {0};
    MPI_Request request;
    MPI_Ialltoall(values, 1, MPI_INT, all, 1, MPI_FLOAT, MPI_COMM_WORLD, &request); /* here: alltoall_without_waiting_of_other_types */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding gatherv_of_one_too_few 3 collective-mismatch ranks 0 says in MPI_Gatherv at */
static void gatherv_of_one_too_few(void)
{
    int all[6] = {0}, values[3] = {0}, counts[3] = {1, 3, 2}, at[3] = {0, 1, 4};
    MPI_Gatherv(values, rank == 1 ? 2 : counts[rank], MPI_INT, all, counts, at, MPI_INT, 0, MPI_COMM_WORLD);
}

/* finding gatherv_of_another_type 3 collective-mismatch ranks 0 says collective mismatch (type signature) on MPI_COMM_WORLD */
static void gatherv_of_another_type(void)
{
    float all[6] = {0};
    int values[3] = {0}, counts[3] = {1, 3, 2}, at[3] = {0, 1, 4};
    MPI_Gatherv(values, counts[rank], MPI_INT, all, counts, at, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

/* finding alltoallw_of_another_type 3 collective-mismatch ranks 1 says the members give elements other than those they expect */
static void alltoallw_of_another_type(void)
{
    double in[3] = {0}, out[3];
    int ones[3] = {1, 1, 1}, at[3] = {0, 8, 16};
    MPI_Datatype given[3] = {MPI_DOUBLE, MPI_INT, MPI_DOUBLE}, expected[3] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
    if (rank == 1)
        for (int other = 0; other < 3; other++)
            expected[other] = MPI_INT;
    if (rank == 1)
        expected[2] = MPI_FLOAT;
    MPI_Alltoallw(in, ones, at, given, out, ones, at, expected, MPI_COMM_WORLD);
}

/* finding scatterv_without_waiting_of_other_counts 3 collective-mismatch ranks [0-2] says the members give 24 bytes in all, and expect 32 */
static void scatterv_without_waiting_of_other_counts(void)
{
    int all[6] = {0}, values[5], counts[3] = {1, 3, 2}, at[3] = {0, 1, 4};
    MPI_Request request;
    MPI_Iscatterv(all, counts, at, MPI_INT, values, rank == 1 ? 5 : counts[rank], MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding scatterv_of_one_too_few 4 collective-mismatch ranks 2 without intel-abi says the members give 32 bytes in all, and expect 28: */
static void scatterv_of_one_too_few(void)
{
    int all[8] = {0}, values[2], counts[4] = {2, 2, 2, 2}, at[4] = {0, 2, 4, 6};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Scatterv(all, counts, at, MPI_INT, values, rank == 2 ? 1 : 2, MPI_INT, 0, MPI_COMM_WORLD);
}

/* finding reduce_scatter_of_other_counts 2 collective-mismatch ranks [0-1] says the members give 28 bytes in all, and expect 32: */
static void reduce_scatter_of_other_counts(void)
{
    int values[8] = {0}, result[8], counts[2] = {rank == 1 ? 1 : 2, 2};
    MPI_Reduce_scatter(values, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* finding reduce_scatter_of_two_types 2 collective-mismatch ranks [0-1] says collective mismatch (type signature) on MPI_COMM_WORLD */
static void reduce_scatter_of_two_types(void)
{
    int values[2] = {0}, result, counts[2] = {1, 1};
    MPI_Datatype type = rank == 1 ? MPI_FLOAT : MPI_INT;
    MPI_Reduce_scatter(values, &result, counts, type, MPI_SUM, MPI_COMM_WORLD); /* here: reduce_scatter_of_two_types */
}

/* finding alltoallv_of_two_types 3 collective-mismatch ranks 1 says rank 1 gives 4-byte real elements and expects 4-byte real elements */
static void alltoallv_of_two_types(void)
{
    /* Each sends what it expects, so that the sums agree. */
    int in[3] = {0}, out[3], counts[3] = {1, 1, 1}, at[3] = {0, 1, 2};
    MPI_Request request;
    MPI_Datatype type = rank == 1 ? MPI_FLOAT : MPI_INT;
    MPI_Ialltoallv(in, counts, at, type, out, counts, at, type, MPI_COMM_WORLD, &request); /* here: alltoallv_of_two_types */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding gather_of_one_too_few 3 collective-mismatch ranks 1 says ranks [0,2] were in MPI_Gather with 2 x MPI_INT (8 bytes) at */
static void gather_of_one_too_few(void)
{
    /* What the root expects of each tells which of the two others is wrong. */
    int all[6], values[2] = {rank, rank};
    if (rank == 1)
        MPI_Gather(values, 1, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD); /* here: gather_of_one_too_few */
    else
        MPI_Gather(values, 2, MPI_INT, all, 2, MPI_INT, 0, MPI_COMM_WORLD);
}

FINDINGS(MPI_Init, F(gather_with_too_much_room), F(gather_without_room), F(allgather_with_too_much_room),
         F(alltoall_without_waiting_of_other_types), F(gatherv_of_one_too_few), F(gatherv_of_another_type),
         F(alltoallw_of_another_type), F(scatterv_without_waiting_of_other_counts), F(scatterv_of_one_too_few),
         F(reduce_scatter_of_other_counts), F(reduce_scatter_of_two_types), F(alltoallv_of_two_types),
         F(gather_of_one_too_few))
