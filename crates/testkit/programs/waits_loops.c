/*
 * Wait states in polling loops, as in waits.c: the first rank is late by the seconds in
 * the first argument, and all others poll repeatedly, with every polling function.
 */
enum { PARTS = 6 };
#include "late_first.h"

int main(int argc, char **argv)
{
    late = argc > 1 ? atof(argv[1]) : 0.1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int value, found = 0, which;
    MPI_Message message;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];

    if (begin(0)) {
        MPI_Irecv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, requests);
        for (found = 0; !found;)
            MPI_Test(requests, &found, MPI_STATUS_IGNORE), lines[0] = __LINE__;
    }
    if (begin(1)) {
        MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, requests);
        for (found = 0; !found;)
            MPI_Testall(2, requests, &found, statuses), lines[1] = __LINE__;
    }
    if (begin(2)) {
        MPI_Irecv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, requests);
        for (found = 0; !found;)
            MPI_Testany(2, requests, &which, &found, MPI_STATUS_IGNORE), lines[2] = __LINE__;
    }
    if (begin(3)) {
        for (found = 0; !found;)
            MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE), lines[3] = __LINE__;
        MPI_Recv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (begin(4)) {
        for (found = 0; !found;)
            MPI_Improbe(0, 4, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE), lines[4] = __LINE__;
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
    /* For a collective that all have started. */
    MPI_Barrier(MPI_COMM_WORLD);
    pause_for(rank == 0 ? late : 0);
    entered[5] = now();
    MPI_Ibarrier(MPI_COMM_WORLD, requests);
    for (found = 0; !found;)
        MPI_Test(requests, &found, MPI_STATUS_IGNORE), lines[5] = __LINE__;

    const char *kinds[PARTS] = {[0 ... PARTS - 2] = "late-sender", "wait-at-barrier"};
    print_known(kinds);
    MPI_Finalize();
    return 0;
}
