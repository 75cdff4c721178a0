/* The unexpected-message queue step by step: messages that wait although receives are posted.
 *
 * Rank 0 sends, rank 1 posts receives and reads the queue; the messages are so small that no send waits for its receive.
 */
#include "tinfo.h"
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define MANY 40

static MPI_T_pvar_session session;
static struct gauge twins[2];
static MPI_Comm comm;

/* Rank 0 sends messages with these tags; rank 1 continues when they have been sent. */
static void sent(const int *tags, int count)
{
    if (conform_rank == 0)
        for (int i = 0; i < count; i++)
            MPI_Send(&tags[i], 1, MPI_INT, 1, tags[i], comm);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void waiting(int wanted, const char *label, const char *what)
{
    for (int i = 0; i < 2; i++) {
        double now = gauge_sum(&twins[i]);
        CHECKF(label, now == wanted, what, "%s: %g, not %d", twins[i].variable.name, now, wanted);
    }
}

/* Stack of a signal handler that a read may need, besides the processor's registers, which differ from machine to machine. */
#define SMALL_STACK 6144
#define PAINT 0xa5

static unsigned char read_there[16];
static volatile int status_there;
static unsigned char *volatile entered_at;

static void read_in_handler(int signal)
{
    unsigned char here = 0;
    (void) signal;
    entered_at = &here;
    status_there = MPI_T_pvar_read(session, twins[0].handle, read_there);
}

/* The handler has its own stack, filled with a pattern: afterward, the pattern shows how much of it was used. */
static void waiting_on_a_small_stack(int wanted)
{
    size_t size = 1 << 18, untouched = 0;
    unsigned char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return;
    memset(memory, PAINT, size);
    stack_t stack = { .ss_sp = memory, .ss_size = size }, before;
    struct sigaction action = { .sa_handler = read_in_handler, .sa_flags = SA_ONSTACK };
    status_there = -1;
    sigaltstack(&stack, &before);
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR2);
    sigaltstack(&before, NULL);
    int got;
    memcpy(&got, read_there, sizeof got);
    while (untouched < size && memory[untouched] == PAINT)
        untouched++;
    long used = (long) (entered_at - (memory + untouched));
    CHECKF("UN-11", status_there == MPI_SUCCESS && got == wanted, "a signal handler may read it", "status %d, %d, not %d",
           status_there, got, wanted);
    CHECKF("UN-11", used > 0 && used <= SMALL_STACK, "and needs only a small stack", "%ld bytes of stack", used);
    munmap(memory, size);
}

static void post(int source, int tag, MPI_Request *request)
{
    static int words[MANY], next;
    MPI_Irecv(&words[next++ % MANY], 1, MPI_INT, source, tag, comm, request);
}

