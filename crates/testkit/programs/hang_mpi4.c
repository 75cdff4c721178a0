/* Programs that hang in what came with MPI 4: see hang.c, whose comments have the same form. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static int values[64];

/* scenario partition_never_ready 2 partition-not-ready */
static void partition_never_ready(void)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Psend_init(values, 2, 8, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(values, 2, 8, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0) {
        MPI_Pready(0, request);
        MPI_Recv(values, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: partition_never_ready */
}

/* scenario persistent_barrier_missing 3 collective-not-entered culprit 1 */
static void persistent_barrier_missing(void)
{
    MPI_Request request;
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    if (rank != 1) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: persistent_barrier_missing */
    }
    MPI_Barrier(MPI_COMM_SELF);
}

/* scenario session_receives 2 deadlock says 0 -> 1 -> 0 */
static void session_receives(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "hang", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Recv(values, 1, MPI_INT, 1 - rank, 3, comm, MPI_STATUS_IGNORE); /* here: session_receives */
}

/* scenario both_halves_of_isendrecv 2 message-never-sent says tag */
static void both_halves_of_isendrecv(void)
{
    MPI_Request request;
    MPI_Isendrecv(values, 1, MPI_INT, 1 - rank, 3, values + 1, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: both_halves_of_isendrecv */
}

int main(int argc, char **argv)
{
    alarm(60);
    const char *name = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(name, "partition_never_ready"))
        partition_never_ready();
    if (!strcmp(name, "persistent_barrier_missing"))
        persistent_barrier_missing();
    if (!strcmp(name, "session_receives"))
        session_receives();
    if (!strcmp(name, "both_halves_of_isendrecv"))
        both_halves_of_isendrecv();
    MPI_Finalize();
    return 0;
}
