/* Starts two more processes of itself. The children form a separate world and print nothing. */
#include "expect.h"

int main(int argc, char **argv)
{
    MPI_Comm parent, children, all;
    int total = 0, one = 1;
    expect_init(&argc, &argv);
    CALL(MPI_Comm_get_parent, &parent);
    if (parent != MPI_COMM_NULL) {
        CALL(MPI_Intercomm_merge, parent, 1, &all);
        CALL(MPI_Allreduce, &one, &total, 1, MPI_INT, MPI_SUM, all);
        CALL(MPI_Comm_free, &all);
        CALL(MPI_Comm_disconnect, &parent);
        CALL(MPI_Finalize);
        return 0;
    }
    int codes[2];
    CALL(MPI_Comm_spawn, argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
    CALL(MPI_Intercomm_merge, children, 0, &all);
    CALL(MPI_Allreduce, &one, &total, 1, MPI_INT, MPI_SUM, all);
    CALL(MPI_Comm_free, &all);
    CALL(MPI_Comm_disconnect, &children);
    expect_summary("spawn", total);
    expect_finish();
    return 0;
}
