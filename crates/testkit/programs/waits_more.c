/*
 * More known wait states, as in waits.c: neighborhood collectives, collectives that are only started, late tests
 * for completion, and locks of windows. In each part one rank is late by the seconds in the first argument.
 *
 * The first rank prints for each part: kind, line of the waiting ranks, the late rank,
 * and the total seconds from their calls until it came. In the last part no rank is late.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PARTS = 7, MOST = 64 };

static int rank, size;
static double late, entered[PARTS];
static int lines[PARTS];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void work(void)
{
    double until = now() + late;
    while (now() < until)
        ;
}

/* All ranks are here; the late one is late. */
static void begin(int part, int who)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == who)
        work();
    entered[part] = now();
}

int main(int argc, char **argv)
{
    late = argc > 1 ? atof(argv[1]) : 0.1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int value = 0, some[2 * MOST] = {0}, last = size - 1, periods = 0, *memory;
    MPI_Request request;
    MPI_Status status;
    MPI_Comm row;
    MPI_Win window;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periods, 0, &row);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);

    begin(0, 0);
    MPI_Neighbor_allgather(&value, 1, MPI_INT, some, 1, MPI_INT, row), lines[0] = __LINE__;
    begin(1, 1);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE), lines[1] = __LINE__;
    begin(2, last);
    MPI_Iallreduce(&value, some, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Waitall(1, &request, &status), lines[2] = __LINE__;
    begin(3, 1);
    MPI_Ibcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE), lines[3] = __LINE__;
    if (rank == 1)
        MPI_Irecv(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
    begin(4, 1);
    if (rank == 1)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (rank == 0) {
        /* Not before the other rank has left the barrier, in which it would process the message. */
        double until = now() + late / 3;
        while (now() < until)
            ;
        entered[4] = now();
        MPI_Ssend(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD), lines[4] = __LINE__;
    }
    /* The holder of the lock notifies the others; their locks are shared. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
        for (int who = 0; who < size; who++)
            if (who != 1)
                MPI_Send(&value, 1, MPI_INT, who, 5, MPI_COMM_WORLD);
        work();
        entered[5] = now();
        MPI_Win_unlock(0, window);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        entered[5] = now();
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window), lines[5] = __LINE__;
        MPI_Get(some, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    begin(6, -1);
    MPI_Iallreduce(&value, some, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Neighbor_alltoall(some, 1, MPI_INT, some + MOST, 1, MPI_INT, row);

    double all[MOST * PARTS];
    MPI_Gather(entered, PARTS, MPI_DOUBLE, all, PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, lines, PARTS, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    const char *kinds[] = {"wait-at-n-to-n", "wait-at-barrier", "wait-at-n-to-n", "late-root", "late-completion", "lock-contention"};
    const int culprits[] = {0, 1, last, 1, 1, 1};
    for (int part = 0; rank == 0 && part < 6; part++) {
        double seconds = 0;
        for (int who = 0; who < size; who++)
            if (part == 0 || part == 4 ? who == 1 - culprits[part] : who != culprits[part])
                seconds += all[culprits[part] * PARTS + part] - all[who * PARTS + part];
        printf("%s %d %d %.6f\n", kinds[part], lines[part], culprits[part], seconds);
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&row);
    MPI_Finalize();
    return 0;
}
