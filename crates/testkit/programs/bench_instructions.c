/* One process calls each of these functions CALLS times, between two calls of mark(). An instruction counter that reads
 * its total whenever mark() is entered can compute the cost of each. Prints their names in order, one per line. */
#include <mpi.h>
#include <stdio.h>

enum { WARM = 50, CALLS = 200 };

static MPI_Comm comm;
static double in[4], out[4];
static int number, flag;
static MPI_Request both[2], persistent;
static MPI_Status status;

__attribute__((noinline)) void mark(void)
{
    __asm__ volatile("" ::: "memory");
}

static void comm_rank(void)
{
    MPI_Comm_rank(comm, &number);
}

static void barrier(void)
{
    MPI_Barrier(comm);
}

static void bcast(void)
{
    MPI_Bcast(in, 4, MPI_DOUBLE, 0, comm);
}

static void alltoall(void)
{
    MPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm);
}

static void gatherv(void)
{
    const int count = 1, at = 0;
    MPI_Gatherv(in, 1, MPI_DOUBLE, out, &count, &at, MPI_DOUBLE, 0, comm);
}

static void alltoallw(void)
{
    const int count = 1, at = 0;
    const MPI_Datatype type = MPI_DOUBLE;
    MPI_Alltoallw(in, &count, &at, &type, out, &count, &at, &type, comm);
}

static void allreduce(void)
{
    MPI_Allreduce(out, in, 4, MPI_DOUBLE, MPI_SUM, comm);
}

static void sendrecv(void)
{
    MPI_Sendrecv(out, 4, MPI_DOUBLE, 0, 1, in, 4, MPI_DOUBLE, 0, 1, comm, &status);
}

static void isend_recv_wait(void)
{
    MPI_Isend(out, 4, MPI_DOUBLE, 0, 1, comm, &both[0]);
    MPI_Recv(in, 4, MPI_DOUBLE, 0, 1, comm, &status);
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
}

static void irecv_send_wait(void)
{
    MPI_Irecv(in, 4, MPI_DOUBLE, 0, 1, comm, &both[0]);
    MPI_Send(out, 4, MPI_DOUBLE, 0, 1, comm);
    MPI_Wait(&both[0], &status);
}

static void irecv_isend_waitall(void)
{
    MPI_Irecv(in, 4, MPI_DOUBLE, 0, 1, comm, &both[0]);
    MPI_Isend(out, 4, MPI_DOUBLE, 0, 1, comm, &both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

static void ibarrier_wait(void)
{
    MPI_Ibarrier(comm, &both[0]);
    MPI_Wait(&both[0], MPI_STATUS_IGNORE);
}

static void iallreduce_wait(void)
{
    MPI_Iallreduce(out, in, 4, MPI_DOUBLE, MPI_SUM, comm, both);
    MPI_Wait(both, &status);
}

static void ialltoallw_wait(void)
{
    const int count = 1, at = 0;
    const MPI_Datatype type = MPI_DOUBLE;
    MPI_Ialltoallw(in, &count, &at, &type, out, &count, &at, &type, comm, both);
    MPI_Wait(both, &status);
}

#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
static MPI_Request broadcast;

static void start_broadcast_wait(void)
{
    MPI_Start(&broadcast);
    MPI_Wait(&broadcast, &status);
}
#endif

static void start_recv_wait(void)
{
    MPI_Start(&persistent);
    MPI_Recv(in, 4, MPI_DOUBLE, 0, 2, comm, &status);
    MPI_Wait(&persistent, MPI_STATUS_IGNORE);
}

static void iprobe(void)
{
    MPI_Iprobe(0, 9, comm, &flag, MPI_STATUS_IGNORE);
}

static void test_null(void)
{
    MPI_Request none = MPI_REQUEST_NULL;
    MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
}

static void get_count(void)
{
    MPI_Get_count(&status, MPI_DOUBLE, &number);
}

static void wtime(void)
{
    in[0] = MPI_Wtime();
}

static void initialized(void)
{
    MPI_Initialized(&flag);
}

/* Rarely called functions, without their own object. */
static void get_processor_name(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Get_processor_name(name, &number);
}

static void error_string(void)
{
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_string(MPI_SUCCESS, text, &number);
}

static void comm_dup_free(void)
{
    MPI_Comm made;
    MPI_Comm_dup(comm, &made);
    MPI_Comm_free(&made);
}

static void type_vector_free(void)
{
    MPI_Datatype type;
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_free(&type);
}

static void group_free(void)
{
    MPI_Group group;
    MPI_Comm_group(comm, &group);
    MPI_Group_free(&group);
}

static void info_create_free(void)
{
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_free(&info);
}

#define CASE(title, body) { title, body }

static const struct {
    const char *title;
    void (*body)(void);
} cases[] = {
    CASE("MPI_Comm_rank", comm_rank),
    CASE("MPI_Barrier", barrier),
    CASE("MPI_Bcast", bcast),
    CASE("MPI_Alltoall", alltoall),
    CASE("MPI_Gatherv", gatherv),
    CASE("MPI_Alltoallw", alltoallw),
    CASE("MPI_Allreduce", allreduce),
    CASE("MPI_Sendrecv", sendrecv),
    CASE("MPI_Isend, MPI_Recv, MPI_Wait", isend_recv_wait),
    CASE("MPI_Irecv, MPI_Send, MPI_Wait", irecv_send_wait),
    CASE("MPI_Irecv, MPI_Isend, MPI_Waitall", irecv_isend_waitall),
    CASE("MPI_Ibarrier, MPI_Wait", ibarrier_wait),
    CASE("MPI_Iallreduce, MPI_Wait", iallreduce_wait),
    CASE("MPI_Ialltoallw, MPI_Wait", ialltoallw_wait),
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    CASE("MPI_Start of a broadcast, MPI_Wait", start_broadcast_wait),
#endif
    CASE("MPI_Start, MPI_Recv, MPI_Wait", start_recv_wait),
    CASE("MPI_Iprobe", iprobe),
    CASE("MPI_Test of no request", test_null),
    CASE("MPI_Get_count", get_count),
    CASE("MPI_Wtime", wtime),
    CASE("MPI_Initialized", initialized),
    CASE("MPI_Get_processor_name", get_processor_name),
    CASE("MPI_Error_string", error_string),
    CASE("MPI_Comm_dup, MPI_Comm_free", comm_dup_free),
    CASE("MPI_Type_vector, MPI_Type_free", type_vector_free),
    CASE("MPI_Comm_group, MPI_Group_free", group_free),
    CASE("MPI_Info_create, MPI_Info_free", info_create_free),
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Send_init(out, 4, MPI_DOUBLE, 0, 2, comm, &persistent);
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    MPI_Bcast_init(out, 4, MPI_DOUBLE, 0, comm, MPI_INFO_NULL, &broadcast);
#endif
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int call = 0; call < WARM; call++)
            cases[i].body();
        mark();
        for (int call = 0; call < CALLS; call++)
            cases[i].body();
        mark();
        printf("case %s\n", cases[i].title);
    }
    MPI_Request_free(&persistent);
    MPI_Finalize();
    return 0;
}
