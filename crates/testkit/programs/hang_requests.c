/* More programs that hang: the matching operation exists, but in a different form. The comments are explained in `hang.c`. */
#include "hang.h"

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario probed_and_received_otherwise 2 message-never-received culprit 0 says can be received only with MPI_Mrecv */
static void probed_and_received_otherwise(void)
{
    int value = 0;
    MPI_Message message;
    if (rank == 0) {
        MPI_Mprobe(1, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: probed_and_received_otherwise */
    } else {
        MPI_Ssend(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
    barrier();
}

/* scenario persistent_send_not_started 3 message-never-sent culprit 1 says rank 1 has not started its persistent send of hang_requests.c: */
static void persistent_send_not_started(void)
{
    int values[2] = {0};
    MPI_Request requests[2];
    MPI_Send_init(&values[0], 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&values[1], 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[1]);
    if (rank == 1)
        MPI_Start(&requests[1]);
    else
        MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* here: persistent_send_not_started */
    barrier();
}

/* scenario persistent_sends_started_by_none 2 deadlock says ; ranks [0-1] have not started their persistent sends of hang_requests.c: */
static void persistent_sends_started_by_none(void)
{
    int in, out = 0;
    MPI_Request requests[2];
    MPI_Send_init(&out, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* here: persistent_sends_started_by_none */
}

/* scenario persistent_receive_not_started 3 message-never-received culprit 1 says rank 1 has not started its persistent receive */
static void persistent_receive_not_started(void)
{
    int value = 0;
    MPI_Request request;
    if (rank == 1)
        MPI_Recv_init(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
    if (rank == 0)
        MPI_Ssend(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD); /* here: persistent_receive_not_started */
    barrier();
}

/* scenario neighbour_not_entered 4 collective-not-entered culprit 1 says rank 1 to enter MPI_Neighbor_alltoall */
static void neighbour_not_entered(void)
{
    int periodic = 1, out[2] = {0}, in[2];
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    if (rank != 1)
        MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring); /* here: neighbour_not_entered */
    barrier();
}

/* scenario polling_for_another_tag 2 polling culprit 0 says rank 1 sent a message with tag 9 */
static void polling_for_another_tag(void)
{
    int value = 0, there = 0;
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    while (rank == 0 && !there)
        MPI_Iprobe(1, 8, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE); /* here: polling_for_another_tag */
    barrier();
}

/* scenario halo_lacks_a_message 4 message-never-sent culprit 2 says rank 2 has called MPI_Isend at hang_requests.c: */
static void halo_lacks_a_message(void)
{
    double halo[4] = {0};
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int step = 0; step < 6; step++) {
        MPI_Request requests[4];
        int count = 0;
        MPI_Irecv(&halo[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[count++]);
        MPI_Irecv(&halo[1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[count++]);
        MPI_Isend(&halo[2], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[count++]);
        if (rank != 2 || step != 3)
            MPI_Isend(&halo[3], 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[count++]);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); /* here: halo_lacks_a_message */
    }
    barrier();
}

/* scenario one_result_too_many 4 deadlock culprit 3 says ; rank 0: in MPI_Barrier */
static void one_result_too_many(void)
{
    int value = 0;
    if (rank != 3)
        MPI_Send(&value, 1, MPI_INT, 3, 9, MPI_COMM_WORLD);
    for (int i = 0; rank == 3 && i < size; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: one_result_too_many */
    barrier();
}

/* scenario receive_from_the_wrong_rank 4 message-never-sent culprit 2 says (4 bytes, hang_requests.c: */
static void receive_from_the_wrong_rank(void)
{
    int out = 0, in, left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Sendrecv(&out, 1, MPI_INT, right, 0, &in, 1, MPI_INT, rank == 2 ? right : left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    barrier();
}

/* scenario waiting_for_one_that_polls 3 slow culprit 1 says ranks [0,2] wait for rank 1 */
static void waiting_for_one_that_polls(void)
{
    int value = 0, there = 0;
    MPI_Request request;
    if (rank == 1) {
        sleep(140);
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        while (!there)
            MPI_Test(&request, &there, MPI_STATUS_IGNORE);
    }
    barrier();
}

/* scenario taken_by_a_receive_from_any_rank 3 message-never-sent culprit 0 says having received one earlier at hang_requests.c: */
static void taken_by_a_receive_from_any_rank(void)
{
    int value = 0;
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    barrier();
    if (rank == 2)
        MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: taken_by_a_receive_from_any_rank */
    barrier();
}

/* scenario taken_by_a_receive_posted_before 2 deadlock culprit 0 says (one went to an earlier receive, at hang_requests.c: */
static void taken_by_a_receive_posted_before(void)
{
    int values[2] = {0, 0};
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Recv(&values[1], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: taken_by_a_receive_posted_before */
    } else
        MPI_Send(&values[0], 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    barrier();
}

/* scenario taken_by_a_request_that_was_overwritten 2 deadlock culprit 0 says since its request was overwritten with another one at hang_requests.c: */
static void taken_by_a_request_that_was_overwritten(void)
{
    int values[2] = {0, 0};
    MPI_Request request;
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: taken_by_a_request_that_was_overwritten */
    } else
        MPI_Send(&values[0], 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    barrier();
}

/* scenario took_what_a_later_receive_names 3 deadlock says follows from the fact that nothing has moved for */
/* The message of rank 1 could have been taken as well, and then rank 0 would go on. */
static void took_what_a_later_receive_names(void)
{
    int values[2] = {0, 0};
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
        MPI_Recv(&values[1], 1, MPI_INT, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: took_what_a_later_receive_names */
        MPI_Send(&values[1], 1, MPI_INT, 2, 4, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        /* Only when rank 0 has begun to receive the message of rank 2. */
        MPI_Recv(&values[1], 1, MPI_INT, 2, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&values[0], 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    } else {
        MPI_Ssend(&values[0], 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
        MPI_Send(&values[0], 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
        MPI_Recv(&values[1], 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    barrier();
}

SCENARIOS(S(probed_and_received_otherwise), S(persistent_send_not_started),
          S(persistent_sends_started_by_none), S(persistent_receive_not_started),
          S(neighbour_not_entered), S(polling_for_another_tag), S(halo_lacks_a_message), S(one_result_too_many),
          S(receive_from_the_wrong_rank), S(waiting_for_one_that_polls),
          S(taken_by_a_receive_from_any_rank), S(taken_by_a_receive_posted_before),
          S(taken_by_a_request_that_was_overwritten), S(took_what_a_later_receive_names))
