// Variables bound to objects, to be inspected from inside and from outside: `bound_values DIR`, with two ranks. Of three
// messages on the communicator "grid", rank 1 has a receive for one and has probed another; on "halves" both have started
// their sides of a partitioned message. Rank 1 writes MPI_T_UMQ_LENGTH of both to DIR/length, and both create
// DIR/ready.RANK and wait for DIR/go.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include "stand.h"

static int length(MPI_Comm comm) {
    int provided, index, count, value = -1;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_pvar_get_index("MPI_T_UMQ_LENGTH", MPI_T_PVAR_CLASS_LEVEL, &index) != MPI_SUCCESS)
        return value;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count);
    MPI_T_pvar_start(session, handle);
    MPI_T_pvar_read(session, handle, &value);
    MPI_T_pvar_session_free(&session);
    return value;
}

// Both sides of a partitioned message are started, and no partition is ready.
static void start_halves(MPI_Comm halves, int rank, MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
#if MPI_VERSION >= 4
    static int parts[2];
    if (rank == 0)
        MPI_Psend_init(parts, 2, 1, MPI_INT, 1, 5, halves, MPI_INFO_NULL, request);
    else
        MPI_Precv_init(parts, 2, 1, MPI_INT, 0, 5, halves, MPI_INFO_NULL, request);
    MPI_Start(request);
#endif
    (void)halves, (void)rank;
}

static void end_halves(int rank, MPI_Request *request) {
#if MPI_VERSION >= 4
    if (rank == 0)
        MPI_Pready_range(0, 1, *request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Request_free(request);
#endif
    (void)rank, (void)request;
}

int main(int argc, char **argv) {
    int rank, word = 0, other = 0, *memory;
    char path[4096];
    const char *dir = argv[argc - 1];
    MPI_Comm grid, halves;
    MPI_Win window;
    MPI_Request requests[2], partitioned;
    MPI_Message message;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &grid);
    MPI_Comm_set_name(grid, "grid");
    MPI_Comm_dup(MPI_COMM_WORLD, &halves);
    MPI_Comm_set_name(halves, "halves");
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, grid, &memory, &window);
    MPI_Win_set_name(window, "board");
    MPI_Win_fence(0, window);
    if (rank == 0)
        MPI_Put(&word, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    if (rank == 0) {
        for (int tag = 1; tag <= 3; tag++)
            MPI_Send(&word, 1, MPI_INT, 1, tag, grid);
    } else {
        MPI_Irecv(&word, 1, MPI_INT, 0, 9, grid, &requests[0]);
        MPI_Irecv(&other, 1, MPI_INT, 0, 2, grid, &requests[1]);
        MPI_Mprobe(0, 1, grid, &message, MPI_STATUS_IGNORE);
    }
    start_halves(halves, rank, &partitioned);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        snprintf(path, sizeof path, "%s/length", dir);
        FILE *file = fopen(path, "w");
        fprintf(file, "%d %d", length(grid), length(halves));
        fclose(file);
    }
    say(dir, "ready", rank);
    wait_for(dir, "go");
    if (rank == 0) {
        MPI_Send(&word, 1, MPI_INT, 1, 9, grid);
    } else {
        MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        MPI_Recv(&word, 1, MPI_INT, 0, 3, grid, MPI_STATUS_IGNORE);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    end_halves(rank, &partitioned);
    MPI_Win_free(&window);
    MPI_Comm_free(&halves);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
