/* The example in the standard's chapter on performance variables: which receives are made while many messages wait?
 *
 * A PMPI tool in three parts: MPI_Init looks up the variable MPI_T_UMQ_LENGTH and starts it, MPI_Recv reads it,
 * MPI_Finalize cleans up. It is built as a shared library and preloaded with libmpiscope.so, in either order:
 *
 *     cc -shared -fPIC -I <directory of mpi.h> unexpected_queue_tool.c -o unexpected_queue_tool.so
 *     mpirun -n 2 env LD_PRELOAD="./unexpected_queue_tool.so libmpiscope.so" ./app
 *
 * UMQ_THRESHOLD defines "many" (100). The tool only needs mpi.h: performance variables are older than MPI 4.
 */
#include <assert.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int threshold = 100;
static int active;
static long receives, during_long_queues;
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

/* Part 1: finds the variable by name, and allocates a handle for MPI_COMM_WORLD. */
static int find_queue_length(void)
{
    int count = 0;
    PMPI_T_pvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[256];
        int name_len = sizeof name, verbosity, var_class, bind, readonly, continuous, atomic, desc_len = 0;
        MPI_Datatype datatype;
        MPI_T_enum enumtype;
        if (PMPI_T_pvar_get_info(i, name, &name_len, &verbosity, &var_class, &datatype, &enumtype, NULL, &desc_len,
                                 &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS)
            continue;
        if (strcmp(name, "MPI_T_UMQ_LENGTH") != 0)
            continue;
        assert(var_class == MPI_T_PVAR_CLASS_LEVEL);
        assert(datatype == MPI_INT);
        assert(bind == MPI_T_BIND_MPI_COMM);
        return i;
    }
    return -1;
}

static void start(void)
{
    int provided, index, count;
    MPI_Comm world = MPI_COMM_WORLD;
    if (getenv("UMQ_THRESHOLD"))
        threshold = atoi(getenv("UMQ_THRESHOLD"));
    if (PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    index = find_queue_length();
    if (index < 0) {
        fprintf(stderr, "unexpected_queue_tool: this MPI has no variable MPI_T_UMQ_LENGTH; is libmpiscope.so preloaded?\n");
        return;
    }
    PMPI_T_pvar_session_create(&session);
    PMPI_T_pvar_handle_alloc(session, index, &world, &handle, &count);
    /* The buffer below holds one element, as in the standard's example. */
    assert(count == 1);
    /* A continuous variable is always started; then this returns an error and does no harm. */
    PMPI_T_pvar_start(session, handle);
    active = 1;
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    start();
    return code;
}

/* Part 2: every receive reads the length of the queue when it begins. */
int MPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int length = 0;
    if (active && comm == MPI_COMM_WORLD && PMPI_T_pvar_read(session, handle, &length) == MPI_SUCCESS) {
        receives++;
        during_long_queues += length > threshold;
    }
    return PMPI_Recv(buf, count, datatype, source, tag, comm, status);
}

/* Part 3: cleans up. */
int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (active) {
        if (receives)
            printf("rank %d: %ld of %ld receives with more than %d messages waiting\n", rank, during_long_queues,
                   receives, threshold);
        fflush(stdout);
        PMPI_T_pvar_handle_free(session, &handle);
        PMPI_T_pvar_session_free(&session);
        PMPI_T_finalize();
    }
    return PMPI_Finalize();
}
