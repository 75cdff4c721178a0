/* Buffers that a program changes while they are being sent; `broken_buffers NAME` runs one of the programs.
 *
 * The comments are those of broken.c. The correct twins are in ordered_buffers.c.
 */
#include "broken.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MANY (1 << 20)

static void receive_ints(int count, int times)
{
    int *values = malloc(count * sizeof(int));
    for (int i = 0; i < times; i++)
        MPI_Recv(values, count, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(values);
}

/* finding changed_before_the_wait 2 buffer-changed ranks 0 check says the buffer of the send of 4 x MPI_INT at */
static void changed_before_the_wait(void)
{
    int values[4] = {1, 2, 3, 4};
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(values, 4, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* here: changed_before_the_wait */
        values[3]++;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        receive_ints(4, 1);
    }
}

/* finding large_buffer_changed_before_the_wait 2 buffer-changed ranks 0 check says changed before MPI_Wait at */
static void large_buffer_changed_before_the_wait(void)
{
    int *values = calloc(MANY, sizeof(int));
    MPI_Request request;
    if (rank == 0) {
        MPI_Issend(values, MANY, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* here: large_buffer_changed_before_the_wait */
        memset(values, 1, MANY / 2 * sizeof(int));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        receive_ints(MANY, 1);
    }
    free(values);
}

/* finding one_of_several_changed 2 buffer-changed ranks 0 check says changed before MPI_Waitall at */
static void one_of_several_changed(void)
{
    int values[3] = {1, 2, 3};
    MPI_Request requests[3];
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            MPI_Isend(&values[i], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[i]); /* here: one_of_several_changed */
        values[1] = 0;
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else {
        receive_ints(1, 3);
    }
}

/* finding persistent_buffer_changed 2 buffer-changed ranks 0 check says (2 times) */
static void persistent_buffer_changed(void)
{
    double values[100] = {0};
    MPI_Request request;
    if (rank == 0) {
        MPI_Ssend_init(values, 100, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 3; i++) {
            MPI_Start(&request); /* here: persistent_buffer_changed */
            /* The first time it gets the value it has. */
            values[99] = i;
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    } else {
        for (int i = 0; i < 3; i++)
            MPI_Recv(values, 100, MPI_DOUBLE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* finding changed_between_tests 2 buffer-changed ranks 0 check says the buffer of the send of 1000 x MPI_INT at */
static void changed_between_tests(void)
{
    static int values[1000];
    int done = 0;
    MPI_Request request;
    if (rank == 0) {
        MPI_Issend(values, 1000, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* here: changed_between_tests */
        while (!done) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            values[500] += !done;
            if (values[500] == 1)
                MPI_Send(NULL, 0, MPI_INT, 1, 4, MPI_COMM_WORLD);
        }
    } else {
        MPI_Recv(NULL, 0, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        receive_ints(1000, 1);
    }
}

/* finding released_before_the_wait 2 buffer-changed ranks 0 check says was released before MPI_Wait at */
static void released_before_the_wait(void)
{
    size_t size = sysconf(_SC_PAGESIZE);
    int *values = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Request request;
    if (rank == 0) {
        /* So short that every library copies it at once. */
        MPI_Isend(values, 100, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* here: released_before_the_wait */
        munmap(values, size);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        receive_ints(100, 1);
    }
}

/* finding changed_before_two_waits 2 buffer-changed ranks 0 check says the buffer of the send of 4 x MPI_INT at */
static void changed_before_two_waits(void)
{
    /* MPICH has the same handle for both, so which one is complete is known only after the last wait. */
    int values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    MPI_Request requests[2];
    if (rank == 0) {
        MPI_Isend(values, 4, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]); /* here: changed_before_two_waits */
        MPI_Isend(&values[4], 4, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[1]);
        values[2] = 0;
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    } else {
        receive_ints(4, 2);
    }
}

/* finding changed_before_the_test 2 buffer-changed ranks 0 check says the buffer of the send of 4 x MPI_INT at */
static void changed_before_the_test(void)
{
    int values[4] = {1, 2, 3, 4};
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(values, 4, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* here: changed_before_the_test */
        values[1] = 0;
        for (int done = 0; !done;)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    } else {
        receive_ints(4, 1);
    }
}

FINDINGS(MPI_Init, F(changed_before_the_wait), F(large_buffer_changed_before_the_wait), F(one_of_several_changed),
         F(persistent_buffer_changed), F(changed_between_tests), F(released_before_the_wait), F(changed_before_two_waits),
         F(changed_before_the_test))
