/* Variables are bound to objects of a session, in a program that never calls MPI_Init: there is no MPI_COMM_WORLD then, and handles on it
 * are rejected (although Intel MPI reports that it is initialized). The number of waiting messages is known as in any other program.
 * Prints FAIL and ends with 1 if that does not hold. */
#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <stdio.h>

/* Open MPI 5 reports MPI 3.1 but has sessions. */
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

static int failed;

static void check(int holds, const char *what)
{
    if (!holds) {
        printf("FAIL %s\n", what);
        failed = 1;
    }
}

static int opens(MPI_T_pvar_session in, MPI_Comm comm, MPI_T_pvar_handle *handle)
{
    int index, count;
    return MPI_T_pvar_get_index("mpiscope_messages_sent", MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS
        && MPI_T_pvar_handle_alloc(in, index, &comm, handle, &count) == MPI_SUCCESS;
}

static long long sent(MPI_T_pvar_session in, MPI_Comm comm, int to)
{
    MPI_T_pvar_handle handle;
    unsigned long long by_peer[2] = {0, 0};
    int data = 0;
    if (!opens(in, comm, &handle))
        return -1;
    MPI_T_pvar_start(in, handle);
    for (int i = 0; i < 2 && to == 1; i++)
        MPI_Send(&data, 1, MPI_INT, to, 5, comm);
    for (int i = 0; i < 2 && to == 0; i++)
        MPI_Recv(&data, 1, MPI_INT, to, 5, comm, MPI_STATUS_IGNORE);
    MPI_T_pvar_read(in, handle, by_peer);
    MPI_T_pvar_handle_free(in, &handle);
    return (long long) by_peer[to];
}

/* The number of messages from rank 0 in the queue of rank 1, before and after two of them are received. */
static int waiting(MPI_T_pvar_session in, MPI_Comm comm, int rank)
{
    MPI_T_pvar_handle handle;
    int index, count, data = 0;
    unsigned long long before = 99, after = 99;
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Send(&data, 1, MPI_INT, 1, 7, comm);
        MPI_Barrier(comm);
        MPI_Barrier(comm);
        return 1;
    }
    MPI_Barrier(comm);
    if (MPI_T_pvar_get_index("MPI_T_UMQ_LENGTH", MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS
        || MPI_T_pvar_handle_alloc(in, index, &comm, &handle, &count) != MPI_SUCCESS || count != 1)
        return 0;
    MPI_T_pvar_read(in, handle, &before);
    for (int i = 0; i < 2; i++)
        MPI_Recv(&data, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE);
    MPI_T_pvar_start(in, handle);
    MPI_T_pvar_read(in, handle, &after);
    MPI_T_pvar_handle_free(in, &handle);
    /* The traffic of another rank on a communicator that it has freed is no longer counted. */
    MPI_Barrier(comm);
    return before == 2 && after == 0;
}

int main(void)
{
    int provided, world = 0, rank;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, freed;
    MPI_T_pvar_session in;
    MPI_T_pvar_handle handle;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&in);
    check(!opens(in, MPI_COMM_WORLD, &handle), "there is no communicator before there is a session");
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "mpiscope.objects", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_rank(comm, &rank);

    MPI_Initialized(&world);
    check(world || !opens(in, MPI_COMM_WORLD, &handle), "a session has no MPI_COMM_WORLD");
    check(sent(in, comm, 1 - rank) == (rank == 0 ? 2 : 0), "a variable is bound to a communicator of a session, and has its value");

    check(waiting(in, comm, rank), "the number of messages waiting for a rank of a session is known");

    MPI_Group_free(&group);
    freed = comm;
    MPI_Comm_free(&comm);
    check(!opens(in, freed, &handle), "a freed communicator is rejected");
    MPI_Session_finalize(&session);
    MPI_T_pvar_session_free(&in);
    MPI_T_finalize();
    if (!failed)
        printf("ok %d\n", rank);
    return failed;
}

#else

int main(void)
{
    printf("FAIL this library has no sessions\n");
    return 1;
}

#endif
