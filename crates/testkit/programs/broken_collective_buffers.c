/* Buffers that a program changes while a collective with a request is under way, or that collectives use twice;
 * `broken_collective_buffers NAME` runs one of the programs.
 *
 * The comments are those of broken.c. The correct twins are in ordered_collective_buffers.c.
 */
#include "broken.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MANY 1000
#define MOST_RANKS 8

static int values[MOST_RANKS * MANY], results[MOST_RANKS * MANY], others[MANY];

/* finding root_changes_a_broadcast 2 buffer-changed ranks 0 check says the buffer of MPI_Ibcast of 1000 x MPI_INT at */
static void root_changes_a_broadcast(void)
{
    MPI_Request request;
    MPI_Ibcast(values, MANY, MPI_INT, 0, MPI_COMM_WORLD, &request); /* here: root_changes_a_broadcast */
    if (rank == 0)
        values[999]++;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding changed_before_the_sum 4 buffer-changed ranks [0-3] check says changed before MPI_Waitall at */
static void changed_before_the_sum(void)
{
    MPI_Request request;
    MPI_Iallreduce(values, results, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request); /* here: changed_before_the_sum */
    values[0] = 7;
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}

/* finding leaf_changes_a_gather 2 buffer-changed ranks 1 check says the buffer of MPI_Igather of 1000 x MPI_INT at */
static void leaf_changes_a_gather(void)
{
    MPI_Request request;
    int *unused = (int *)16;
    MPI_Igather(values, MANY, MPI_INT, rank ? unused : results, rank ? 7 : MANY, rank ? MPI_DATATYPE_NULL : MPI_INT, 0, MPI_COMM_WORLD, &request); /* here: leaf_changes_a_gather */
    values[5] += rank;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding root_changes_a_scatter 2 buffer-changed ranks 0 check says the buffer of MPI_Iscatter of 2000 x MPI_INT at */
static void root_changes_a_scatter(void)
{
    MPI_Request request;
    void *to = rank ? (void *)results : MPI_IN_PLACE;
    MPI_Iscatter(values, MANY, MPI_INT, to, MANY, MPI_INT, 0, MPI_COMM_WORLD, &request); /* here: root_changes_a_scatter */
    if (rank == 0)
        values[1999]++;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding block_of_an_exchange_changed 2 buffer-changed ranks [0-1] check says the buffer of MPI_Ialltoallv of 3 x MPI_INT at */
static void block_of_an_exchange_changed(void)
{
    int counts[2] = {3, 3}, apart[2] = {20, 10}, together[2] = {3, 0};
    MPI_Request request;
    MPI_Ialltoallv(values, counts, apart, MPI_INT, results, counts, together, MPI_INT, MPI_COMM_WORLD, &request); /* here: block_of_an_exchange_changed */
    values[12] = 1;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding neighbor_is_sent_something_else 2 buffer-changed ranks [0-1] check says the buffer of MPI_Ineighbor_alltoall of 8 x MPI_INT at */
static void neighbor_is_sent_something_else(void)
{
    int periodic = 1, done = 0;
    MPI_Comm ring;
    MPI_Request request;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Ineighbor_alltoall(values, 4, MPI_INT, results, 4, MPI_INT, ring, &request); /* here: neighbor_is_sent_something_else */
    values[7] = 1;
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    MPI_Comm_free(&ring);
}

/* finding released_before_the_scan 2 buffer-changed ranks 0 check says was released before MPI_Wait at */
static void released_before_the_scan(void)
{
    size_t bytes = sysconf(_SC_PAGESIZE);
    int *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Request request;
    MPI_Iscan(page, results, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request); /* here: released_before_the_scan */
    /* The first rank's part has been read when the second one's is complete. */
    if (rank == 1) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        munmap(page, bytes);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* finding received_into_the_sum 2 buffer-overlap ranks [0-1] check says MPI_Iallreduce of 1000 x MPI_INT at */
static void received_into_the_sum(void)
{
    MPI_Request requests[2];
    MPI_Iallreduce(values, results, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&results[500], 4, MPI_INT, !rank, 2, MPI_COMM_WORLD, &requests[1]); /* here: received_into_the_sum */
    MPI_Send(values, 4, MPI_INT, !rank, 2, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* finding two_results_in_one_buffer 2 buffer-overlap ranks [0-1] check says MPI_Iallgather of 20 x MPI_INT at */
static void two_results_in_one_buffer(void)
{
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Iallgather(values, 10, MPI_INT, &results[10 * i], 10, MPI_INT, MPI_COMM_WORLD, &requests[i]); /* here: two_results_in_one_buffer */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* finding sum_in_place_that_is_sent 2 buffer-overlap ranks 0 check says and the send of 10 x MPI_INT at */
static void sum_in_place_that_is_sent(void)
{
    MPI_Request requests[2];
    MPI_Iallreduce(MPI_IN_PLACE, values, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    if (rank == 0)
        MPI_Isend(values, 10, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[1]); /* here: sum_in_place_that_is_sent */
    else
        MPI_Irecv(results, 10, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* finding summed_while_it_is_received 2 buffer-overlap ranks [0-1] check says and MPI_Allreduce of 1000 x MPI_INT at */
static void summed_while_it_is_received(void)
{
    MPI_Request request;
    MPI_Irecv(&values[10], 4, MPI_INT, !rank, 2, MPI_COMM_WORLD, &request);
    MPI_Allreduce(values, results, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here: summed_while_it_is_received */
    MPI_Send(others, 4, MPI_INT, !rank, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding broadcast_into_what_is_sent 3 buffer-overlap ranks [1-2] check says and MPI_Bcast of 1000 x MPI_INT at */
static void broadcast_into_what_is_sent(void)
{
    MPI_Request request;
    MPI_Issend(values, MANY, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD, &request);
    MPI_Bcast(values, MANY, MPI_INT, 0, MPI_COMM_WORLD); /* here: broadcast_into_what_is_sent */
    MPI_Recv(results, MANY, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* finding summed_into_itself 2 buffer-overlap ranks 1 check dies says two buffers of MPI_Allreduce of 1000 x MPI_INT at */
static void summed_into_itself(void)
{
    MPI_Allreduce(values, rank ? values : results, MANY, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here: summed_into_itself */
}

/* finding gathered_over_what_is_sent 3 buffer-overlap ranks 1 check dies says two buffers of MPI_Gather of */
static void gathered_over_what_is_sent(void)
{
    MPI_Gather(&results[15], 10, MPI_INT, results, 10, MPI_INT, 1, MPI_COMM_WORLD); /* here: gathered_over_what_is_sent */
}

/* finding exchanged_in_one_buffer 2 buffer-overlap ranks 1 check dies says it reads and writes the same bytes */
static void exchanged_in_one_buffer(void)
{
    int counts[2] = {5, 5}, from[2] = {0, 10}, to[2] = {20, 12};
    MPI_Alltoallv(values, counts, from, MPI_INT, rank ? values : results, counts, to, MPI_INT, MPI_COMM_WORLD); /* here: exchanged_in_one_buffer */
}

/* finding received_twice_in_one_place 3 buffer-overlap ranks 0 check dies says writes the same bytes twice */
static void received_twice_in_one_place(void)
{
    int counts[3] = {10, 10, 10}, places[3] = {0, 10, 15};
    MPI_Gatherv(values, 10, MPI_INT, results, counts, places, MPI_INT, 0, MPI_COMM_WORLD); /* here: received_twice_in_one_place */
}

#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
/* finding started_broadcast_changed 2 buffer-changed ranks 0 check without openmpi-4.1 says (2 times) */
static void started_broadcast_changed(void)
{
    MPI_Request request;
    MPI_Bcast_init(values, 10, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request); /* here: started_broadcast_changed */
        /* The first time it gets the value it has. */
        if (rank == 0)
            values[9] = i;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}
#else
static void started_broadcast_changed(void) {}
#endif

FINDINGS(MPI_Init, F(root_changes_a_broadcast), F(changed_before_the_sum), F(leaf_changes_a_gather),
         F(root_changes_a_scatter), F(block_of_an_exchange_changed), F(neighbor_is_sent_something_else),
         F(released_before_the_scan), F(received_into_the_sum), F(two_results_in_one_buffer),
         F(sum_in_place_that_is_sent), F(started_broadcast_changed), F(summed_while_it_is_received),
         F(broadcast_into_what_is_sent), F(summed_into_itself), F(gathered_over_what_is_sent),
         F(exchanged_in_one_buffer), F(received_twice_in_one_place))
