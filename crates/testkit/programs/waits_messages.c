/*
 * Messages of three ranks with known waits: more than a process remembers, so that they can only be observed while it runs.
 *
 * In turn: a sender is late, a receiver is late, one of two senders that a call waits for together is late.
 * "Work" is sleep, so that its duration does not depend on the load of the machine. The first rank prints the
 * messages, and then for each kind of wait, by the clock that all ranks of a host share: kind, line of the
 * waiting ranks, the rank they wait for, seconds. `waits_messages ROUNDS TIMES` computes that many times as long.
 */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include "sleeps.h"

enum { RANKS = 3, FIRST = 0, RECEIVER = 1, SECOND = 2 };

static double later(double a, double b)
{
    return a > b ? a - b : 0;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100, times = argc > 2 ? atoi(argv[2]) : 1, rank, size, value = 0, values[2], lines[5] = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    /* When a rank came to its three calls of a round. */
    double(*at)[3] = calloc(rounds, sizeof *at), (*all)[3] = calloc(RANKS * rounds, sizeof *all);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) {
        if (rank == RECEIVER) {
            at[i][0] = now();
            MPI_Recv(&value, 1, MPI_INT, FIRST, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), lines[0] = __LINE__;
            work(700 * times);
            at[i][1] = now();
            MPI_Recv(&value, 1, MPI_INT, FIRST, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Request both[2];
            at[i][2] = now();
            MPI_Irecv(&values[0], 1, MPI_INT, FIRST, 3, MPI_COMM_WORLD, &both[0]);
            MPI_Irecv(&values[1], 1, MPI_INT, SECOND, 3, MPI_COMM_WORLD, &both[1]);
            MPI_Waitall(2, both, MPI_STATUSES_IGNORE), lines[2] = __LINE__;
        } else if (rank == FIRST) {
            work(1000 * times);
            at[i][0] = now();
            MPI_Send(&value, 1, MPI_INT, RECEIVER, 1, MPI_COMM_WORLD);
            at[i][1] = now();
            MPI_Ssend(&value, 1, MPI_INT, RECEIVER, 2, MPI_COMM_WORLD), lines[1] = __LINE__;
            at[i][2] = now();
            MPI_Send(&value, 1, MPI_INT, RECEIVER, 3, MPI_COMM_WORLD);
        } else {
            work(3000 * times);
            at[i][2] = now();
            MPI_Ssend(&value, 1, MPI_INT, RECEIVER, 3, MPI_COMM_WORLD), lines[3] = __LINE__;
        }
    }
    MPI_Gather(at, 3 * rounds, MPI_DOUBLE, all, 3 * rounds, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, lines, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    double(*of)[3] = all, sender = 0, receiver = 0, waitall[2] = {0, 0}, second = 0;
    for (int i = 0; rank == 0 && i < rounds; i++) {
        double *from = of[i], *to = of[rounds + i], *other = of[2 * rounds + i];
        sender += later(from[0], to[0]);
        receiver += later(to[1], from[1]);
        waitall[other[2] > from[2]] += later(other[2] > from[2] ? other[2] : from[2], to[2]);
        second += later(to[2], other[2]);
    }
    if (rank == 0) {
        printf("messages %d\n", 4 * rounds);
        printf("late-sender %d %d %.6f\n", lines[0], FIRST, sender);
        printf("late-receiver %d %d %.6f\n", lines[1], RECEIVER, receiver);
        printf("late-sender %d %d %.6f\n", lines[2], FIRST, waitall[0]);
        printf("late-sender %d %d %.6f\n", lines[2], SECOND, waitall[1]);
        printf("late-receiver %d %d %.6f\n", lines[3], RECEIVER, second);
    }
    free(at), free(all);
    MPI_Finalize();
    return 0;
}
