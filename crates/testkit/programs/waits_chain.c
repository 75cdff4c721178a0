/*
 * Waits of four ranks whose origin is not the rank that was waited for,
 * and those of prefix reductions and of receives in the wrong order.
 *
 * In a pipeline the first rank is late, and the others pass the delay on; then the second rank is late for a prefix reduction;
 * then the last rank waits for a late message while another one has arrived. "Work" is sleep. The first rank prints what the
 * program knows, by the clock that all ranks of a host share. For the pipeline: `late-sender`, the line of the waiting ranks,
 * the rank at which the delay began, the seconds that all lost to it there, those of the ranks that waited for others, the line
 * after which it was late, and for how long ranks were not scheduled although they had slept long enough, which also happens
 * between a reading of the clock and the call. For the others: kind, line of the waiting ranks, the rank they wait for, seconds.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include "sleeps.h"

enum { RANKS = 4, ROUNDS = 12, LAST = RANKS - 1 };

/* By how much a sleep is too long even on an idle machine, in seconds. */
#define USUAL 0.0005

static double later(double a, double b)
{
    return a > b ? a - b : 0;
}

int main(int argc, char **argv)
{
    int rank, size, value = 0, sum = 0, lines[4] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    /* When a rank came to its call: in the pipeline, the prefix reduction, the first of two messages. */
    double at[ROUNDS][3], all[RANKS][ROUNDS][3], held = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Barrier(MPI_COMM_WORLD), lines[0] = __LINE__;
        held += later(work(rank == 0 ? 50000 : 10000), USUAL);
        at[i][0] = now();
        if (rank > 0)
            MPI_Recv(&value, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), lines[3] = __LINE__;
        if (rank > 0)
            held += later(work(10000), USUAL);
        if (rank < LAST)
            MPI_Send(&value, 1, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        held += later(work(rank == 1 ? 20000 : 1000), USUAL);
        at[i][1] = now();
        MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), lines[1] = __LINE__;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            held += later(work(20000), USUAL);
        at[i][2] = now();
        if (rank < 2)
            MPI_Send(&value, 1, MPI_INT, LAST, 2, MPI_COMM_WORLD);
        if (rank == LAST) {
            held += later(work(5000), USUAL);
            at[i][2] = now();
            MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), lines[2] = __LINE__;
            MPI_Recv(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Gather(at, 3 * ROUNDS, MPI_DOUBLE, all, 3 * ROUNDS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, lines, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &held, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double lost = 0, handed_on = 0, scan = 0, order = 0;
    for (int i = 0; rank == 0 && i < ROUNDS; i++) {
        for (int r = 1; r < RANKS; r++) {
            double part = later(all[0][i][0], all[r][i][0]);
            lost += part;
            handed_on += r > 1 ? part : 0;
        }
        for (int r = 2; r < RANKS; r++)
            scan += later(all[1][i][1], all[r][i][1]);
        order += later(all[0][i][2], all[LAST][i][2]);
    }
    if (rank == 0) {
        printf("late-sender %d %d %.6f %.6f %d %.6f\n", lines[3], 0, lost, handed_on, lines[0], held);
        printf("early-scan %d %d %.6f\n", lines[1], 1, scan);
        printf("late-sender-wrong-order %d %d %.6f\n", lines[2], 0, order);
    }
    MPI_Finalize();
    return 0;
}
