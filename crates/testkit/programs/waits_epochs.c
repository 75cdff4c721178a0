/*
 * Known wait states without a record, as in waits.c: the first rank is late by the seconds in the first
 * argument, for a probe, a fence, both ends of an epoch, and a collective of an intercommunicator.
 */
enum { PARTS = 5 };
#include "late_first.h"

static void work(int part)
{
    pause_for(rank == 0 ? late : 0);
    entered[part] = now();
}

int main(int argc, char **argv)
{
    late = argc > 1 ? atof(argv[1]) : 0.1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int value = 0, memory[MOST] = {0}, other = 1 - rank;
    MPI_Status status;
    MPI_Win window;
    MPI_Group all, partner;
    MPI_Comm half, between;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 7, &between);

    MPI_Barrier(MPI_COMM_WORLD);
    work(0);
    if (rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else if (rank == 1) {
        MPI_Probe(0, 0, MPI_COMM_WORLD, &status), lines[0] = __LINE__;
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    work(1);
    MPI_Win_fence(0, window), lines[1] = __LINE__;
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2) {
        MPI_Group_incl(all, 1, &other, &partner);
        /* The second rank writes to the first one, which exposes its memory late. A library may wait in either call. */
        work(2);
        if (rank == 0) {
            MPI_Win_post(partner, 0, window);
            MPI_Win_wait(window);
        } else {
            MPI_Win_start(partner, 0, window), MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window), MPI_Win_complete(window), lines[2] = __LINE__;
        }
        /* The reverse: the first rank ends its access late. */
        if (rank == 0) {
            MPI_Win_start(partner, 0, window);
            MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
            work(3);
            MPI_Win_complete(window);
        } else {
            MPI_Win_post(partner, 0, window);
            work(3);
            MPI_Win_wait(window), lines[3] = __LINE__;
        }
        MPI_Group_free(&partner);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    work(4);
    MPI_Barrier(between), lines[4] = __LINE__;

    double times[MOST * PARTS];
    MPI_Gather(entered, PARTS, MPI_DOUBLE, times, PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, lines, PARTS, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    const char *kinds[] = {"late-sender", "wait-at-fence", "late-post", "early-wait", "wait-at-barrier"};
    for (int part = 0; rank == 0 && part < PARTS; part++) {
        double seconds = 0;
        for (int who = 1; who < size; who++)
            if (part == 1 || part == 4 || who == 1)
                seconds += times[part] - times[who * PARTS + part];
        printf("%s %d 0 %.6f\n", kinds[part], lines[part], seconds);
    }
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
