/*
 * Wait states in probes, as in waits.c: the first rank sends late by the seconds in the first
 * argument, and all others have probed for its message, which they receive in every possible way.
 */
enum { PARTS = 6 };
#include "late_first.h"

int main(int argc, char **argv)
{
    late = argc > 1 ? atof(argv[1]) : 0.1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int value, many = size - 1;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;

    if (begin(0)) {
        MPI_Probe(0, 0, MPI_COMM_WORLD, &status), lines[0] = __LINE__;
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
    }
    /* The message is probed once more, without other calls about it in between; it is received after some work. */
    if (begin(1)) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE), lines[1] = __LINE__;
        MPI_Probe(0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pause_for(late / 2);
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (begin(2)) {
        MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), lines[2] = __LINE__;
        MPI_Irecv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (begin(3)) {
        MPI_Mprobe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &message, &status), lines[3] = __LINE__;
        MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    }
    if (begin(4)) {
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), lines[4] = __LINE__;
        MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
        pause_for(late / 2);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    /* Many are found before one is received. */
    MPI_Message all[MOST];
    MPI_Barrier(MPI_COMM_WORLD);
    pause_for(rank == 0 ? late : 0);
    entered[5] = now();
    if (rank == 0) {
        for (int who = 1; who < size; who++)
            for (int tag = 0; tag < many; tag++)
                MPI_Send(&tag, 1, MPI_INT, who, tag, MPI_COMM_WORLD);
    } else {
        for (int tag = 0; tag < many; tag++)
            MPI_Mprobe(0, tag, MPI_COMM_WORLD, &all[tag], &status), lines[5] = __LINE__;
        for (int tag = many; tag-- > 0;)
            MPI_Mrecv(&value, 1, MPI_INT, &all[tag], &status);
    }

    const char *kinds[PARTS] = {[0 ... PARTS - 1] = "late-sender"};
    print_known(kinds);
    MPI_Finalize();
    return 0;
}
