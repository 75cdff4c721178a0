/* The sessions model (MPI 4.0): no MPI_Init, and two sessions one after the other. */
#include "expect.h"

#if !HAVE_MPI_4_PARTS
#error "no sessions"
#endif

static long run(int round)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    int sets = 0, sum = 0;
    CALL(MPI_Session_init, MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    CALL(MPI_Session_get_num_psets, session, MPI_INFO_NULL, &sets);
    CALL(MPI_Session_get_info, session, &info);
    CALL(MPI_Info_free, &info);
    CALL(MPI_Group_from_session_pset, session, "mpi://WORLD", &group);
    CALL(MPI_Comm_create_from_group, group, "mpiscope.test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    CALL(MPI_Group_free, &group);
    CALL(MPI_Comm_rank, comm, &expect_rank);
    CALL(MPI_Comm_size, comm, &expect_size);
    int mine = expect_rank + round + (sets > 1);
    CALL(MPI_Allreduce, &mine, &sum, 1, MPI_INT, MPI_SUM, comm);
    CALL(MPI_Barrier, comm);
    CALL(MPI_Comm_free, &comm);
    CALL(MPI_Session_finalize, &session);
    return sum;
}

int main(void)
{
    long sum = run(0);
    if (expect_rank == 0)
        printf("sessions: %d ranks, checksum %ld\n", expect_size, sum);
    expect_write();
    return 0;
}
