/*
 * Stops four times to be queried: before any MPI call, after one that is allowed before MPI_Init, between MPI_Init and
 * MPI_Finalize, after MPI_Finalize. At each stop it writes a file with its handles and waits until the file is removed.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORD(h) ((unsigned long long)(sizeof(h) == 4 ? (unsigned)(uintptr_t)(h) : (uintptr_t)(h)))

static MPI_Comm mine, other;
static MPI_Datatype type;

static void stop(const char *phase) {
    char name[64];
    snprintf(name, sizeof name, "%s.making", phase);
    FILE *file = fopen(name, "w");
    fprintf(file, "pid number %d\nworld comm %#llx\nint datatype %#llx\n", (int)getpid(), WORD(MPI_COMM_WORLD), WORD(MPI_INT));
    fprintf(file, "other comm %#llx\nmine comm %#llx\ntype datatype %#llx\n", WORD(other), WORD(mine), WORD(type));
    fclose(file);
    rename(name, phase);
    for (int i = 0; i < 3000 && access(phase, F_OK) == 0; i++)
        usleep(20000);
}

int main(int argc, char **argv) {
    int flag;
    MPI_Comm freed;
    MPI_Datatype gone;
    if (argc < 2 || chdir(argv[1]) != 0)
        return 3;
    memset(&mine, 0x5a, sizeof mine);
    memset(&other, 0x5a, sizeof other);
    memset(&type, 0x5a, sizeof type);
    stop("unborn");
    MPI_Initialized(&flag);
    stop("before");
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Type_contiguous(3, MPI_INT, &type);
    stop("between");
    freed = mine;
    gone = type;
    MPI_Comm_free(&freed);
    freed = other;
    MPI_Comm_free(&freed);
    MPI_Type_free(&gone);
    MPI_Finalize();
    stop("after");
    return 0;
}
