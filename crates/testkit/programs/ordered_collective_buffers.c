/* Buffers of collectives that are reused as soon as the program knows that the operations are complete,
 * however it learns it, and buffers that several operations may use at once.
 *
 * Nothing may be found, with and without `--check`. Arguments that are not significant are garbage.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 8
#define MANY 1000

#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define HAVE_PERSISTENT 1
#endif

static int rank, size;
static int values[MOST_RANKS * MANY], results[MOST_RANKS * MANY], others[MOST_RANKS * MANY];
static int *const garbage = (int *)24;
static MPI_Request request;

static void change(void)
{
    for (int i = 0; i < MOST_RANKS * MANY; i++)
        values[i]++;
}

static void wait_and_change(void)
{
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    change();
    results[0]++;
}

/* All ways to learn that an operation is complete. */
static void learned_in_all_ways(void)
{
    int done = 0, which, indices[2];
    MPI_Request requests[2];
    MPI_Iallreduce(values, results, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Ibcast(values, MANY, MPI_INT, 0, MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    change();
    MPI_Iscan(values, results, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    for (done = 0; !done;)
        MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    change();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int way = 0; way < 4; way++) {
        MPI_Iallgather(values, MANY, MPI_INT, results, MANY, MPI_INT, MPI_COMM_WORLD, &requests[0]);
        MPI_Ialltoall(values, 10, MPI_INT, others, 10, MPI_INT, MPI_COMM_WORLD, &requests[1]);
        if (way == 0) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else if (way == 1) {
            for (int i = 0; i < 2; i++)
                MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        } else if (way == 2) {
            for (int complete = 0, now; complete < 2; complete += now)
                MPI_Testsome(2, requests, &now, indices, MPI_STATUSES_IGNORE);
        } else {
            for (done = 0; !done;)
                MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        }
        change();
        results[0] = others[0] = way;
    }
}

static void arguments_that_do_not_matter(void)
{
    int is_root = rank == 1 % size;
    int root = 1 % size;
    MPI_Igather(values, 10, MPI_INT, is_root ? results : garbage, is_root ? 10 : 1 << 20, is_root ? MPI_INT : MPI_DATATYPE_NULL, root, MPI_COMM_WORLD, &request);
    if (!is_root)
        results[0]++;
    wait_and_change();
    MPI_Iscatter(is_root ? values : garbage, is_root ? 10 : 1 << 20, is_root ? MPI_INT : MPI_DATATYPE_NULL, results, 10, MPI_INT, root, MPI_COMM_WORLD, &request);
    if (!is_root)
        change();
    wait_and_change();
    MPI_Igatherv(values, 10, MPI_INT, results, is_root ? (int[]){10, 10, 10, 10, 10, 10, 10, 10} : garbage, is_root ? (int[]){0, 10, 20, 30, 40, 50, 60, 70} : garbage, MPI_INT, root, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Iscatterv(values, is_root ? (int[]){10, 10, 10, 10, 10, 10, 10, 10} : garbage, is_root ? (int[]){0, 10, 20, 30, 40, 50, 60, 70} : garbage, MPI_INT, results, 10, MPI_INT, root, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Ireduce(values, is_root ? results : garbage, MANY, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Iexscan(values, rank ? results : garbage, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    wait_and_change();
    /* The receive buffer of the first rank is free. */
    MPI_Request requests[2];
    MPI_Ibcast(values, 0, MPI_INT, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(values, results, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    change();
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void in_place(void)
{
    MPI_Iallreduce(MPI_IN_PLACE, values, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 10, MPI_INT, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Igather(rank ? (void *)values : MPI_IN_PLACE, 10, MPI_INT, values, 10, MPI_INT, 0, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Iscatter(values, 10, MPI_INT, rank ? (void *)values : MPI_IN_PLACE, 10, MPI_INT, 0, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Ireduce(rank ? (void *)values : MPI_IN_PLACE, values, 10, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, &request);
    wait_and_change();
    MPI_Ireduce_scatter_block(MPI_IN_PLACE, values, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    wait_and_change();
}

/* Several operations read one buffer, and several write into parts of one. */
static void shared_without_conflict(void)
{
    MPI_Request requests[4];
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Iallreduce(values, results, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallgather(values, 10, MPI_INT, &results[10], 10, MPI_INT, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(values, 10, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(others, 10, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    change();
}

/* What lies between the blocks is free. */
static void blocks(void)
{
    int counts[MOST_RANKS], apart[MOST_RANKS], bytes[MOST_RANKS];
    MPI_Datatype types[MOST_RANKS];
    for (int i = 0; i < size; i++) {
        counts[i] = 5;
        apart[i] = 10 * (size - i);
        bytes[i] = 40 * (size - i);
        types[i] = MPI_INT;
    }
    MPI_Ialltoallv(values, counts, apart, MPI_INT, results, counts, apart, MPI_INT, MPI_COMM_WORLD, &request);
    values[8] = values[17] = results[7] = 3;
    wait_and_change();
    MPI_Ialltoallw(values, counts, bytes, types, results, counts, bytes, types, MPI_COMM_WORLD, &request);
    values[8] = values[17] = results[7] = 4;
    wait_and_change();
    MPI_Iallgatherv(values, 5, MPI_INT, results, counts, apart, MPI_INT, MPI_COMM_WORLD, &request);
    values[5] = results[7] = 4;
    wait_and_change();
    for (int i = 0; i < size; i++)
        counts[i] = i;
    MPI_Ireduce_scatter(values, results, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    results[rank] = 3;
    wait_and_change();
}

/* Blocks for neighbors that do not exist are neither read nor written. */
static void at_the_border(void)
{
    int periodic = 0;
    MPI_Comm line;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &line);
    MPI_Ineighbor_alltoall(values, 4, MPI_INT, results, 4, MPI_INT, line, &request);
    if (rank == 0)
        values[0] = results[0] = 7;
    if (rank == size - 1)
        values[4] = results[4] = 7;
    wait_and_change();
    MPI_Ineighbor_allgather(values, 4, MPI_INT, results, 4, MPI_INT, line, &request);
    wait_and_change();
    MPI_Comm_free(&line);
}

static void between_groups(void)
{
    MPI_Comm half, between;
    int low = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size / 2 : 0, 3, &between);
    MPI_Iallgather(values, 10, MPI_INT, results, 10, MPI_INT, between, &request);
    wait_and_change();
    int root = low ? (rank ? MPI_PROC_NULL : MPI_ROOT) : 0;
    MPI_Ibcast(root == MPI_PROC_NULL ? garbage : values, 10, MPI_INT, root, between, &request);
    wait_and_change();
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
}

static void persistent(void)
{
#ifdef HAVE_PERSISTENT
    MPI_Request requests[3];
    MPI_Bcast_init(values, MANY, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(others, results, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Alltoall_init(others, 10, MPI_INT, &results[MANY], 10, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
    change();
    for (int i = 0; i < 5; i++) {
        others[i]++;
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        change();
        MPI_Start(&requests[1]);
        change();
        for (int done = 0; !done;)
            MPI_Test(&requests[1], &done, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
#endif
}

/* Blocking collectives while a message is awaited in memory of its own. */
static void beside_a_receive(void)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size, is_root = rank == 1 % size, root = 1 % size;
    MPI_Irecv(others, 10, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
    MPI_Bcast(values, MANY, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Allreduce(values, &others[10], 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, values, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(values, results, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(values, rank ? results : others, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Gather(values, 10, MPI_INT, is_root ? results : others, 10, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Scatter(is_root ? values : others, 10, MPI_INT, results, 10, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Reduce(values, is_root ? results : values, 10, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 10, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoall(values, 10, MPI_INT, results, 10, MPI_INT, MPI_COMM_WORLD);
    MPI_Send(values, 10, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast(others, 10, MPI_INT, root, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    learned_in_all_ways();
    arguments_that_do_not_matter();
    in_place();
    shared_without_conflict();
    blocks();
    at_the_border();
    between_groups();
    persistent();
    beside_a_receive();
    MPI_Finalize();
    return 0;
}
