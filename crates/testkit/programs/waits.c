/*
 * Known wait states: in each part one rank is late by the seconds in the first argument, and the others wait for it.
 *
 * The first rank prints for each part, by the clock that all ranks of a host share (with a second argument, by the
 * time of day, which the hosts of a test share): kind, line of the waiting ranks, the late rank, and the total
 * seconds from their calls until its own. Nothing else is late; then follows a part in which no rank is late.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PARTS = 7, MOST = 64 };

static int rank, size;
static double late, entered[PARTS];
static clockid_t clock_id = CLOCK_MONOTONIC;
static int lines[PARTS];

static double now(void)
{
    struct timespec time;
    clock_gettime(clock_id, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* All ranks are here; the late one is late. */
static void begin(int part, int who)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double until = now() + (rank == who ? late : 0);
    while (now() < until)
        ;
    entered[part] = now();
}

int main(int argc, char **argv)
{
    late = argc > 1 ? atof(argv[1]) : 0.1;
    clock_id = argc > 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int value = 0, sum[MOST], last = size - 1;

    begin(0, last);
    MPI_Barrier(MPI_COMM_WORLD), lines[0] = __LINE__;
    begin(1, 1);
    MPI_Allreduce(&value, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), lines[1] = __LINE__;
    begin(2, 1);
    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD), lines[2] = __LINE__;
    begin(3, last);
    MPI_Reduce(&value, sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), lines[3] = __LINE__;
    begin(4, 0);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    else if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    lines[4] = __LINE__ - 1;
    begin(5, 1);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (rank == 0)
        MPI_Ssend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    lines[5] = __LINE__ - 1;
    begin(6, -1);
    MPI_Allgather(&value, 1, MPI_INT, sum, 1, MPI_INT, MPI_COMM_WORLD);

    double all[MOST * PARTS];
    MPI_Gather(entered, PARTS, MPI_DOUBLE, all, PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const char *kinds[] = {"wait-at-barrier", "wait-at-n-to-n", "late-root", "early-root", "late-sender", "late-receiver"};
    const int culprits[] = {last, 1, 1, last, 0, 1};
    for (int part = 0; rank == 0 && part < 6; part++) {
        double seconds = 0;
        for (int who = 0; who < size; who++) {
            int waits = part == 3 || part == 5 ? who == 0 : part == 4 ? who == 1 : who != culprits[part];
            if (waits)
                seconds += all[culprits[part] * PARTS + part] - all[who * PARTS + part];
        }
        printf("%s %d %d %.6f\n", kinds[part], lines[part], culprits[part], seconds);
    }
    MPI_Finalize();
    return 0;
}
