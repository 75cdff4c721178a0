/* Makes an unexpected-message queue of known length, for the example tool of the specification.
 *
 * Every other rank sends 200 messages to rank 0, which waits until all are sent and then receives them one by one. When
 * it makes its k-th receive (from 0), 200 * (ranks - 1) - k messages wait. How many receives saw more than LIMIT
 * messages waiting is printed; the tool in examples/mpi_t must print the same number.
 *
 * With `--tool` the program itself does not use MPI_T, so that only the tool does.
 */
#include "tinfo.h"

#define EACH 200
#define LIMIT 100

static MPI_T_pvar_session session;
static struct gauge length;
static int usable;

static double waiting(void)
{
    return usable ? gauge_sum(&length) : -1;
}

static void open_gauge(void)
{
    struct pvar p;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_T_pvar_session_create(&session);
    usable = CHECK("UQ-1", pvar_find("MPI_T_UMQ_LENGTH", MPI_T_PVAR_CLASS_LEVEL, &p)
                   && gauge_open(&length, session, &p, &comm) && length.count >= 1,
                   "MPI_T_UMQ_LENGTH is found and bound to a communicator");
    if (usable && p.continuous == 0)
        MPI_T_pvar_start(session, length.handle);
}

static void receive_all(int total, int asking)
{
    int word, wrong = 0, seen_long = 0;
    MPI_Status status;
    if (asking && usable)
        CHECKF("UQ-2", waiting() == total, "messages without a receive are counted", "%g, not %d",
               waiting(), total);
    for (int i = 0; i < total; i++) {
        seen_long += total - i > LIMIT;
        if (asking && usable)
            wrong += waiting() != total - i;
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    }
    if (asking && usable)
        CHECKF("UQ-3", wrong == 0 && waiting() == 0, "each receive takes one message from the queue",
               "%d times another length, %g at the end", wrong, waiting());
    printf("expected: %d of %d receives with more than %d messages waiting\n", seen_long, total, LIMIT);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int asking = !(argc > 1 && !strcmp(argv[1], "--tool")), provided;
    conform_signals();
    alarm(60);
    conform_phase = BETWEEN;
    MPI_Init(&argc, &argv);
    conform_signals();
    MPI_Comm_rank(MPI_COMM_WORLD, &conform_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &conform_size);
    if (asking) {
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
        open_gauge();
    }
    if (conform_rank > 0)
        for (int i = 0; i < EACH; i++)
            MPI_Send(&i, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (conform_rank == 0)
        receive_all(EACH * (conform_size - 1), asking);
    if (asking) {
        MPI_T_pvar_session_free(&session);
        MPI_T_finalize();
    }
    MPI_Finalize();
    return asking ? conform_summary() : 0;
}
