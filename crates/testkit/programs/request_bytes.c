/*
 * Messages sent and received with requests, whose bytes each rank knows:
 * request_bytes DIRECTORY. Each rank then idles until DIRECTORY/go exists.
 *
 * Each rank writes DIRECTORY/bytes.RANK: one line per function with its name, the bytes sent and the bytes received. The
 * bytes of a request count for the function that created it; for a persistent request, for the function that started it.
 */
#include <mpi.h>
#include <stdio.h>
#include "stand.h"

#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define HAVE_MPI_4_PARTS 1
#else
#define HAVE_MPI_4_PARTS 0
#endif

enum { ROOM = 1000, ROUNDS = 3 };

static int out[ROOM], in[ROOM], next, before;
static FILE *file;

static void knows(const char *name, int sent, int received)
{
    fprintf(file, "%s %zu %zu\n", name, sent * sizeof(int), received * sizeof(int));
}

static void persistent(MPI_Comm comm)
{
    MPI_Request requests[2];
    MPI_Send_init(out, 30, MPI_INT, next, 1, comm, &requests[0]);
    MPI_Recv_init(in, ROOM, MPI_INT, before, 1, comm, &requests[1]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&requests[1]);
    MPI_Start(&requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#if HAVE_MPI_4_PARTS
    MPI_Psend_init(out, 4, 25, MPI_INT, next, 2, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 4, 25, MPI_INT, before, 2, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Start(&requests[1]);
    MPI_Startall(1, requests);
    MPI_Pready_range(0, 3, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    knows("MPI_Startall", 30 * ROUNDS + 100, 30 * ROUNDS);
    knows("MPI_Start", 30, 30 + 100);
#else
    knows("MPI_Startall", 30 * ROUNDS, 30 * ROUNDS);
    knows("MPI_Start", 30, 30);
#endif
}

int main(int argc, char **argv)
{
    char path[4096];
    int rank, size;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    snprintf(path, sizeof path, "%s/bytes.%d", argv[argc - 1], rank);
    file = fopen(path, "w");
    if (!file)
        MPI_Abort(comm, 1);
    next = (rank + 1) % size;
    before = (rank + size - 1) % size;
    persistent(comm);
    MPI_Irecv(in, ROOM, MPI_INT, before, 3, comm, &requests[0]);
    MPI_Isend(out, 50, MPI_INT, next, 3, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    knows("MPI_Irecv", 0, 50);
    knows("MPI_Isend", 50, 0);
    MPI_Sendrecv(out, 40, MPI_INT, next, 4, in, ROOM, MPI_INT, before, 4, comm, MPI_STATUS_IGNORE);
    knows("MPI_Sendrecv", 40, 40);
    MPI_Sendrecv_replace(out, 41, MPI_INT, next, 4, before, 4, comm, MPI_STATUS_IGNORE);
    knows("MPI_Sendrecv_replace", 41, 41);
#if HAVE_MPI_4_PARTS
    /* MPICH does not report how much it received. */
    MPI_Isendrecv(out, 10, MPI_INT, next, 5, in, 50, MPI_INT, before, 5, comm, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    knows("MPI_Isendrecv", 10, MPI_VERSION >= 4 ? 0 : 10);
    MPI_Isendrecv_replace(out, 20, MPI_INT, next, 6, before, 6, comm, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    knows("MPI_Isendrecv_replace", 20, MPI_VERSION >= 4 ? 0 : 20);
#endif
    fclose(file);
    say(argv[argc - 1], "ready", rank);
    wait_for(argv[argc - 1], "go");
    MPI_Finalize();
    return 0;
}
