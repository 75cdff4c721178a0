// Two ranks that leave the world while a session is open, and then wait for each other in it: `left_world DIR`. Each
// creates DIR/left.RANK before it waits.
#include <mpi.h>
#include "stand.h"

int main(int argc, char **argv) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm open, solver;
    int rank, room;
    const char *dir = argc > 1 ? argv[1] : ".";
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "mpiscope.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &open);
    MPI_Comm_set_name(open, "open");
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &solver);
    MPI_Comm_set_name(solver, "solver");
    MPI_Comm_rank(open, &rank);
    MPI_Finalize();
    say(dir, "left", rank);
    MPI_Recv(&room, 1, MPI_INT, 1 - rank, 3, open, MPI_STATUS_IGNORE);
    return 0;
}
