// A rank that delays its first MPI call: `late_start [RANK…] DIR`.
// Rank 1, or the ranks named, signal this in DIR and wait for DIR/go.
#include <mpi.h>
#include <stdlib.h>
#include "stand.h"

static int launched_as(void) {
    const char *names[] = {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    for (int i = 0; i < 3; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return 0;
}

static int is_late(int rank, int argc, char **argv) {
    for (int i = 1; i < argc - 1; i++)
        if (atoi(argv[i]) == rank)
            return 1;
    return argc == 2 && rank == 1;
}

int main(int argc, char **argv) {
    int rank = launched_as();
    say(argv[argc - 1], "ready", rank);
    if (is_late(rank, argc, argv))
        wait_for(argv[argc - 1], "go");
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
