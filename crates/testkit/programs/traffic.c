/* Random traffic with a known ledger.
 *
 *     traffic SEED ROUNDS [threads]
 *
 * All ranks draw the same plan from the seed: sender, receiver, mode and way of receiving of each message. Each rank
 * writes a ledger of what it did to $TRAFFIC_OUT.RANK, and its image, if it has one, to $TRAFFIC_OUT.RANK.image.
 *
 *     comm NAME HANDLE COLLECTIVES
 *     send HANDLE PEER TAG BYTES       in the order in which they were started
 *     recv HANDLE PEER TAG BYTES       in the order in which the receives were posted; BYTES is negative if unknown
 *     NAME NUMBER                      further counts
 *
 * With -DABANDON some receives are freed before their message arrives.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORLD, WILD, REVERSED, HALVES, COMMS };
enum { SEND, BSEND, SSEND, RSEND, ISEND, IBSEND, ISSEND, IRSEND, SEND_INIT, ISEND_FREE, SEND_MODES };
enum { IRECV, RECV_INIT, POSTED, RECV = POSTED, MRECV, IMRECV, PROBE, IPROBE, RECV_MODES };
/* The size of a message in bytes, or that there was none. */
enum { UNKNOWN = -2, NONE = -1 };
enum { MOST = 24, UNIQUE = 1000, BUFFERED = 4096 };

struct message { int comm, from, to, tag, bytes, send, recv, any; };
struct done { uint64_t comm; int peer, tag; long bytes; };
struct receive { MPI_Request request; int comm, order, known, persistent, source, tag, bytes; };

static uint64_t random_state;
static int rank, size, largest = 1 << 20;
static MPI_Comm comms[COMMS];
static const char *names[COMMS] = { "world", "wild", "reversed", "halves" };
static long collectives[COMMS];
static struct done *sent, *received;
static long sends, receives, cancelled, probes, ready, arrived;
static char *space[3 * MOST];
static void *attached;

