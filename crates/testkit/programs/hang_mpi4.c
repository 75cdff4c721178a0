/* Programs that hang in functions added by MPI 4: see hang.c, whose comments have the same format. */
#include "hang.h"
#include <stdlib.h>

static int values[64];

/* scenario partition_never_ready 2 partition-not-ready culprit 0 says to mark partition 1 of 2 ready (MPI_Pready) of its partitioned send with tag 7, started at hang_mpi4.c */
static void partition_never_ready(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(values, 2, 8, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(values, 2, 8, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0) {
        MPI_Pready(0, request);
        MPI_Recv(values, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: partition_never_ready */
}

/* scenario persistent_barrier_missing 3 collective-not-entered culprit 1 */
static void persistent_barrier_missing(void)
{
    MPI_Request request;
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank != 1) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: persistent_barrier_missing */
    }
    MPI_Barrier(MPI_COMM_SELF);
}

/* scenario started_in_another_order 3 deadlock without intel,intel-abi says crossed collectives: rank 0 is in MPI_Wait at hang_mpi4.c: */
static void started_in_another_order(void)
{
    MPI_Request requests[2];
    MPI_Allreduce_init(values, values + 32, 32, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Bcast_init(values, 32, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Request *request = &requests[rank == 1 ? 1 - i : i];
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE); /* here: started_in_another_order */
    }
}

/* scenario session_receives 2 deadlock says 0 -> 1 -> 0 */
static void session_receives(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "hang", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Recv(values, 1, MPI_INT, 1 - rank, 3, comm, MPI_STATUS_IGNORE); /* here: session_receives */
}

/* scenario both_halves_of_isendrecv 2 message-never-sent says tag */
static void both_halves_of_isendrecv(void)
{
    MPI_Request request;
    MPI_Isendrecv(values, 1, MPI_INT, 1 - rank, 3, values + 1, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: both_halves_of_isendrecv */
}

/* scenario own_partitions_not_ready 2 partition-not-ready culprit 0 says rank 0 waits for itself to mark partitions [0,2-3] of 4 ready (MPI_Pready) */
static void own_partitions_not_ready(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(values, 4, 8, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(values, 4, 8, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0)
        MPI_Pready(1, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: own_partitions_not_ready */
}

/* scenario partitioned_send_not_started 2 partition-not-ready culprit 0 says rank 0 to start its partitioned send with tag 7 (MPI_Start) */
static void partitioned_send_not_started(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Psend_init(values, 4, 8, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Recv(values, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Precv_init(values, 4, 8, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: partitioned_send_not_started */
    }
}

/* scenario polling_for_a_partition 2 polling culprit 0 says waits for rank 0 to mark partition 2 of 4 ready (MPI_Pready) */
static void polling_for_a_partition(void)
{
    MPI_Request request;
    int arrived = 0;
    if (rank == 0)
        MPI_Psend_init(values, 4, 8, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(values, 4, 8, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int i = 0; i < 4 && rank == 0; i++)
        if (i != 2)
            MPI_Pready(i, request);
    while (rank == 1 && !arrived)
        MPI_Parrived(request, 2, &arrived);
    MPI_Barrier(MPI_COMM_WORLD); /* here: polling_for_a_partition */
}

/* scenario second_of_one_tag_not_ready 2 partition-not-ready culprit 0 says to mark partition 1 of 2 ready (MPI_Pready) of its partitioned send with tag 7 */
static void second_of_one_tag_not_ready(void)
{
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        if (rank == 0)
            MPI_Psend_init(values + 16 * i, 2, 8, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
        else
            MPI_Precv_init(values + 16 * i, 2, 8, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    MPI_Startall(2, requests);
    if (rank == 0) {
        MPI_Pready_range(0, 1, requests[0]);
        MPI_Pready(0, requests[1]);
        MPI_Recv(values + 32, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* here: second_of_one_tag_not_ready */
}

/* scenario made_in_another_order 3 collective-mismatch culprit 1 without intel,intel-abi says rank 1 was in MPI_Allreduce_init */
static void made_in_another_order(void)
{
    MPI_Request barrier, reduce;
    for (int i = 0; i < 2; i++) {
        if ((rank == 1) == (i == 0))
            MPI_Allreduce_init(values, values + 1, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &reduce);
        else
            MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &barrier);
    }
    MPI_Start(&barrier);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE); /* here: made_in_another_order */
}

/* scenario partitioned_send_to_a_plain_receive 2 message-never-sent culprit 0 without openmpi-5.0 says rank 0 sent a partitioned message with tag 7 to rank 1 */
static void partitioned_send_to_a_plain_receive(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Psend_init(values, 2, 8, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready_range(0, 1, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else
        MPI_Recv(values, 16, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: partitioned_send_to_a_plain_receive */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario plain_send_to_a_partitioned_receive 2 message-never-sent culprit 0 says rank 0 sent a message with tag 7 to rank 1 */
static void plain_send_to_a_partitioned_receive(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Send(values, 16, MPI_INT, 1, 7, MPI_COMM_WORLD);
    else {
        MPI_Precv_init(values, 2, 8, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: plain_send_to_a_partitioned_receive */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void from_group(const char *tag)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    if (tag)
        MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm); /* here: not_made_from_the_group */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario not_made_from_the_group 3 collective-not-entered culprit 1 says wait for rank 1 to call MPI_Comm_create_from_group */
static void not_made_from_the_group(void)
{
    from_group(rank == 1 ? NULL : "hang");
}

/* scenario texts_that_differ 2 collective-mismatch says with the same string as tag, not with another one */
static void texts_that_differ(void)
{
    from_group(rank == 1 ? "hang" : "hung");
}

SCENARIOS(
    S(partition_never_ready), S(persistent_barrier_missing), S(started_in_another_order), S(session_receives),
    S(both_halves_of_isendrecv), S(own_partitions_not_ready), S(partitioned_send_not_started),
    S(polling_for_a_partition), S(made_in_another_order), S(partitioned_send_to_a_plain_receive),
    S(plain_send_to_a_partitioned_receive), S(second_of_one_tag_not_ready),
    S(not_made_from_the_group), S(texts_that_differ))
