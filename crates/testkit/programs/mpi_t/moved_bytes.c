/* Bytes moved by this process in each direction: mpiscope_bytes, mpiscope_bytes_out and mpiscope_bytes_in. With an even
 * number of ranks. */
#include "tinfo.h"
#include <unistd.h>

#define ROOM 4096

static struct gauge total, out_of, into;
static MPI_T_pvar_session session;
static char out[ROOM], in[ROOM];

static long long now(struct gauge *gauge)
{
    return gauge_read(gauge) == MPI_SUCCESS ? (long long) *(unsigned long long *) gauge->buffer : -1;
}

/* Since the last call: all bytes, those sent, those received. */
static void moved(long long difference[3])
{
    static long long before[3];
    struct gauge *gauges[3] = { &total, &out_of, &into };
    for (int i = 0; i < 3; i++) {
        long long value = now(gauges[i]);
        difference[i] = value - before[i];
        before[i] = value;
    }
}

static void is(const char *label, long long sent, long long received, const char *sentence)
{
    long long seen[3];
    moved(seen);
    CHECKF(label, seen[0] == sent + received && seen[1] == sent && seen[2] == received, sentence,
           "%lld = %lld out + %lld in, not %lld + %lld", seen[0], seen[1], seen[2], sent, received);
}

static int has(const char *name, struct gauge *gauge)
{
    struct pvar p;
    if (!pvar_find(name, MPI_T_PVAR_CLASS_AGGREGATE, &p) || !gauge_open(gauge, session, &p, NULL))
        return 0;
    MPI_T_pvar_start(session, gauge->handle);
    return 1;
}

static void one_sided(int other)
{
    static int memory[64];
    int value = 1, result[4];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win);
    MPI_Put(out, 5, MPI_INT, other, 0, 5, MPI_INT, win);
    MPI_Accumulate(out, 3, MPI_INT, other, 8, 3, MPI_INT, MPI_SUM, win);
    is("MB-8", 32, 0, "bytes of put and accumulate are sent");
    MPI_Get(in, 7, MPI_INT, other, 16, 7, MPI_INT, win);
    is("MB-9", 0, 28, "bytes of get are received");
    MPI_Fetch_and_op(&value, result, MPI_INT, other, 30, MPI_SUM, win);
    MPI_Get_accumulate(out, 4, MPI_INT, result, 4, MPI_INT, other, 40, 4, MPI_INT, MPI_SUM, win);
    is("MB-10", 20, 20, "bytes of get-accumulate are sent and received");
    MPI_Fetch_and_op(NULL, result, MPI_INT, other, 30, MPI_NO_OP, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, result, 4, MPI_INT, other, 40, 4, MPI_INT, MPI_NO_OP, win);
    is("MB-14", 0, 20, "bytes fetched with MPI_NO_OP are only received");
    MPI_Compare_and_swap(&value, &value, result, MPI_INT, other, 30, win);
    is("MB-15", 4, 4, "swapped bytes are sent and received");
    MPI_Put(out, 5, MPI_INT, MPI_PROC_NULL, 0, 5, MPI_INT, win);
    MPI_Fetch_and_op(&value, result, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, win);
    is("MB-4", 0, 0, "no bytes move to or from MPI_PROC_NULL");
    MPI_Win_unlock(other, win);
    MPI_Win_free(&win);
}

