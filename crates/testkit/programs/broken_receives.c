/* Buffers that a program writes while it is receiving into them; `broken_receives NAME` runs one of the programs.
 *
 * The comments are those of broken.c. The correct twins are in ordered_receives.c.
 */
#include "broken.h"
#include <stdlib.h>
#include <string.h>

#define MANY (1 << 20)

static int values[MANY];

/* Rank 0 sends numbers that nobody else writes. */
static void send_ints(int count, int times)
{
    for (int i = 0; i < count; i++)
        values[i] = 1000 + i;
    for (int i = 0; i < times; i++)
        MPI_Send(values, count, MPI_INT, 1, 5, MPI_COMM_WORLD);
}

/* Whether the message arrives before or after the buffer is written, it is found. */
/* finding written_before_the_wait 2 buffer-changed ranks 1 check says the buffer of the receive of 4 x MPI_INT at */
static void written_before_the_wait(void)
{
    MPI_Request request;
    if (rank == 0) {
        send_ints(4, 1);
    } else {
        MPI_Irecv(values, 4, MPI_INT, 0, 5, MPI_COMM_WORLD, &request); /* here: written_before_the_wait */
        values[3] = 7;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* finding written_after_the_arrival 2 buffer-changed ranks 1 check says it differs from what rank 0 sent at broken_receives.c: */
static void written_after_the_arrival(void)
{
    MPI_Request request;
    int other;
    if (rank == 0) {
        send_ints(4, 1);
    } else {
        MPI_Probe(0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(values, 4, MPI_INT, 0, 5, MPI_COMM_WORLD, &request); /* here: written_after_the_arrival */
        /* Lets the library work without asking for the completion. */
        for (int i = 0; i < 1000 && values[3] != 1003; i++)
            MPI_Iprobe(0, 6, MPI_COMM_WORLD, &other, MPI_STATUS_IGNORE);
        values[3] = 7;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* finding written_before_the_message 2 buffer-changed ranks 1 check says was changed before MPI_Wait at */
static void written_before_the_message(void)
{
    MPI_Request request;
    int complete;
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        send_ints(100, 1);
    } else {
        MPI_Irecv(values, 100, MPI_INT, 0, 5, MPI_COMM_WORLD, &request); /* here: written_before_the_message */
        memset(values, 1, 100 * sizeof(int));
        MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_INT, 0, 4, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* finding one_of_several_written 2 buffer-changed ranks 1 check says was changed before MPI_Waitall at */
static void one_of_several_written(void)
{
    MPI_Request requests[3];
    if (rank == 0) {
        send_ints(1, 3);
    } else {
        for (int i = 0; i < 3; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[i]); /* here: one_of_several_written */
        values[1] = 7;
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
}

/* finding persistent_receive_written 2 buffer-changed ranks 1 check says was changed before MPI_Waitany at */
static void persistent_receive_written(void)
{
    MPI_Request request;
    if (rank == 0) {
        send_ints(10, 3);
    } else {
        MPI_Recv_init(values, 10, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        for (int i = 0, which; i < 3; i++) {
            MPI_Start(&request); /* here: persistent_receive_written */
            values[9] = i;
            MPI_Waitany(1, &request, &which, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    }
}

/* finding large_receive_written 2 buffer-changed ranks 1 check says the buffer of the receive of 1048576 x MPI_INT at */
static void large_receive_written(void)
{
    MPI_Request request;
    if (rank == 0) {
        send_ints(MANY, 1);
    } else {
        MPI_Irecv(values, MANY, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request); /* here: large_receive_written */
        for (int i = 0; i < MANY; i++)
            values[i] = -i - 1;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

FINDINGS(MPI_Init, F(written_before_the_wait), F(written_after_the_arrival), F(written_before_the_message),
         F(one_of_several_written), F(persistent_receive_written), F(large_receive_written))
