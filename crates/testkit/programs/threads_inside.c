// Several threads in MPI at once: `threads_inside THREADS END DIR`.
// The thread that initializes MPI starts THREADS others, each of which waits in MPI_Recv for its own message. It creates
// DIR/started.RANK and waits for DIR/look. Then it writes our unbound performance variables to DIR/inside.RANK, creates
// DIR/ready.inside.RANK, waits for DIR/go, and writes them again to DIR/inside.RANK.after. END is `exit`: the process ends with the
// threads in their calls; or `finalize`: they get their messages first.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "own_variables.h"
#include "stand.h"

enum { MOST_THREADS = 64, TAG = 100 };

static int rank, peer;

static void *inside(void *number) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, peer, TAG + (int) (long) number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv) {
    const char *dir = argv[argc - 1];
    int threads = atoi(argv[1]), provided, value = 7;
    pthread_t made[MOST_THREADS];
    start_all();
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE || threads > MOST_THREADS)
        MPI_Abort(MPI_COMM_WORLD, 98);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    peer = rank ^ 1;
    for (long i = 0; i < threads; i++)
        pthread_create(&made[i], NULL, inside, (void *) i);
    say(dir, "started", rank);
    wait_for(dir, "look");
    write_all(dir, "inside", rank, "");
    say(dir, "ready.inside", rank);
    wait_for(dir, "go");
    write_all(dir, "inside", rank, ".after");
    say(dir, "ready.after", rank);
    wait_for(dir, "end");
    if (strcmp(argv[2], "exit") == 0)
        _exit(3);
    for (int i = 0; i < threads; i++)
        MPI_Send(&value, 1, MPI_INT, peer, TAG + i, MPI_COMM_WORLD);
    for (int i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
    MPI_Finalize();
    return 0;
}
