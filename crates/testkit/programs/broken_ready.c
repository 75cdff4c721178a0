/* Findings of `mpiscope run` about ready sends. See broken.c. */
#include "broken.h"

#define TAG 3
#define SENT 4

/* Tells the receiver that the ready send has begun. */
static void announce(void)
{
    MPI_Send(NULL, 0, MPI_BYTE, 1, SENT, MPI_COMM_WORLD);
}

static void receive_once_sent(int times)
{
    int value;
    for (int i = 0; i < times; i++) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, SENT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* finding ready_send_without_waiting 2 ready-send ranks 0 check says began before rank 1 posted the receive of 1 x MPI_INT at */
static void ready_send_without_waiting(void)
{
    int value = 1;
    MPI_Request request;
    if (rank == 0) {
        MPI_Irsend(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request); /* here: ready_send_without_waiting */
        announce();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        receive_once_sent(1);
    }
}

/* finding persistent_ready_send 2 ready-send ranks 0 check says (2 times) */
static void persistent_ready_send(void)
{
    int value = 1;
    MPI_Request request;
    if (rank == 0) {
        MPI_Rsend_init(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&request); /* here: persistent_ready_send */
            announce();
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    } else {
        receive_once_sent(2);
    }
}

/* finding ready_send_to_a_probe 2 ready-send ranks 0 check says the ready send of 1 x MPI_INT at */
static void ready_send_to_a_probe(void)
{
    /* Waiting for a message is not receiving it. */
    int value = 1;
    if (rank == 0) {
        MPI_Rsend(&value, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD); /* here: ready_send_to_a_probe */
    } else {
        MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

FINDINGS(MPI_Init, F(ready_send_without_waiting), F(persistent_ready_send), F(ready_send_to_a_probe))