static unsigned draw(unsigned below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)((random_state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

static uint64_t name_of(MPI_Comm comm)
{
    uint64_t raw = 0;
    memcpy(&raw, &comm, sizeof comm);
    return raw;
}

/* The rank, as others name it in a communicator, of a rank in the world. */
static int rank_in(int comm, int world)
{
    if (comm == REVERSED)
        return size - 1 - world;
    if (comm == HALVES)
        return world < size / 2 ? world : world - size / 2;
    return world;
}

static void barrier(void)
{
    MPI_Barrier(comms[WORLD]);
    collectives[WORLD]++;
}

static void note_send(int comm, int peer, int tag, long bytes)
{
    sent = realloc(sent, (sends + 1) * sizeof *sent);
    sent[sends++] = (struct done){ name_of(comms[comm]), peer, tag, bytes };
}

static int post(void)
{
    received = realloc(received, (receives + 1) * sizeof *received);
    received[receives] = (struct done){ 0, -1, -1, NONE };
    return (int)receives++;
}

static void note_receive(int order, int comm, int peer, int tag, long bytes)
{
    received[order] = (struct done){ name_of(comms[comm]), peer, tag, bytes };
}

static void note_status(int order, int comm, MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_BYTE, &count);
    note_receive(order, comm, status->MPI_SOURCE, status->MPI_TAG, count);
}

static struct message draw_message(int index)
{
    struct message m = { 0 };
    m.comm = draw(COMMS);
    if (m.comm == HALVES && size < 2)
        m.comm = WORLD;
    m.from = draw(size);
    m.to = draw(size);
    if (m.comm == HALVES)
        m.to = m.from < size / 2 ? size / 2 + draw(size - size / 2) : draw(size / 2);
    m.bytes = draw(8) == 0 ? 0 : (int)draw(1u << draw(21));
    if (m.bytes > largest)
        m.bytes = largest;
    m.send = draw(SEND_MODES);
    m.recv = draw(RECV_MODES);
    m.tag = draw(4);
    m.any = m.comm == WILD || (m.comm == REVERSED && draw(2));
    if (m.comm == REVERSED && m.any)
        m.tag += 100;
    /* A send that may block, or needs a receive, goes to a separate receive. */
    int blocks = m.send == SEND || m.send == SSEND || m.send == RSEND || m.send == IRSEND;
    if (blocks && m.any)
        m.send = ISEND;
    else if (blocks || draw(3) == 0) {
        if (!m.any)
            m.tag = UNIQUE + index;
        if (blocks)
            m.recv = draw(POSTED);
    }
    if ((m.send == BSEND || m.send == IBSEND) && m.bytes > BUFFERED)
        m.bytes = BUFFERED;
    return m;
}

static int send_one(struct message *m, char *buffer, MPI_Request *request, int *persistent)
{
    MPI_Comm c = comms[m->comm];
    int to = rank_in(m->comm, m->to), open = 1;
    note_send(m->comm, to, m->tag, m->bytes);
    *persistent = 0;
    switch (m->send) {
    case SEND: MPI_Send(buffer, m->bytes, MPI_BYTE, to, m->tag, c); open = 0; break;
    case BSEND: MPI_Bsend(buffer, m->bytes, MPI_BYTE, to, m->tag, c); open = 0; break;
    case SSEND: MPI_Ssend(buffer, m->bytes, MPI_BYTE, to, m->tag, c); open = 0; break;
    case RSEND: MPI_Rsend(buffer, m->bytes, MPI_BYTE, to, m->tag, c); open = 0; break;
    case ISEND: MPI_Isend(buffer, m->bytes, MPI_BYTE, to, m->tag, c, request); break;
    case IBSEND: MPI_Ibsend(buffer, m->bytes, MPI_BYTE, to, m->tag, c, request); break;
    case ISSEND: MPI_Issend(buffer, m->bytes, MPI_BYTE, to, m->tag, c, request); break;
    case IRSEND: MPI_Irsend(buffer, m->bytes, MPI_BYTE, to, m->tag, c, request); break;
    case SEND_INIT:
        MPI_Send_init(buffer, m->bytes, MPI_BYTE, to, m->tag, c, request);
        MPI_Start(request);
        *persistent = 1;
        break;
    default:
        MPI_Isend(buffer, m->bytes, MPI_BYTE, to, m->tag, c, request);
        MPI_Request_free(request);
        open = 0;
    }
    return open;
}

static void receive_late(struct message *m, char *buffer)
{
    MPI_Comm c = comms[m->comm];
    int source = m->any ? MPI_ANY_SOURCE : rank_in(m->comm, m->from);
    int tag = m->comm == WILD ? MPI_ANY_TAG : m->tag, flag = 0, order, count;
    MPI_Status status;
    MPI_Message handle;
    MPI_Request request;
    switch (m->recv) {
    case RECV:
        order = post();
        if (m->tag >= UNIQUE && draw(2)) {
            MPI_Recv(buffer, largest, MPI_BYTE, source, tag, c, MPI_STATUS_IGNORE);
            note_receive(order, m->comm, source, tag, m->bytes);
            return;
        }
        MPI_Recv(buffer, largest, MPI_BYTE, source, tag, c, &status);
        break;
    case MRECV:
        MPI_Mprobe(source, tag, c, &handle, &status);
        probes++;
        order = post();
        note_status(order, m->comm, &status);
        MPI_Mrecv(buffer, largest, MPI_BYTE, &handle, MPI_STATUS_IGNORE);
        return;
    case IMRECV:
        while (!flag)
            MPI_Improbe(source, tag, c, &flag, &handle, MPI_STATUS_IGNORE);
        probes++;
        order = post();
        MPI_Imrecv(buffer, largest, MPI_BYTE, &handle, &request);
        MPI_Wait(&request, &status);
        break;
    default:
        if (m->recv == PROBE)
            MPI_Probe(source, tag, c, &status);
        else
            while (!flag)
                MPI_Iprobe(source, tag, c, &flag, &status);
        probes++;
        order = post();
        MPI_Get_count(&status, MPI_BYTE, &count);
        MPI_Recv(buffer, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, c, &status);
    }
    note_status(order, m->comm, &status);
}

static void post_early(struct message *m, char *buffer, struct receive *r)
{
    int source = m->any ? MPI_ANY_SOURCE : rank_in(m->comm, m->from);
    int tag = m->comm == WILD ? MPI_ANY_TAG : m->tag;
    *r = (struct receive){ .comm = m->comm, .known = m->tag >= UNIQUE, .source = source, .tag = tag, .bytes = m->bytes };
    r->persistent = m->recv == RECV_INIT;
    if (r->persistent)
        MPI_Recv_init(buffer, largest, MPI_BYTE, source, tag, comms[m->comm], &r->request);
    else
        MPI_Irecv(buffer, largest, MPI_BYTE, source, tag, comms[m->comm], &r->request);
    r->order = post();
    if (r->persistent)
        MPI_Start(&r->request);
}

/* Completes requests in one of eight ways; `of` says which of them are receives. */
static void finish(int n, MPI_Request *all, struct receive **of, int ignore)
{
    MPI_Status statuses[3 * MOST], status;
    int indices[3 * MOST], left = n, index, count, flag = 0;
    MPI_Status *many = ignore ? MPI_STATUSES_IGNORE : statuses, *one = ignore ? MPI_STATUS_IGNORE : &status;
#define DONE(i, s) \
    if (of[i]) { if (ignore) note_receive(of[i]->order, of[i]->comm, of[i]->source, of[i]->tag, of[i]->bytes); \
                 else note_status(of[i]->order, of[i]->comm, s); }
    switch (draw(8)) {
    case 0:
        MPI_Waitall(n, all, many);
        for (int i = 0; i < n; i++)
            DONE(i, &statuses[i]);
        break;
    case 1:
        while (!flag)
            MPI_Testall(n, all, &flag, many);
        for (int i = 0; i < n; i++)
            DONE(i, &statuses[i]);
        break;
    case 2:
        for (; left; left--) {
            MPI_Waitany(n, all, &index, one);
            DONE(index, &status);
        }
        break;
    case 3:
        while (left) {
            MPI_Testany(n, all, &index, &flag, one);
            if (flag) {
                DONE(index, &status);
                left--;
            }
        }
        break;
    case 4:
        for (; left; left -= count) {
            MPI_Waitsome(n, all, &count, indices, many);
            for (int i = 0; i < count; i++)
                DONE(indices[i], &statuses[i]);
        }
        break;
    case 5:
        for (; left; left -= count) {
            MPI_Testsome(n, all, &count, indices, many);
            for (int i = 0; i < count; i++)
                DONE(indices[i], &statuses[i]);
        }
        break;
    case 6:
        for (int i = n - 1; i >= 0; i--) {
            int looked = draw(2);
            for (flag = 0; looked && !flag;)
                MPI_Request_get_status(all[i], &flag, one);
            /* MPICH 5 returns an empty status from here on if the request is persistent. */
            for (flag = 0; !flag;)
                MPI_Test(&all[i], &flag, looked ? MPI_STATUS_IGNORE : one);
            DONE(i, &status);
        }
        break;
    default:
        for (int i = 0; i < n; i++) {
            MPI_Wait(&all[i], one);
            DONE(i, &status);
        }
    }
}

static void round_of_messages(void)
{
    struct message plan[MOST];
    struct receive early[MOST], *of[3 * MOST];
    MPI_Request all[3 * MOST];
    int permanent[3 * MOST], n = 0, posted = 0;
    for (int i = 0; i < MOST; i++)
        plan[i] = draw_message(i);
    /* From here on each rank draws from its own random state, which is restored at the end. */
    uint64_t common = random_state;
    random_state += (uint64_t)(rank + 1) * 0x9e3779b97f4a7c15ull;
    for (int i = 0; i < MOST; i++)
        if (plan[i].to == rank && plan[i].recv < POSTED)
            post_early(&plan[i], space[i], &early[posted++]);
    barrier();
    for (int i = 0; i < MOST; i++)
        if (plan[i].from == rank && send_one(&plan[i], space[MOST + i], &all[n], &permanent[n]))
            of[n++] = NULL;
    for (int i = 0; i < MOST; i++)
        if (plan[i].to == rank && plan[i].recv >= POSTED)
            receive_late(&plan[i], space[2 * MOST + i]);
    /* Receives of a known message may be completed without a status. */
    for (int known = 1; known >= 0; known--) {
        if (!known)
            n = 0;
        for (int i = 0; i < posted; i++)
            if (early[i].known == known) {
                all[n] = early[i].request;
                permanent[n] = early[i].persistent;
                of[n++] = &early[i];
            }
        MPI_Request copies[3 * MOST];
        memcpy(copies, all, sizeof copies);
        finish(n, all, of, known);
        for (int i = 0; i < n; i++)
            if (permanent[i])
                MPI_Request_free(&copies[i]);
    }
    random_state = common;
    barrier();
}

/* Receives without a sender. */
static void cancel_some(void)
{
    char buffer[8];
    MPI_Request request;
    MPI_Status status;
    int flag;
    MPI_Irecv(buffer, 8, MPI_BYTE, draw(2) ? MPI_ANY_SOURCE : (int)draw(size), 7777, comms[WORLD], &request);
    post();
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    cancelled += flag;
}

/* Around the ring, and with MPI_PROC_NULL. */
static void exchange(void)
{
    static char out[64], in[64];
    MPI_Status status;
    MPI_Request request;
    int right = (rank + 1) % size, left = (rank + size - 1) % size, n = draw(64);
    note_send(WORLD, right, 50, n);
    int order = post();
    MPI_Sendrecv(out, n, MPI_BYTE, right, 50, in, 64, MPI_BYTE, MPI_ANY_SOURCE, 50, comms[WORLD], &status);
    note_status(order, WORLD, &status);
    note_send(WORLD, left, 51, n);
    order = post();
    MPI_Sendrecv_replace(in, n, MPI_BYTE, left, 51, right, 51, comms[WORLD], MPI_STATUS_IGNORE);
    note_receive(order, WORLD, right, 51, n);
    MPI_Send(out, n, MPI_BYTE, MPI_PROC_NULL, 1, comms[WORLD]);
    MPI_Recv(in, n, MPI_BYTE, MPI_PROC_NULL, 1, comms[WORLD], MPI_STATUS_IGNORE);
    MPI_Isend(out, n, MPI_BYTE, MPI_PROC_NULL, 1, comms[WORLD], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(in, n, MPI_BYTE, MPI_PROC_NULL, 1, comms[WORLD], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifdef HAVE_ISENDRECV
    /* Fewer bytes than the buffer holds: only Open MPI reports how many arrived. */
    note_send(WORLD, right, 52, n);
    order = post();
    MPI_Isendrecv(out, n, MPI_BYTE, right, 52, in, 64, MPI_BYTE, left, 52, comms[WORLD], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
#ifdef OPEN_MPI
    note_receive(order, WORLD, left, 52, n);
#else
    note_receive(order, WORLD, left, 52, UNKNOWN);
#endif
#endif
}

#ifdef ABANDON
/* Receives that are freed before their message arrives: another receive gets a later message, which proves that they got theirs. */
static void abandon(void)
{
    static char out[8], in[3][8];
    static const int tags[] = { 53, 54 };
    MPI_Request request;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < 2; i++) {
        int abandoned = post();
        MPI_Irecv(in[i], 8, MPI_BYTE, left, tags[i], comms[WORLD], &request);
        MPI_Request_free(&request);
        barrier();
        for (int nth = 0; nth < 2; nth++) {
            note_send(WORLD, right, tags[i], 8);
            MPI_Send(out, 8, MPI_BYTE, right, tags[i], comms[WORLD]);
        }
        if (i) {
            MPI_Probe(left, tags[i], comms[WORLD], MPI_STATUS_IGNORE);
            probes++;
        }
        int order = post();
        MPI_Recv(in[2], 8, MPI_BYTE, left, tags[i], comms[WORLD], MPI_STATUS_IGNORE);
        note_receive(abandoned, WORLD, left, tags[i], UNKNOWN);
        note_receive(order, WORLD, left, tags[i], 8);
    }
}
#endif

#ifdef HAVE_PARTITIONED
static void partitions(void)
{
    enum { PARTS = 4, EACH = 100 };
    static char out[PARTS * EACH], in[PARTS * EACH];
    MPI_Request request[2];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, flag;
    MPI_Psend_init(out, PARTS, EACH, MPI_BYTE, right, 60, comms[WORLD], MPI_INFO_NULL, &request[0]);
    MPI_Precv_init(in, PARTS, EACH, MPI_BYTE, left, 60, comms[WORLD], MPI_INFO_NULL, &request[1]);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Startall(2, request);
        note_send(WORLD, right, 60, PARTS * EACH);
        int order = post();
        MPI_Pready(3, request[0]);
        MPI_Pready_range(0, 2, request[0]);
        ready += PARTS;
        for (flag = 0; !flag;)
            MPI_Parrived(request[1], 1, &flag);
        arrived++;
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        note_receive(order, WORLD, left, 60, PARTS * EACH);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
}
#endif

static void collect(void)
{
    int in = 1, out;
    MPI_Request request;
    MPI_Bcast(&in, 1, MPI_INT, draw(size), comms[REVERSED]);
    MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comms[REVERSED], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    collectives[REVERSED] += 2;
}

static void write_image(const char *name)
{
    char path[64], target[256], *block = malloc(1 << 20);
    for (int fd = 3; fd < 4096; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t len = readlink(path, target, sizeof target - 1);
        if (len < 0)
            continue;
        target[len] = 0;
        if (strncmp(target, "/memfd:mpiscope:", 16) != 0)
            continue;
        int from = open(path, O_RDONLY), to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        for (ssize_t n; (n = read(from, block, 1 << 20)) > 0;)
            if (write(to, block, n) != n)
                abort();
        close(to);
        close(from);
    }
    free(block);
}

static void write_ledger(const char *name)
{
    FILE *file = fopen(name, "w");
    if (!file)
        abort();
    for (int i = 0; i < COMMS; i++)
        if (comms[i] != MPI_COMM_NULL)
            fprintf(file, "comm %s %llu %ld\n", names[i], (unsigned long long)name_of(comms[i]), collectives[i]);
    for (long i = 0; i < sends; i++)
        fprintf(file, "send %llu %d %d %ld\n", (unsigned long long)sent[i].comm, sent[i].peer, sent[i].tag, sent[i].bytes);
    for (long i = 0; i < receives; i++)
        if (received[i].bytes != NONE)
            fprintf(file, "recv %llu %d %d %ld\n", (unsigned long long)received[i].comm, received[i].peer,
                    received[i].tag, received[i].bytes);
    fprintf(file, "cancelled %ld\nprobes %ld\nready %ld\narrived %ld\nposted %ld\n", cancelled, probes, ready, arrived, receives);
    fclose(file);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : 5, provided;
    if (argc > 3)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    random_state = argc > 1 ? strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15ull + 1 : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm local;
    comms[WORLD] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[WILD]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comms[REVERSED]);
    MPI_Comm_split(MPI_COMM_WORLD, rank < size / 2, 0, &local);
    comms[HALVES] = MPI_COMM_NULL;
    collectives[WORLD] = 3;
    if (size > 1)
        MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank < size / 2 ? size / 2 : 0, 5, &comms[HALVES]);
    for (int i = 0; i < 3 * MOST; i++)
        space[i] = calloc(largest, 1);
    attached = malloc(MOST * (BUFFERED + MPI_BSEND_OVERHEAD));
    MPI_Buffer_attach(attached, MOST * (BUFFERED + MPI_BSEND_OVERHEAD));
    for (int i = 0; i < rounds; i++) {
        round_of_messages();
        cancel_some();
        exchange();
#ifdef ABANDON
        abandon();
#endif
        collect();
#ifdef HAVE_PARTITIONED
        partitions();
#endif
        barrier();
    }
    /* The last request of all: its record is not reused. */
    cancel_some();
    const char *out = getenv("TRAFFIC_OUT");
    if (out) {
        char name[4096];
        snprintf(name, sizeof name, "%s.%d", out, rank);
        write_ledger(name);
        snprintf(name, sizeof name, "%s.%d.image", out, rank);
        write_image(name);
    }
    int ignored;
    MPI_Buffer_detach(&attached, &ignored);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
