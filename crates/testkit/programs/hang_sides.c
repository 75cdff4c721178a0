/* Programs that hang because two sides disagree: groups of an intercommunicator, neighbors, buffered messages.
 * The comments have the format of hang.c. */
#include "hang.h"
#include <stdlib.h>

static int value;

/* The first two ranks on one side, the others on the other. */
static MPI_Comm two_groups(void)
{
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank >= 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 1, &both);
    MPI_Comm_set_name(both, "both");
    return both;
}

/* scenario nobody_is_root 4 collective-mismatch culprit [2-3] says (root) on "both", collective 1: ranks [0-1] */
static void nobody_is_root(void)
{
    MPI_Bcast(&value, 1, MPI_INT, rank < 2 ? MPI_PROC_NULL : 0, two_groups()); /* here: nobody_is_root */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario both_are_root 4 collective-mismatch says in MPI_Reduce with MPI_ROOT */
static void both_are_root(void)
{
    int result;
    MPI_Reduce(&value, &result, 1, MPI_INT, MPI_SUM, rank < 2 ? MPI_ROOT : 0, two_groups()); /* here: both_are_root */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario root_of_a_group_that_knows_none 4 collective-mismatch culprit 1 says rank 1 */
static void root_of_a_group_that_knows_none(void)
{
    MPI_Comm both = two_groups();
    MPI_Gather(&value, 1, MPI_INT, &value, 1, MPI_INT, rank == 1 ? MPI_ROOT : MPI_PROC_NULL, both);
    MPI_Barrier(both); /* here: root_of_a_group_that_knows_none */
    MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* scenario between_groups 4 slow culprit 3 */
static void between_groups(void)
{
    MPI_Comm both = two_groups();
    int results[4];
    MPI_Bcast(&value, 1, MPI_INT, rank == 1 ? MPI_ROOT : rank < 2 ? MPI_PROC_NULL : 1, both);
    MPI_Gather(&value, 1, MPI_INT, results, 1, MPI_INT, rank == 2 ? MPI_ROOT : rank > 2 ? MPI_PROC_NULL : 0, both);
    if (rank == 3)
        sleep(140);
    MPI_Bcast(&value, 1, MPI_INT, rank == 3 ? MPI_ROOT : rank > 1 ? MPI_PROC_NULL : 1, both);
    MPI_Barrier(MPI_COMM_WORLD); /* here: between_groups */
}

/* scenario buffer_detached_too_early 2 message-never-received without intel,intel-abi says with tag 5 */
static void buffer_detached_too_early(void)
{
    static char buffer[4 << 20], data[2 << 20];
    void *old;
    int length;
    if (rank == 0) {
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Bsend(data, sizeof data, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
        MPI_Buffer_detach(&old, &length); /* here: buffer_detached_too_early */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario neighbours_of_one_side 3 collective-mismatch says rank 0 */
static void neighbours_of_one_side(void)
{
    MPI_Comm graph;
    int in[3], out[3] = {0}, source = 1, destination = 2;
    const int weight = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0, &source, &weight, rank == 1, &destination, &weight,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, graph); /* here: neighbours_of_one_side */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario nobody_accepts 2 no-partner culprit 1 without mpich-4.0,mpich-5.0,mpich-5.0-abi,intel,intel-abi */
static void nobody_accepts(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm server;
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &server); /* here: nobody_accepts */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario probed_and_kept 3 message-never-received culprit 0 says rank 0 took it with MPI_Mprobe at hang_sides.c: */
static void probed_and_kept(void)
{
    int value = 0, there = 0;
    MPI_Message message;
    if (rank == 1)
        MPI_Ssend(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    if (rank == 0)
        while (!there)
            MPI_Improbe(1, 3, MPI_COMM_WORLD, &there, &message, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario one_result_of_anybody_too_many 3 message-never-sent culprit 0 says and no rank is left that could send it: ranks [1-2] */
static void one_result_of_anybody_too_many(void)
{
    int value = rank;
    if (rank > 0)
        MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    else
        for (int i = 0; i < size; i++)
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

SCENARIOS(S(nobody_is_root), S(both_are_root), S(root_of_a_group_that_knows_none), S(between_groups),
          S(buffer_detached_too_early), S(neighbours_of_one_side), S(nobody_accepts), S(probed_and_kept),
          S(one_result_of_anybody_too_many))
