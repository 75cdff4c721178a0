/* A random correct program with one mistake in it: `mutated SEED MISTAKE`.
 *
 * All ranks draw the same steps from the seed: messages between two ranks in several forms, shifts around the
 * ring, nonblocking exchanges with both neighbors, messages of all to one, collectives on one of two
 * communicators and on those of the even and odd ranks, fences, and locks. One rank makes the mistake in one
 * step; rank 0 prints which. Every message has the number of its step as tag. Most are sent
 * synchronously, so that an unreceived message has an effect.
 * Mistakes: none, tag, destination, source, no_send, no_receive, one_send, one_receive, no_collective, function,
 * communicator, root, no_unlock.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS 24
#define MOST 16

static int rank, size;
static uint64_t state;
static MPI_Comm comms[2], parity;
static MPI_Win window, fenced;
static int cells[MOST], others[MOST];

static int below(int end)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 33) % (uint64_t)end);
}

enum kind { MESSAGE, SHIFT, EXCHANGE, COLLECT, LOCK, FENCE, PARITY, BARRIER, IBARRIER, BCAST, REDUCE, GATHER, ALLREDUCE, KINDS };
/* How a message is sent and received. */
enum form { BLOCKING, NONBLOCKING, PROBED, PERSISTENT, EAGER, FORMS };


struct step {
    enum kind kind;
    enum form form;
    int from, to, comm;
};

static int is(const char *mistake, const char *name)
{
    return !strcmp(mistake, name);
}

/* The steps in which the mistake can be made. */
static int fits(const char *mistake, const struct step *step)
{
    if (is(mistake, "destination") || is(mistake, "source"))
        return step->kind == MESSAGE && size > 2;
    if (is(mistake, "tag") || is(mistake, "no_send") || is(mistake, "no_receive"))
        return step->kind == MESSAGE;
    if (is(mistake, "one_send"))
        return step->kind == EXCHANGE || step->kind == COLLECT;
    if (is(mistake, "one_receive"))
        return step->kind == EXCHANGE;
    if (is(mistake, "no_unlock"))
        return step->kind == LOCK;
    if (is(mistake, "no_collective"))
        return step->kind >= FENCE;
    if (is(mistake, "root"))
        return step->kind == BCAST || step->kind == REDUCE || step->kind == GATHER;
    return step->kind >= BARRIER;
}

