/* Data that is received into datatypes that look as if their elements overlapped.
 *
 * Every second rank receives from its neighbor. Nothing may be found, with and without `--check`.
 */
#include <mpi.h>

#define N 8
#define TAG 3

static int rank, peer;
static int values[N * N], results[N * N];

static MPI_Datatype committed(MPI_Datatype type)
{
    MPI_Type_commit(&type);
    return type;
}

/* A column whose extent is one element, so that several of them interleave. */
static MPI_Datatype column(void)
{
    MPI_Datatype plain, resized;
    MPI_Type_vector(N, 1, N, MPI_INT, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(int), &resized);
    MPI_Type_free(&plain);
    return committed(resized);
}

static void exchange(const void *sent, int count, MPI_Datatype as, int room, MPI_Datatype into)
{
    MPI_Request request;
    if (rank % 2) {
        MPI_Send(sent, count, as, peer, TAG, MPI_COMM_WORLD);
        MPI_Send(sent, count, as, peer, TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(results, room, into, peer, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(results, room, into, peer, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* The transposition of a matrix, and a message shorter than its receive. */
static void columns(void)
{
    MPI_Datatype one = column();
    exchange(values, N * N, MPI_INT, N, one);
    exchange(values, 3, MPI_INT, N, one);
    MPI_Gather(values, N, MPI_INT, results, 1, one, 0, MPI_COMM_WORLD);
    MPI_Type_free(&one);
}

/* The last element comes first in memory. */
static void backwards(void)
{
    MPI_Datatype plain, type;
    MPI_Type_create_hvector(N, 1, -(MPI_Aint)sizeof(int), MPI_INT, &plain);
    MPI_Type_create_hindexed_block(1, 1, &(MPI_Aint){(N - 1) * (MPI_Aint)sizeof(int)}, plain, &type);
    type = committed(type);
    exchange(values, N, MPI_INT, 1, type);
    MPI_Type_free(&type);
    MPI_Type_free(&plain);
}

/* Only the sender reads elements twice. */
static void sent_twice(void)
{
    MPI_Datatype same;
    MPI_Type_vector(N, 1, 0, MPI_INT, &same);
    same = committed(same);
    exchange(values, 1, same, N, MPI_INT);
    MPI_Type_free(&same);
}

/* One element that is longer than its extent. */
static void longer_than_its_extent(void)
{
    MPI_Datatype four, type;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_create_resized(four, 0, sizeof(int), &type);
    type = committed(type);
    exchange(values, 4, MPI_INT, 1, type);
    exchange(values, 4, MPI_INT, 5, type);
    MPI_Type_free(&type);
    MPI_Type_free(&four);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = rank ^ 1;
    columns();
    backwards();
    sent_twice();
    longer_than_its_extent();
    MPI_Finalize();
    return 0;
}