static void check_tags(void)
{
    MPI_Request nine, two, three;
    MPI_Message message;
    int word;
    if (conform_rank == 1) {
        post(0, 9, &nine);
        post(0, 2, &two);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sent((int[]) { 1, 2, 3 }, 3);
    if (conform_rank == 1) {
        waiting(2, "UN-1", "a posted receive of another tag hides no message");
        waiting_on_a_small_stack(2);
        MPI_Wait(&two, MPI_STATUS_IGNORE);
        waiting(2, "UN-2", "nor does a completed one");
        post(MPI_ANY_SOURCE, 3, &three);
        waiting(1, "UN-3", "a receive from any source takes the message of its tag");
        MPI_Mprobe(0, 1, comm, &message, MPI_STATUS_IGNORE);
        waiting(0, "UN-4", "a message matched by a probe no longer waits");
        MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        waiting(0, "UN-4", "nor once it is received");
        MPI_Wait(&three, MPI_STATUS_IGNORE);
    }
    sent((int[]) { 9 }, 1);
    if (conform_rank == 1)
        MPI_Wait(&nine, MPI_STATUS_IGNORE);
}

static void check_wildcards(void)
{
    MPI_Request any, matched, fifth;
    MPI_Message message;
    int word;
    if (conform_rank == 1)
        post(MPI_ANY_SOURCE, MPI_ANY_TAG, &any);
    MPI_Barrier(MPI_COMM_WORLD);
    sent((int[]) { 5, 6, 7 }, 3);
    if (conform_rank == 1) {
        waiting(2, "UN-5", "a receive of any message takes one");
        MPI_Mprobe(MPI_ANY_SOURCE, 7, comm, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(&word, 1, MPI_INT, &message, &matched);
        waiting(1, "UN-6", "the receive of a matched message has one already");
        MPI_Wait(&any, MPI_STATUS_IGNORE);
        MPI_Wait(&matched, MPI_STATUS_IGNORE);
        waiting(1, "UN-6", "and so once it is complete");
        MPI_Recv(&word, 1, MPI_INT, 0, 6, comm, MPI_STATUS_IGNORE);
        waiting(0, "UN-6", "none is left at the end");
        post(0, MPI_ANY_TAG, &any);
        post(0, 5, &fifth);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sent((int[]) { 5, 6 }, 2);
    if (conform_rank == 1)
        waiting(1, "UN-7", "receives match in the order in which they were posted");
    sent((int[]) { 5 }, 1);
    if (conform_rank == 1) {
        MPI_Wait(&any, MPI_STATUS_IGNORE);
        MPI_Wait(&fifth, MPI_STATUS_IGNORE);
        MPI_Recv(&word, 1, MPI_INT, 0, 6, comm, MPI_STATUS_IGNORE);
    }
}

/* Received in a different order than sent: every second one first. */
static void check_order(void)
{
    MPI_Request known, gone;
    int tags[MANY], word;
    for (int i = 0; i < MANY; i++)
        tags[i] = 100 + i * i;
    sent(tags, MANY);
    if (conform_rank == 1) {
        for (int i = 0; i < MANY; i += 2)
            MPI_Recv(&word, 1, MPI_INT, 0, tags[i], comm, MPI_STATUS_IGNORE);
        post(0, tags[1], &known);
        post(0, tags[0], &gone);
        waiting(MANY / 2 - 1, "UN-8", "the remaining messages are known in any order");
        for (int i = 3; i < MANY; i += 2)
            MPI_Recv(&word, 1, MPI_INT, 0, tags[i], comm, MPI_STATUS_IGNORE);
        waiting(0, "UN-8", "and at the end none remains");
        MPI_Wait(&known, MPI_STATUS_IGNORE);
    }
    sent(tags, 1);
    if (conform_rank == 1)
        MPI_Wait(&gone, MPI_STATUS_IGNORE);
}

/* MPICH and Intel MPI do not report what a send-receive has received. */
static void check_exchanges(void)
{
#if MPI_VERSION >= 4
    static const int sources[] = { MPI_ANY_SOURCE, -1, MPI_ANY_SOURCE }, tags[] = { MPI_ANY_TAG, MPI_ANY_TAG, 20 };
    MPI_Request request, other;
    int out = 1, in, other_rank = 1 - conform_rank;
    for (int i = 0; i < 3; i++) {
        int source = i == 1 ? other_rank : sources[i];
        MPI_Isendrecv(&out, 1, MPI_INT, other_rank, 20, &in, 1, MPI_INT, source, tags[i], comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Isendrecv_replace(&out, 1, MPI_INT, other_rank, 20, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    waiting(0, "UN-9", "a message received by a send-receive no longer waits, whatever its arguments");
    if (conform_rank == 1)
        post(0, 9, &other);
    MPI_Barrier(MPI_COMM_WORLD);
    sent((int[]) { 21 }, 1);
    if (conform_rank == 1) {
        waiting(1, "UN-10", "a later message is seen");
        MPI_Recv(&in, 1, MPI_INT, 0, 21, comm, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sent((int[]) { 9 }, 1);
    if (conform_rank == 1)
        MPI_Wait(&other, MPI_STATUS_IGNORE);
#endif
}

static int open_gauges(void)
{
    static const char *const names[] = { "MPI_T_UMQ_LENGTH", "mpiscope_unexpected_messages" };
    for (int i = 0; i < 2; i++) {
        struct pvar p;
        if (!CHECK("UN-1", pvar_find(names[i], MPI_T_PVAR_CLASS_LEVEL, &p) && gauge_open(&twins[i], session, &p, &comm),
                   "the variables are found and bound to a communicator"))
            return 0;
        if (!p.continuous)
            MPI_T_pvar_start(session, twins[i].handle);
    }
    return 1;
}

int main(int argc, char **argv)
{
    int provided;
    conform_signals();
    alarm(60);
    conform_phase = BETWEEN;
    MPI_Init(&argc, &argv);
    conform_signals();
    MPI_Comm_rank(MPI_COMM_WORLD, &conform_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &conform_size);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (open_gauges()) {
        check_tags();
        check_wildcards();
        check_order();
        check_exchanges();
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return conform_summary();
}
