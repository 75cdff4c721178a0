/* Programs with a mistake of one rank for which another one seems to be to blame at first sight. The comments have the
 * format of hang.c. */
#include "hang.h"

enum { STEPS = 8, ODD = 5, LARGE = 1 << 20 };

static int value, total;
static char large[LARGE];

static void sum(MPI_Comm comm)
{
    MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, comm);
}

static void exchange(const int *neighbours, int count)
{
    int received[4];
    MPI_Request requests[8];
    for (int i = 0; i < count; i++)
        MPI_Irecv(&received[i], 1, MPI_INT, neighbours[i], 0, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < count; i++)
        MPI_Isend(&value, 1, MPI_INT, neighbours[i], 0, MPI_COMM_WORLD, &requests[count + i]);
    MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
}

/* Two rows of three: rank 3 does not notice that its row begins there. */
/* scenario row_begins_elsewhere 6 message-never-sent culprit 3 says only one of the two takes the other for a neighbor */
static void row_begins_elsewhere(void)
{
    int x = rank % 3, above = rank >= 3 ? rank - 3 : MPI_PROC_NULL, below = rank < 3 ? rank + 3 : MPI_PROC_NULL;
    int left = x > 0 || rank == 3 ? rank - 1 : MPI_PROC_NULL, right = x < 2 ? rank + 1 : MPI_PROC_NULL;
    for (int i = 0; i < STEPS; i++) {
        exchange((int[]){left, right, above, below}, 4);
        sum(MPI_COMM_WORLD);
    }
}

/* scenario all_instead_of_row 4 deadlock culprit 3 says ; rank 3 called MPI_Allreduce at hang_mistakes.c: */
static void all_instead_of_row(void)
{
    MPI_Comm row;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &row);
    for (int i = 0; i < STEPS; i++) {
        sum(row);
        MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, rank == 3 && i == ODD ? MPI_COMM_WORLD : row); /* here: all_instead_of_row */
        sum(MPI_COMM_WORLD);
    }
}

/* scenario step_counted_twice 4 message-never-sent culprit 2 says : rank 2 differs from two others */
static void step_counted_twice(void)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0, tag = 0; i < STEPS; i++, tag++) {
        MPI_Sendrecv(&value, 1, MPI_INT, right, tag, &total, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 2 && i == ODD)
            tag++;
    }
}

/* scenario solver_skipped 4 deadlock culprit 3 says instead of MPI_Allreduce at hang_mistakes.c: */
static void solver_skipped(void)
{
    MPI_Comm solver;
    MPI_Comm_dup(MPI_COMM_WORLD, &solver);
    for (int i = 0; i < STEPS; i++) {
        if (rank != 3 || i != ODD)
            MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_MAX, solver);
        MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void access_epoch(MPI_Win window, MPI_Group target)
{
    MPI_Win_start(target, 0, window);
    MPI_Put(&value, 1, MPI_INT, 2, rank, 1, MPI_INT, window);
    MPI_Win_complete(window);
}

/* scenario one_origin_never_starts 3 rma culprit 1 says rank 2 waits for rank 1 to start and complete its access */
static void one_origin_never_starts(void)
{
    int memory[2];
    MPI_Win window;
    MPI_Group all, origins, target;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, (int[]){0, 1}, &origins);
    MPI_Group_incl(all, 1, (int[]){2}, &target);
    if (rank == 0)
        access_epoch(window, target);
    if (rank == 2) {
        MPI_Win_post(origins, 0, window);
        MPI_Win_wait(window); /* here: one_origin_never_starts */
    }
    MPI_Win_free(&window);
}

/* scenario gathers_all_but_the_last 5 message-never-received culprit 0 says but no message from rank 4, which has sent it as many */
static void gathers_all_but_the_last(void)
{
    if (rank > 0)
        MPI_Send(large, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD); /* here: gathers_all_but_the_last */
    for (int from = 1; rank == 0 && from < size - 1; from++)
        MPI_Recv(large, LARGE, MPI_CHAR, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A tree, in which rank 1 also waits for a child of rank 2. */
/* scenario child_of_another_parent 7 deadlock says 1 -> 5 -> */
static void child_of_another_parent(void)
{
    int last = 2 * rank + (rank == 1 ? 3 : 2);
    for (int child = 2 * rank + 1; child <= last && child < size; child++)
        MPI_Recv(&value, 1, MPI_INT, child, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > 0)
        MPI_Send(&value, 1, MPI_INT, (rank - 1) / 2, 0, MPI_COMM_WORLD);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/* scenario listed_twice_by_one_side 3 collective-mismatch culprit 1 says has rank 0 as a source twice; rank 0 has rank 1 as a destination once */
static void listed_twice_by_one_side(void)
{
    int before = (rank + size - 1) % size, after = (rank + 1) % size, received[2];
    MPI_Comm ring;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 1 ? 2 : 1, (int[]){before, before}, MPI_UNWEIGHTED, 1, &after,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, received, 1, MPI_INT, ring); /* here: listed_twice_by_one_side */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario end_of_a_row_taken_for_a_ring 4 message-never-sent culprit 3 says rank 3 has sent rank 0 no message, but the others of */
static void end_of_a_row_taken_for_a_ring(void)
{
    int left, right;
    MPI_Comm row;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, (int[]){0}, 0, &row);
    MPI_Cart_shift(row, 0, 1, &left, &right);
    if (rank == 0)
        left = size - 1;
    for (int i = 0; i < STEPS; i++)
        MPI_Sendrecv(&value, 1, MPI_INT, right, 1, &total, 1, MPI_INT, left, 1, row, MPI_STATUS_IGNORE);
}

/* scenario neither_root_nor_null 4 collective-mismatch culprit [1-3] says rank 0 was in MPI_Bcast with MPI_ROOT */
static void neither_root_nor_null(void)
{
    int second = rank >= size / 2;
    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, second, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, second ? 0 : size / 2, 1, &both);
    MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : 0, both); /* rank 1 must pass MPI_PROC_NULL */
    MPI_Barrier(both);
}

SCENARIOS(S(row_begins_elsewhere), S(all_instead_of_row), S(step_counted_twice), S(solver_skipped),
          S(one_origin_never_starts), S(gathers_all_but_the_last), S(child_of_another_parent),
          S(listed_twice_by_one_side), S(end_of_a_row_taken_for_a_ring), S(neither_root_nor_null))
