/* Messages that wait for their receiver, and a receiver that waits for messages.
 *
 *     latecomer EARLY LATE MILLISECONDS
 *
 * Rank 1 sends EARLY messages before rank 0 receives any of them, and LATE
 * more, each MILLISECONDS after rank 0 has posted the receive. Two ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, early = argc > 1 ? atoi(argv[1]) : 5, late = argc > 2 ? atoi(argv[2]) : 3;
    int pause = (argc > 3 ? atoi(argv[3]) : 40) * 1000, number = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < early && rank == 1; i++)
        MPI_Send(&i, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < early && rank == 0; i++)
        MPI_Recv(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < late; i++) {
        if (rank == 0)
            MPI_Irecv(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            usleep((useconds_t) pause);
            MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
