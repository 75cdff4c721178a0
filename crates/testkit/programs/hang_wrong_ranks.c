/* Programs that work for some rounds and then name a wrong rank once. The comments have the format of hang.c. */
#include "hang.h"

enum { ROUNDS = 6, WRONG = 3 };

static int value;

static void send(int to, int tag)
{
    MPI_Ssend(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static void receive(int from, int tag)
{
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* scenario parent_instead_of_child 4 message-never-sent culprit 2 says rank 0 has sent it none there, and is in MPI_Recv */
static void parent_instead_of_child(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int step = 1; step < size; step *= 2) {
            if (rank & step) {
                send(rank - step, step);
                break;
            }
            receive(round == WRONG && rank == 2 ? 0 : rank + step, step);
        }
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* scenario itself_instead_of_neighbour 4 message-never-sent culprit 2 says it has sent itself none there; rank 1 sent */
static void itself_instead_of_neighbour(void)
{
    int result;
    for (int round = 0; round < ROUNDS; round++) {
        int from = round == WRONG && rank == 2 ? rank : (rank + size - 1) % size;
        MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 5, &result, 1, MPI_INT, from, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario first_instead_of_next_stage 4 message-never-sent culprit 2 says hence 0 -> 1 -> 2 -> 0 */
static void first_instead_of_next_stage(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (rank > 0)
            receive(rank - 1, round);
        if (rank < size - 1)
            send(round == WRONG && rank == 2 ? 0 : rank + 1, round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario request_to_another_server 4 message-never-sent culprit 2 says rank 2 sent a message with tag 3 to rank 0 */
static void request_to_another_server(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status status;
        if (rank % 2 == 0) {
            MPI_Send(&value, 1, MPI_INT, round == WRONG && rank == 2 ? 0 : rank + 1, round, MPI_COMM_WORLD);
            receive(rank + 1, 99);
        } else {
            MPI_Probe(rank - 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            receive(rank - 1, status.MPI_TAG);
            send(rank - 1, 99);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Libraries of the MPICH family return an error. */
/* scenario lock_asked_for_twice 3 rma culprit 0 without mpich-4.0,mpich-5.0,mpich-5.0-abi,intel,intel-abi says waits for itself to release */
static void lock_asked_for_twice(void)
{
    MPI_Win window;
    MPI_Win_create(&value, sizeof value, sizeof value, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    for (int i = 0; rank == 0 && i < 2; i++)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&window);
}

SCENARIOS(S(parent_instead_of_child), S(itself_instead_of_neighbour), S(first_instead_of_next_stage),
          S(request_to_another_server), S(lock_asked_for_twice))
