/* Programs that run in steps controlled by a test. Every process creates a file DIR/pid.PID; a step ends when the test
 * creates the file DIR/go.STEP; rank 0 of the first world prints "at STEP" when all its processes have arrived. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *dir;

static void arrive(const char *who)
{
    char path[4096];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/pid.%d", dir, (int)getpid());
    FILE *file = fopen(path, "w");
    fprintf(file, "%s %d\n", who, rank);
    fclose(file);
}

static void wait_for(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    for (int i = 0; i < 60000 && access(path, F_OK); i++)
        usleep(2000);
}

/* All processes of the caller's world take part. */
static void step(const char *name, int number)
{
    char file[64];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        char path[4096], done[4096];
        snprintf(path, sizeof path, "%s/.%s.%d", dir, name, number);
        snprintf(done, sizeof done, "%s/at.%s.%d", dir, name, number);
        fclose(fopen(path, "w"));
        rename(path, done);
    }
    snprintf(file, sizeof file, "go.%d", number);
    wait_for(file);
}
