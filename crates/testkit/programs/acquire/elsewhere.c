/* elsewhere DIR HOST: a job that spawns two processes of itself on another host. All of
 * them wait until the test creates DIR/go.1; rank 0 of the children prints "at child 1". */
#include "steps.h"

int main(int argc, char **argv)
{
    MPI_Comm parent, children;
    MPI_Init(&argc, &argv);
    dir = argv[1];
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        step("child", 1);
        MPI_Comm_disconnect(&parent);
    } else {
        MPI_Info where;
        char *arguments[] = { argv[1], argv[2], NULL };
        MPI_Info_create(&where);
        MPI_Info_set(where, "host", argv[2]);
        MPI_Comm_spawn(argv[0], arguments, 2, where, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Info_free(&where);
        wait_for("go.1");
        MPI_Comm_disconnect(&children);
    }
    MPI_Finalize();
    return 0;
}
