/* Calls that fail return their error to the program and are still counted. */
#include "expect.h"

int main(int argc, char **argv)
{
    int value = 1;
    long sum = 0;
    expect_init(&argc, &argv);
    CALL(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 3; i++) {
        sum += CALL_CODE(MPI_Send, &value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
        sum += CALL_CODE(MPI_Send, &value, 1, MPI_INT, expect_size + 3, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
    }
    CALL(MPI_Comm_set_errhandler, MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    expect_summary("errors_return", sum);
    expect_finish();
    return 0;
}
