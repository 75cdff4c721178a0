/* grow DIR: a job that spawns itself, then itself together with another executable (PROGRAM.other), from another root;
 * then parts from the first children. Children stay until the end. */
#include "steps.h"

int main(int argc, char **argv)
{
    MPI_Comm parent, one, two;
    char *arguments[] = { argv[1], NULL };
    char other[4096];
    MPI_Init(&argc, &argv);
    dir = argv[1];
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        int number;
        arrive("child");
        MPI_Bcast(&number, 1, MPI_INT, 0, parent);
        wait_for(number == 1 ? "go.3" : "go.4");
        MPI_Comm_disconnect(&parent);
        wait_for("go.4");
        MPI_Finalize();
        return 0;
    }
    int first = 1, second = 2, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    arrive("parent");
    step("grow", 1);
    MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &one, MPI_ERRCODES_IGNORE);
    MPI_Bcast(&first, 1, MPI_INT, rank ? MPI_PROC_NULL : MPI_ROOT, one);
    step("grow", 2);
    snprintf(other, sizeof other, "%s.other", argv[0]);
    char *commands[] = { argv[0], other };
    char **lists[] = { arguments, arguments };
    int counts[] = { 1, 2 };
    MPI_Info infos[] = { MPI_INFO_NULL, MPI_INFO_NULL };
    MPI_Comm_spawn_multiple(2, commands, lists, counts, infos, 1, MPI_COMM_WORLD, &two, MPI_ERRCODES_IGNORE);
    MPI_Bcast(&second, 1, MPI_INT, rank ? MPI_PROC_NULL : MPI_ROOT, two);
    step("grow", 3);
    MPI_Comm_disconnect(&one);
    step("grow", 4);
    MPI_Comm_disconnect(&two);
    MPI_Finalize();
    return 0;
}
