// A process that forks and then leaves MPI: `left DIR`. Its child creates DIR/child.PID. The process creates DIR/held.RANK,
// calls MPI_Finalize at DIR/go without freeing its objects, creates DIR/left.RANK, and ends at DIR/end.
#include <mpi.h>
#include "stand.h"

int main(int argc, char **argv) {
    MPI_Comm solver;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    const char *dir = argc > 1 ? argv[1] : ".";
    MPI_Comm_dup(MPI_COMM_SELF, &solver);
    MPI_Comm_set_name(solver, "solver");
    MPI_Info_create(&info);
    if (fork() == 0) {
        say(dir, "child", (int)getpid());
        wait_for(dir, "end");
        _exit(0);
    }
    say(dir, "held", 0);
    wait_for(dir, "go");
    MPI_Finalize();
    say(dir, "left", 0);
    wait_for(dir, "end");
    return 0;
}
