/* Bytes: what this process moved, sent and received, by the variable mpiscope_bytes. With an even number of ranks. */
#include "tinfo.h"

#define ROOM 4096

static struct gauge total;

static long long moved(void)
{
    static long long before;
    long long now = gauge_read(&total) == MPI_SUCCESS ? (long long) *(unsigned long long *) total.buffer : -1;
    long long difference = now - before;
    before = now;
    return difference;
}

static void is(const char *label, long long expected, const char *sentence)
{
    long long seen = moved();
    CHECKF(label, seen == expected, sentence, "%lld, not %lld", seen, expected);
}

static void alone(void)
{
    static char out[ROOM], in[ROOM];
    MPI_T_pvar_session session;
    MPI_Request requests[2];
    MPI_Status status;
    struct pvar p;
    if (conform_phase != BETWEEN || conform_size % 2)
        return;
    int other = conform_rank ^ 1, first = conform_rank < other;
    MPI_T_pvar_session_create(&session);
    if (!CHECK("MB-1", pvar_find("mpiscope_bytes", MPI_T_PVAR_CLASS_AGGREGATE, &p) && gauge_open(&total, session, &p, NULL),
               "the variable is there"))
        return;
    MPI_T_pvar_start(session, total.handle);
    moved();
    MPI_Sendrecv(out, 1000, MPI_CHAR, other, 1, in, ROOM, MPI_CHAR, other, 1, MPI_COMM_WORLD, &status);
    is("MB-2", 2000, "a send and receive moves what it sends and what it receives");
    if (first)
        MPI_Send(out, 10, MPI_CHAR, other, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(in, ROOM, MPI_CHAR, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    is("MB-3", 10, "a receive moves what arrives, not what there is room for");
    MPI_Send(out, 100, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
    MPI_Recv(in, 100, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    MPI_Sendrecv(out, 7, MPI_CHAR, MPI_PROC_NULL, 3, in, 7, MPI_CHAR, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    is("MB-4", 0, "nothing moves to or from MPI_PROC_NULL");
    MPI_Send_init(out, 50, MPI_CHAR, other, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(in, ROOM, MPI_CHAR, other, 4, MPI_COMM_WORLD, &requests[1]);
    is("MB-5", 0, "initialising a persistent operation moves nothing");
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    is("MB-6", 300, "each start of a persistent operation moves its message");
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Irecv(in, ROOM, MPI_CHAR, other, 5, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, 33, MPI_CHAR, other, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    is("MB-7", 66, "nonblocking operations move what they send and what arrives");
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
