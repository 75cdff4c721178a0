/* Ways to end that are not the usual one; which, the first argument says. The counts are written before the end. */
#include "expect.h"
#include <signal.h>

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
    int last = expect_rank == expect_size - 1;
    if (!strcmp(how, "no-finalize")) {
        expect_write();
        exit(code);
    }
    if (!strcmp(how, "kill-one")) {
        expect_write();
        if (last)
            raise(SIGKILL);
        pause();
    }
    if (!strcmp(how, "abort-one")) {
        if (last) {
            expect_write();
            MPI_Abort(MPI_COMM_WORLD, code);
        }
        expect_write();
        pause();
    }
    expect_summary("ending", 1);
    expect_finish();
    return code;
}
