/* grow DIR: a job that spawns itself, then itself together with another executable (PROGRAM.other), from another root.
 * It creates further communicators with these children, then disconnects from the first ones. Children stay until the end. */
#include "steps.h"

/* Communicators of parents and children: one of all, of the even and of the odd ones, and two intercommunicators. */
static MPI_Comm made[3];

static void make(MPI_Comm inter, int high)
{
    int rank;
    MPI_Intercomm_merge(inter, high, &made[0]);
    MPI_Comm_rank(made[0], &rank);
    MPI_Comm_split(made[0], rank % 2, rank, &made[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(inter, rank != 0, rank, &made[2]);
    MPI_Barrier(made[0]);
}

static void part(MPI_Comm *inter)
{
    for (int i = 2; i >= 0; i--)
        MPI_Comm_free(&made[i]);
    MPI_Comm_disconnect(inter);
}

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
        if (number == 1) {
            wait_for("go.3");
            MPI_Comm_disconnect(&parent);
        } else {
            make(parent, 1);
            wait_for("go.4");
            part(&parent);
        }
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
    make(two, 0);
    step("grow", 3);
    MPI_Comm_disconnect(&one);
    step("grow", 4);
    part(&two);
    MPI_Finalize();
    return 0;
}
