// A rank that takes its time before it calls MPI: `late_start DIR`. Rank 1 says so in DIR and waits for DIR/go.
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

int main(int argc, char **argv) {
    if (launched_as() == 1) {
        say(argv[argc - 1], "ready", 1);
        wait_for(argv[argc - 1], "go");
    } else {
        say(argv[argc - 1], "ready", 0);
    }
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
