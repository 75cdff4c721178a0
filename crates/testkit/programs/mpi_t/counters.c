/* Counters equal the program's own counts: random traffic with a ledger, on two communicators at once.
 *
 * Every rank draws the same plan from a shared seed: sender, receiver, number, size and tag of the messages, and how
 * each is sent and received. Each rank keeps a ledger of its own part; the variables must equal it.
 */
#include "functions.h"

#define ROUNDS 20
#define LARGEST 9000

struct ledger {
    unsigned long long *sent, *received, *bytes_sent, *bytes_received;
};

static unsigned long long calls_of_send, calls_of_recv;
static unsigned seed;

static unsigned draw(unsigned below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static struct ledger ledger_make(int size)
{
    struct ledger l;
    l.sent = calloc((size_t) size, sizeof *l.sent);
    l.received = calloc((size_t) size, sizeof *l.sent);
    l.bytes_sent = calloc((size_t) size, sizeof *l.sent);
    l.bytes_received = calloc((size_t) size, sizeof *l.sent);
    return l;
}

static void note_sent(struct ledger *l, int to, int bytes)
{
    l->sent[to]++;
    l->bytes_sent[to] += (unsigned) bytes;
}

static void note_received(struct ledger *l, const MPI_Status *status)
{
    int bytes;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    l->received[status->MPI_SOURCE]++;
    l->bytes_received[status->MPI_SOURCE] += (unsigned) bytes;
}

/* Receives one message, in one of five ways, from a given rank or from any. */
static void receive_one(MPI_Comm comm, struct ledger *l, int source, int way, char *buffer)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    switch (way) {
    case 0:
        MPI_Recv(buffer, LARGEST, MPI_BYTE, source, MPI_ANY_TAG, comm, &status);
        calls_of_recv++;
        break;
    case 1:
        MPI_Irecv(buffer, LARGEST, MPI_BYTE, source, MPI_ANY_TAG, comm, &request);
        MPI_Wait(&request, &status);
        break;
    case 2:
        MPI_Probe(source, MPI_ANY_TAG, comm, &status);
        MPI_Recv(buffer, LARGEST, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
        calls_of_recv++;
        break;
    case 3:
        MPI_Mprobe(source, MPI_ANY_TAG, comm, &message, &status);
        MPI_Mrecv(buffer, LARGEST, MPI_BYTE, &message, &status);
        break;
    default:
        MPI_Recv_init(buffer, LARGEST, MPI_BYTE, source, MPI_ANY_TAG, comm, &request);
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        MPI_Request_free(&request);
        break;
    }
    note_received(l, &status);
}

static void send_one(MPI_Comm comm, struct ledger *l, int to, int bytes, int tag, int way, const char *buffer,
                     MPI_Request *request)
{
    switch (way) {
    case 0: MPI_Isend(buffer, bytes, MPI_BYTE, to, tag, comm, request); break;
    case 1: MPI_Issend(buffer, bytes, MPI_BYTE, to, tag, comm, request); break;
    case 2:
        MPI_Send_init(buffer, bytes, MPI_BYTE, to, tag, comm, request);
        MPI_Start(request);
        break;
    default:
        /* Small enough to be buffered by any library. */
        bytes %= 64;
        MPI_Send(buffer, bytes, MPI_BYTE, to, tag, comm);
        calls_of_send++;
        *request = MPI_REQUEST_NULL;
        break;
    }
    note_sent(l, to, bytes);
}

#define MOST 4

/* One round: up to MOST messages between each pair, self included. */
static void round_of(MPI_Comm comm, struct ledger *l)
{
    static char in[LARGEST], out[LARGEST];
    int rank, size, incoming = 0, outgoing = 0, *from;
    MPI_Request *requests;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    requests = malloc((size_t) (size * MOST) * sizeof *requests);
    from = calloc((size_t) (size * MOST), sizeof *from);
    for (int s = 0; s < size; s++)
        for (int d = 0; d < size; d++)
            for (unsigned n = draw(MOST + 1); n > 0; n--) {
                int bytes = (int) draw(LARGEST), tag = (int) draw(1000), way = (int) draw(4);
                /* A blocking send to oneself may wait for its receive. */
                if (s == d && way == 3)
                    way = 0;
                if (s == rank)
                    send_one(comm, l, d, bytes, tag, way, out, &requests[outgoing++]);
                if (d == rank)
                    from[incoming++] = s;
            }
    /* By rank, or, in every second round, from any rank. */
    int anybody = draw(2) == 0;
    for (int i = 0; i < incoming; i++)
        receive_one(comm, l, anybody ? MPI_ANY_SOURCE : from[i], (i + rank) % 5, in);
    for (int i = 0; i < outgoing; i++) {
        MPI_Status status;
        int persistent = requests[i] != MPI_REQUEST_NULL;
        MPI_Wait(&requests[i], &status);
        if (persistent && requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
    }
    MPI_Barrier(comm);
    free(requests);
    free(from);
}

struct meter {
    MPI_Comm comm;
    struct ledger ledger;
    struct gauge sent, received, bytes_sent, bytes_received;
    int usable;
};

static int open_one(struct gauge *g, MPI_T_pvar_session session, const char *name, MPI_Comm *comm)
{
    struct pvar p;
    int open = pvar_find(name, MPI_T_PVAR_CLASS_COUNTER, &p) && gauge_open(g, session, &p, comm);
    CHECKF("CN-1", open, "there are counters of messages and bytes, bound to a communicator", "%s", name);
    return open;
}

static void meter_open(struct meter *m, MPI_T_pvar_session session)
{
    int size;
    MPI_Comm_size(m->comm, &size);
    m->ledger = ledger_make(size);
    m->usable = open_one(&m->sent, session, "mpiscope_messages_sent", &m->comm)
        && open_one(&m->received, session, "mpiscope_messages_received", &m->comm)
        && open_one(&m->bytes_sent, session, "mpiscope_bytes_sent", &m->comm)
        && open_one(&m->bytes_received, session, "mpiscope_bytes_received", &m->comm);
}

static void compare(const char *label, struct gauge *g, const unsigned long long *expected, const char *what)
{
    int code = gauge_read(g);
    for (int i = 0; i < g->count; i++)
        conform_check(__FILE__, __LINE__, label, code == MPI_SUCCESS
                      && number_at(g->variable.type, g->buffer, i) == (double) expected[i], what, "%s[%d]: %g, not %llu",
                      g->variable.name, i, number_at(g->variable.type, g->buffer, i), expected[i]);
}

static void meter_check(struct meter *m)
{
    if (!m->usable)
        return;
    compare("CN-2", &m->sent, m->ledger.sent, "messages sent to each rank of the communicator are counted");
    compare("CN-3", &m->received, m->ledger.received, "messages received from each rank are counted");
    compare("CN-4", &m->bytes_sent, m->ledger.bytes_sent, "bytes sent to each rank are counted");
    compare("CN-4", &m->bytes_received, m->ledger.bytes_received, "bytes received from each rank are counted");
}

static double total(const unsigned long long *numbers, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += (double) numbers[i];
    return sum;
}

static void check_calls(struct gauge *calls, int usable)
{
    int send = element_of("MPI_Send"), recv = element_of("MPI_Recv");
    if (!CHECK("CN-5", usable && send >= 0 && recv >= 0,
               "there is a counter of calls per function, with an enumeration of functions"))
        return;
    CHECKF("CN-5", element(calls, send) == calls_of_send, "calls of each function are counted",
           "MPI_Send: %llu, not %llu", element(calls, send), calls_of_send);
    CHECKF("CN-5", element(calls, recv) == calls_of_recv, "calls of each function are counted",
           "MPI_Recv: %llu, not %llu", element(calls, recv), calls_of_recv);
}

/* 25 messages of 40 bytes to itself: as many bytes are sent as received. */
static void check_aggregate(MPI_T_pvar_session session)
{
    struct pvar p;
    struct gauge g;
    char out[40] = "", in[40];
    if (!CHECK("CN-6", pvar_find("mpiscope_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &p)
               && p.bind == MPI_T_BIND_NO_OBJECT && gauge_open(&g, session, &p, NULL), "there is an aggregate of bytes"))
        return;
    MPI_T_pvar_start(session, g.handle);
    for (int i = 0; i < 25; i++) {
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(in, sizeof in, MPI_BYTE, 0, 1, MPI_COMM_SELF, &request);
        MPI_Send(out, sizeof out, MPI_BYTE, 0, 1, MPI_COMM_SELF);
        MPI_Wait(&request, &status);
    }
    MPI_T_pvar_stop(session, g.handle);
    CHECKF("CN-6", gauge_sum(&g) == 25 * 2 * 40, "an aggregate adds up", "%g, not %d", gauge_sum(&g), 25 * 2 * 40);
    gauge_close(&g);
}

static void alone(void)
{
    MPI_T_pvar_session session;
    struct meter meters[2];
    struct gauge calls, histogram, collectives, size;
    struct pvar p;
    int with_calls, with_histogram, with_collectives;
    double sent = 0;
    if (conform_phase != BETWEEN)
        return;
    seed = 4711u;
    MPI_T_pvar_session_create(&session);
    check_aggregate(session);
    MPI_Comm_dup(MPI_COMM_WORLD, &meters[0].comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -conform_rank, &meters[1].comm);
    for (int i = 0; i < 2; i++)
        meter_open(&meters[i], session);
    with_calls = calls_open(&calls, session);
    with_histogram = pvar_find("mpiscope_message_sizes_sent", MPI_T_PVAR_CLASS_COUNTER, &p)
        && gauge_open(&histogram, session, &p, NULL);
    with_collectives = pvar_find("mpiscope_collectives", MPI_T_PVAR_CLASS_COUNTER, &p)
        && gauge_open(&collectives, session, &p, &meters[0].comm);
    CHECK_RC("CN-7", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES), MPI_SUCCESS, "all handles are started at once");
    for (int i = 0; i < ROUNDS; i++)
        round_of(meters[i % 2].comm, &meters[i % 2].ledger);
    MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES);
    for (int i = 0; i < 2; i++) {
        meter_check(&meters[i]);
        sent += total(meters[i].ledger.sent, conform_size);
    }
    check_calls(&calls, with_calls);
    if (CHECK("CN-8", with_histogram, "there is a histogram of message sizes"))
        CHECKF("CN-8", gauge_sum(&histogram) == sent, "a histogram counts every message once", "%g, not %g",
               gauge_sum(&histogram), sent);
    if (CHECK("CN-9", with_collectives, "there is a counter of collectives, bound to a communicator"))
        CHECKF("CN-9", gauge_sum(&collectives) == ROUNDS / 2, "collectives on the communicator are counted",
               "%g, not %d", gauge_sum(&collectives), ROUNDS / 2);
    if (CHECK("CN-10", pvar_find("mpiscope_comm_size", MPI_T_PVAR_CLASS_SIZE, &p)
              && gauge_open(&size, session, &p, &meters[0].comm), "there is a size of the communicator")) {
        MPI_T_pvar_start(session, size.handle);
        CHECKF("CN-10", gauge_sum(&size) == conform_size, "the size of a communicator is its number of ranks", "%g",
               gauge_sum(&size));
    }
    MPI_T_pvar_session_free(&session);
    MPI_Comm_free(&meters[0].comm);
    MPI_Comm_free(&meters[1].comm);
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "counters", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
