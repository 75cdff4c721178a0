/* starts ROUNDS: two ranks that start many short messages in turn, each from one place; rank 0 prints its own starts,
 * with the code between them: `isends CALLS SECONDS` and `irecvs CALLS SECONDS`. Then a few starts from another place. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { EACH = 16, FEW = 5 };

static double in[EACH], out[EACH];
static MPI_Request receives[EACH], sends[EACH];

int main(int argc, char **argv)
{
    int rank, other, rounds = argc > 1 ? atoi(argv[1]) : 1;
    double sending = 0, receiving = 0, begun;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    for (int round = 0; round < rounds; round++) {
        begun = MPI_Wtime();
        for (int i = 0; i < EACH; i++)
            MPI_Irecv(&in[i], 1, MPI_DOUBLE, other, i, MPI_COMM_WORLD, &receives[i]);
        receiving += MPI_Wtime() - begun;
        MPI_Barrier(MPI_COMM_WORLD);
        begun = MPI_Wtime();
        for (int i = 0; i < EACH; i++)
            MPI_Isend(&out[i], 1, MPI_DOUBLE, other, i, MPI_COMM_WORLD, &sends[i]);
        sending += MPI_Wtime() - begun;
        MPI_Waitall(EACH, sends, MPI_STATUSES_IGNORE);
        MPI_Waitall(EACH, receives, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < FEW; i++) {
        MPI_Issend(&out[i], 1, MPI_DOUBLE, other, i, MPI_COMM_WORLD, &sends[i]);
        MPI_Recv(&in[i], 1, MPI_DOUBLE, other, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(FEW, sends, MPI_STATUSES_IGNORE);
    if (rank == 0)
        printf("isends %d %.9f\nirecvs %d %.9f\n", rounds * EACH, sending, rounds * EACH, receiving);
    MPI_Finalize();
    return 0;
}