static void transmit(enum form form, int *value, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;
    switch (form) {
    case NONBLOCKING:
        MPI_Issend(value, 1, MPI_INT, to, tag, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case PERSISTENT:
        MPI_Ssend_init(value, 1, MPI_INT, to, tag, comm, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        break;
    case EAGER:
        MPI_Send(value, 1, MPI_INT, to, tag, comm);
        break;
    default:
        MPI_Ssend(value, 1, MPI_INT, to, tag, comm);
    }
}

static void receive(enum form form, int *value, int from, int tag, MPI_Comm comm)
{
    MPI_Request request;
    switch (form) {
    case NONBLOCKING:
        MPI_Irecv(value, 1, MPI_INT, from, tag, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case PROBED:
        MPI_Probe(from, tag, comm, MPI_STATUS_IGNORE);
        MPI_Recv(value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
        break;
    case PERSISTENT:
        MPI_Recv_init(value, 1, MPI_INT, from, tag, comm, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
        break;
    default:
        MPI_Recv(value, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
    }
}

/* With both neighbors at once. */
static void exchange(int tag, MPI_Comm comm, const char *mistake)
{
    int left = (rank + size - 1) % size, right = (rank + 1) % size, out = rank, in[2], count = 0;
    MPI_Request requests[4];
    MPI_Irecv(&in[0], 1, MPI_INT, left, tag, comm, &requests[count++]);
    if (!is(mistake, "one_receive"))
        MPI_Irecv(&in[1], 1, MPI_INT, right, tag, comm, &requests[count++]);
    MPI_Issend(&out, 1, MPI_INT, right, tag, comm, &requests[count++]);
    if (!is(mistake, "one_send"))
        MPI_Issend(&out, 1, MPI_INT, left, tag, comm, &requests[count++]);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

/* All send to one, which receives in any order. */
static void collect(int root, int tag, MPI_Comm comm, const char *mistake)
{
    int value = rank;
    if (rank != root && !is(mistake, "one_send"))
        MPI_Send(&value, 1, MPI_INT, root, tag, comm);
    for (int i = 1; i < size && rank == root; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, MPI_STATUS_IGNORE);
}

/* The rank whose lock this one has kept, or -1. */
static int kept = -1;

static void lock(int owner, const char *mistake)
{
    if (owner == kept)
        return;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, owner, 0, window);
    MPI_Put(&rank, 1, MPI_INT, owner, rank, 1, MPI_INT, window);
    if (is(mistake, "no_unlock")) {
        MPI_Win_flush(owner, window);
        kept = owner;
    } else {
        MPI_Win_unlock(owner, window);
    }
}

static void message(const struct step *step, int tag, const char *mistake)
{
    int value = tag, to = step->to, from = step->from;
    if (is(mistake, "destination"))
        to = (to + 1) % size == step->from ? (to + 2) % size : (to + 1) % size;
    if (is(mistake, "source"))
        from = (from + 1) % size == step->to ? (from + 2) % size : (from + 1) % size;
    MPI_Comm comm = comms[is(mistake, "communicator") ? 1 - step->comm : step->comm];
    if (rank == step->from && !is(mistake, "no_send"))
        transmit(step->form, &value, to, is(mistake, "tag") ? tag + 1000 : tag, comm);
    if (rank == step->to && !is(mistake, "no_receive"))
        receive(step->form, &value, from, tag, comm);
}

static void perform(const struct step *step, int tag, const char *mistake)
{
    int value = rank, sum, all[MOST], root = is(mistake, "root") ? (step->from + 1) % size : step->from;
    MPI_Request request;
    MPI_Comm comm = comms[is(mistake, "communicator") ? 1 - step->comm : step->comm];
    enum kind kind = step->kind;
    if (is(mistake, "no_collective"))
        return;
    if (is(mistake, "function"))
        kind = kind == BARRIER ? ALLREDUCE : BARRIER;
    switch (kind) {
    case MESSAGE:
        message(step, tag, mistake);
        break;
    case SHIFT:
        MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, tag, &sum, 1, MPI_INT, (rank + size - 1) % size, tag, comm,
                     MPI_STATUS_IGNORE);
        break;
    case EXCHANGE:
        exchange(tag, comm, mistake);
        break;
    case COLLECT:
        collect(step->from, tag, comm, mistake);
        break;
    case LOCK:
        lock(step->from, mistake);
        break;
    case FENCE:
        MPI_Win_fence(0, fenced);
        break;
    case PARITY:
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, parity);
        break;
    case BARRIER:
        MPI_Barrier(comm);
        break;
    case IBARRIER:
        MPI_Ibarrier(comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    case BCAST:
        MPI_Bcast(&value, 1, MPI_INT, root, comm);
        break;
    case REDUCE:
        MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, root, comm);
        break;
    case GATHER:
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, root, comm);
        break;
    default:
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    }
}

int main(int argc, char **argv)
{
    alarm(90);
    const char *mistake = argc > 2 ? argv[2] : "none";
    int seed = argc > 1 ? atoi(argv[1]) : 1, wrong = -1, which = -1;
    struct step steps[STEPS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &parity);
    MPI_Win_create(cells, sizeof cells, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_create(others, sizeof others, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &fenced);
    MPI_Win_fence(0, fenced);
    MPI_Comm_set_name(comms[0], "first");
    MPI_Comm_set_name(comms[1], "second");
    MPI_Comm_set_name(parity, rank % 2 ? "odd" : "even");
    state = 0x9e3779b97f4a7c15u * (uint64_t)(seed + 1);
    for (int i = 0; i < STEPS; i++) {
        steps[i].kind = (enum kind)below(KINDS);
        steps[i].form = (enum form)below(FORMS);
        steps[i].from = below(size);
        steps[i].to = (steps[i].from + 1 + below(size - 1)) % size;
        steps[i].comm = below(2);
    }
    for (int tries = 0; tries < 1000 && !is(mistake, "none") && which < 0; tries++) {
        int at = below(STEPS);
        if (fits(mistake, &steps[at]))
            which = at;
    }
    if (which >= 0) {
        int receives = is(mistake, "source") || is(mistake, "no_receive");
        wrong = steps[which].kind != MESSAGE ? below(size) : receives ? steps[which].to : steps[which].from;
        if (steps[which].kind == COLLECT && wrong == steps[which].from)
            wrong = (wrong + 1) % size;
    }
    if (rank == 0 && which >= 0)
        fprintf(stderr, "the mistake is made by rank %d in step %d\n", wrong, which);
    for (int i = 0; i < STEPS; i++)
        perform(&steps[i], i, i == which && rank == wrong ? mistake : "none");
    /* No rank leaves before all are done. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (kept >= 0)
        MPI_Win_unlock(kept, window);
    MPI_Win_fence(0, fenced);
    MPI_Win_free(&fenced);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
