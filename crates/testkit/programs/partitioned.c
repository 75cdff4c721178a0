/* Partitioned point-to-point communication (MPI 4.0). */
#include "expect.h"

#if !HAVE_MPI_4_PARTS
#error "no partitioned communication"
#endif

enum { PARTS = 4, EACH = 8 };

int main(int argc, char **argv)
{
    static double out[PARTS * EACH], in[PARTS * EACH];
    MPI_Request send, receive;
    long sum = 0;
    int flag = 0;
    expect_init(&argc, &argv);
    int peer = expect_rank ^ 1;
    CALL(MPI_Psend_init, out, PARTS, EACH, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    CALL(MPI_Precv_init, in, PARTS, EACH, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PARTS * EACH; i++)
            out[i] = i + round;
        CALL(MPI_Start, &receive);
        CALL(MPI_Start, &send);
        CALL(MPI_Pready, 0, send);
        CALL(MPI_Pready_range, 1, 2, send);
        int last[1] = {3};
        CALL(MPI_Pready_list, 1, last, send);
        do
            CALL(MPI_Parrived, receive, 0, &flag);
        while (!flag);
        CALL(MPI_Wait, &send, MPI_STATUS_IGNORE);
        CALL(MPI_Wait, &receive, MPI_STATUS_IGNORE);
        sum += (long) in[PARTS * EACH - 1];
    }
    CALL(MPI_Request_free, &send);
    CALL(MPI_Request_free, &receive);
    expect_summary("partitioned", sum);
    expect_finish();
    return 0;
}