static void file(void)
{
    char path[64];
    MPI_File file;
    snprintf(path, sizeof path, "/tmp/mpiscope_moved_bytes.%d", (int) getpid());
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    if (MPI_File_open(MPI_COMM_SELF, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return;
    MPI_File_write_at(file, 0, out, 300, MPI_CHAR, MPI_STATUS_IGNORE);
    is("MB-11", 300, 0, "bytes written to a file are sent");
    MPI_File_read_at(file, 0, in, 200, MPI_CHAR, MPI_STATUS_IGNORE);
    is("MB-12", 0, 200, "bytes read from a file are received");
    MPI_File_close(&file);
}

static unsigned next(void)
{
    static unsigned long long state = 42;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned) (state >> 33);
}

/* One message or two; both sides make the same choice. */
static void message(int kind, int size, int sends, int other)
{
    MPI_Comm c = MPI_COMM_WORLD;
    MPI_Request request;
    MPI_Message matched;
    MPI_Status status;
    int flag = 0;
    switch (kind) {
    case 0:
        MPI_Sendrecv(out, size, MPI_CHAR, other, 6, in, ROOM, MPI_CHAR, other, 6, c, &status);
        return;
    case 1:
        MPI_Sendrecv_replace(in, size, MPI_CHAR, other, 6, other, 6, c, MPI_STATUS_IGNORE);
        return;
    case 2:
        if (sends)
            MPI_Send_init(out, size, MPI_CHAR, other, 6, c, &request);
        else
            MPI_Recv_init(in, ROOM, MPI_CHAR, MPI_ANY_SOURCE, 6, c, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        return;
    case 3:
        if (sends) {
            MPI_Ssend(out, size, MPI_CHAR, other, 6, c);
        } else {
            MPI_Mprobe(other, MPI_ANY_TAG, c, &matched, &status);
            MPI_Mrecv(in, ROOM, MPI_CHAR, &matched, MPI_STATUS_IGNORE);
        }
        return;
    case 4:
        if (sends) {
            MPI_Issend(out, size, MPI_CHAR, other, 6, c, &request);
        } else {
            while (!flag)
                MPI_Improbe(other, 6, c, &flag, &matched, MPI_STATUS_IGNORE);
            MPI_Imrecv(in, ROOM, MPI_CHAR, &matched, &request);
        }
        break;
    default:
        if (sends)
            MPI_Isend(out, size, MPI_CHAR, other, 6, c, &request);
        else
            MPI_Irecv(in, ROOM, MPI_CHAR, kind == 5 ? MPI_ANY_SOURCE : other, MPI_ANY_TAG, c, &request);
    }
    if (kind == 5) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        for (flag = 0; !flag;)
            MPI_Test(&request, &flag, &status);
    }
}

static void at_random(int other, int first)
{
    long long seen[3], sums[2];
    moved(seen);
    for (int i = 0; i < 300; i++) {
        int kind = (int) (next() % 7), size = (int) (next() % ROOM), of_first = (int) (next() % 2);
        message(kind, size, first == of_first, other);
    }
    moved(seen);
    MPI_Allreduce(&seen[1], sums, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECKF("MB-13", sums[0] == sums[1] && sums[0] > 0 && seen[0] == seen[1] + seen[2],
           "over all ranks as many bytes are received as sent, whatever the traffic", "%lld out, %lld in", sums[0], sums[1]);
}

static void alone(void)
{
    MPI_Request requests[2];
    MPI_Status status;
    long long begun[3];
    if (conform_phase != BETWEEN || conform_size % 2)
        return;
    int other = conform_rank ^ 1, first = conform_rank < other;
    MPI_T_pvar_session_create(&session);
    if (!CHECK("MB-1", has("mpiscope_bytes", &total) && has("mpiscope_bytes_out", &out_of) && has("mpiscope_bytes_in", &into),
               "the variables exist"))
        return;
    moved(begun);
    MPI_Sendrecv(out, 1000, MPI_CHAR, other, 1, in, ROOM, MPI_CHAR, other, 1, MPI_COMM_WORLD, &status);
    is("MB-2", 1000, 1000, "a send-receive counts the bytes that it sends and those that it receives");
    if (first)
        MPI_Send(out, 10, MPI_CHAR, other, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(in, ROOM, MPI_CHAR, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    is("MB-3", first ? 10 : 0, first ? 0 : 10, "a receive counts the bytes that arrive, not the size of its buffer");
    MPI_Send(out, 100, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Recv(in, 100, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    MPI_Sendrecv(out, 7, MPI_CHAR, MPI_PROC_NULL, 3, in, 7, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    is("MB-4", 0, 0, "no bytes move to or from MPI_PROC_NULL");
    MPI_Send_init(out, 50, MPI_CHAR, other, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, ROOM, MPI_CHAR, other, 4, MPI_COMM_WORLD, &requests[1]);
    is("MB-5", 0, 0, "initializing a persistent operation moves no bytes");
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    is("MB-6", 150, 150, "each start of a persistent operation moves its message");
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Irecv(in, ROOM, MPI_CHAR, other, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, 33, MPI_CHAR, other, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    is("MB-7", 33, 33, "nonblocking operations count the bytes that they send and those that arrive");
    one_sided(other);
    file();
    at_random(other, first);
    MPI_T_pvar_session_free(&session);
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "moved_bytes", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
