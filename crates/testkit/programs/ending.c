/* Unusual ways to end, selected by the first argument. The counts are written before the end. */
#include "expect.h"
#include <signal.h>

/* Returns when every rank has arrived, so that all counts are written before a launcher
 * ends the other ranks. It uses files: no further MPI call is made. */
static void all_ready(void)
{
    const char *dir = getenv("MPISCOPE_EXPECT_DIR");
    char path[4096];
    if (!dir)
        return;
    snprintf(path, sizeof path, "%s/%d.ready", dir, expect_rank);
    fclose(fopen(path, "w"));
    for (int rank = 0, patience = 3000; rank < expect_size && patience; patience--) {
        snprintf(path, sizeof path, "%s/%d.ready", dir, rank);
        if (access(path, F_OK) == 0)
            rank++;
        else
            usleep(10000);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int code = argc > 2 ? atoi(argv[2]) : 0;
    if (!strcmp(how, "crash-before-init"))
        raise(SIGSEGV);
    if (!strcmp(how, "exit-before-init") || !strcmp(how, "never-mpi")) {
        printf("%s\n", how);
        return code;
    }
    expect_init(&argc, &argv);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    if (strcmp(how, "status")) {
        expect_write();
        all_ready();
    }
    int last = expect_rank == expect_size - 1;
    if (!strcmp(how, "no-finalize"))
        exit(code);
    if (!strcmp(how, "kill-one")) {
        if (last)
            raise(SIGKILL);
        pause();
    }
    if (!strcmp(how, "abort-one")) {
        if (last)
            MPI_Abort(MPI_COMM_WORLD, code);
        pause();
    }
    expect_summary("ending", 1);
    expect_finish();
    all_ready();
    return code;
}
