// Threads with different roles, to be inspected from inside and from outside: `thread_roles DIR`.
// The first thread that calls MPI only makes queries (MPI_Initialized, MPI_T); a second one initializes MPI and communicates. At
// each stage the first one writes our unbound performance variables to DIR/STAGE.RANK, creates DIR/ready.STAGE.RANK, waits for
// DIR/go.STAGE, and writes them again to DIR/STAGE.RANK.after. Stages: blocked (the second thread is in MPI_Recv), left (outside
// MPI, after MPI_Barrier), polling (in a loop over MPI_Iprobe).
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "own_variables.h"
#include "stand.h"

enum { BLOCKED = 4, POLLING = 9 };

static int rank, peer;
static volatile int begun, sent, left, stop, answered;

static void until_state(int wanted) {
    for (int n = 0; n < number; n++)
        for (int i = 0, state = -1; i < 3000 && strcmp(variables[n].name, "mpiscope_state") == 0 && state != wanted; i++) {
            MPI_T_pvar_read(session, variables[n].handle, &state);
            usleep(10000);
        }
}

static void stage(const char *dir, const char *name) {
    char file[64];
    write_all(dir, name, rank, "");
    snprintf(file, sizeof file, "ready.%s", name);
    say(dir, file, rank);
    snprintf(file, sizeof file, "go.%s", name);
    wait_for(dir, file);
    write_all(dir, name, rank, ".after");
}

static void *communicate(void *unused) {
    int provided, size, value, flag = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE)
        MPI_Abort(MPI_COMM_WORLD, 98);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    peer = rank ^ 1;
    begun = 1;
    MPI_Recv(&value, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!sent)
        usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    left = 1;
    while (!stop)
        usleep(1000);
    while (!flag)
        MPI_Iprobe(peer, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    // The peer's message may arrive before the first thread has sent ours, which must be sent before MPI_Finalize.
    while (!answered)
        usleep(1000);
    MPI_Finalize();
    return unused;
}

int main(int argc, char **argv) {
    const char *dir = argv[argc - 1];
    int flag, value = 7;
    pthread_t thread;
    start_all();
    MPI_Initialized(&flag);
    pthread_create(&thread, NULL, communicate, NULL);
    while (!begun)
        usleep(1000);
    until_state(BLOCKED);
    stage(dir, "blocked");
    MPI_Send(&value, 1, MPI_INT, peer, 5, MPI_COMM_WORLD);
    sent = 1;
    while (!left)
        usleep(1000);
    stage(dir, "left");
    stop = 1;
    until_state(POLLING);
    stage(dir, "polling");
    MPI_Send(&value, 1, MPI_INT, peer, 6, MPI_COMM_WORLD);
    answered = 1;
    pthread_join(thread, NULL);
    return 0;
}
