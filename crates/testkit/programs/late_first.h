/*
 * Common code of the programs in which the first rank is late and all others wait
 * for it: each program has PARTS parts, defined before it includes this file.
 *
 * The first rank prints for each part: kind, line of the waiting ranks,
 * the late rank, and the total seconds from their calls until it came.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 64 };

static int rank, size, lines[PARTS];
static double late, entered[PARTS];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void pause_for(double seconds)
{
    double until = now() + seconds;
    while (now() < until)
        ;
}

/* Returns whether this rank is to receive. */
static inline int begin(int part)
{
    MPI_Barrier(MPI_COMM_WORLD);
    pause_for(rank == 0 ? late : 0);
    entered[part] = now();
    for (int who = 1; rank == 0 && who < size; who++)
        MPI_Send(&part, 1, MPI_INT, who, part, MPI_COMM_WORLD);
    return rank != 0;
}

/* At the end of the program; `kinds` has the kind of each part. */
static inline void print_known(const char *const *kinds)
{
    double times[MOST * PARTS];
    MPI_Gather(entered, PARTS, MPI_DOUBLE, times, PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, lines, PARTS, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int part = 0; rank == 0 && part < PARTS; part++) {
        double seconds = 0;
        for (int who = 1; who < size; who++)
            seconds += times[part] - times[who * PARTS + part];
        printf("%s %d 0 %.6f\n", kinds[part], lines[part], seconds);
    }
}
