// Windows and files that some ranks share and others do not, each named after its ranks: `merged DIR`.
// The halves of the world create different numbers of them, so that only the communicator and the order on it determine
// which are the same. Creates DIR/ready.RANK, ends when DIR/go exists.
#include <mpi.h>
#include "stand.h"

static int rank;
static const char *dir;
static double memory[8];
static MPI_Win made[32];
static MPI_File opened[32];
static int windows_made, files_opened;

static void named(MPI_Win win, const char *who, int number) {
    char name[64];
    snprintf(name, sizeof name, "%s window %d", who, number);
    MPI_Win_set_name(win, name);
    made[windows_made++] = win;
}

static void windows(MPI_Comm comm, const char *who, int from, int to) {
    for (int i = from; i < to; i++) {
        MPI_Win win;
        MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, comm, &win);
        named(win, who, i);
    }
}

// Open MPI 4.1 names the memory of a window after the number of its communicator, which is the same in both halves of the
// world: if both create it at the same time, one gets the other's memory. So they take turns.
static void windows_by_turns(MPI_Comm comm, int half, const char *who, int number) {
    for (int turn = 0; turn < 2; turn++) {
        if (turn == half)
            windows(comm, who, 0, number);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void files(MPI_Comm comm, const char *who, int from, int to) {
    for (int i = from; i < to; i++) {
        char path[4096];
        MPI_File file;
        snprintf(path, sizeof path, "%s/%s file %d", dir, who, i);
        MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
        opened[files_opened++] = file;
    }
}

// The other ways to create a window.
static void further(MPI_Comm comm, const char *who, int from) {
    MPI_Comm node;
    MPI_Win win;
    void *base;
    MPI_Win_allocate(64, 8, MPI_INFO_NULL, comm, &base, &win);
    named(win, who, from);
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
    named(win, who, from + 1);
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(64, 8, MPI_INFO_NULL, node, &base, &win);
    named(win, "node", 0);
}

static void no_such_file(MPI_Comm comm) {
    MPI_File file;
    MPI_File_open(comm, "/no/such/directory", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
}

int main(int argc, char **argv) {
    MPI_Comm half, other_half;
    char who[16], own[16];
    dir = argc > 1 ? argv[1] : ".";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &half);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &other_half);
    snprintf(who, sizeof who, "half%d", rank / 2);
    snprintf(own, sizeof own, "rank%d", rank);
    windows_by_turns(half, rank / 2, who, rank / 2 == 0 ? 3 : 1);
    files(half, who, 0, rank / 2 == 0 ? 1 : 3);
    files(MPI_COMM_SELF, own, 0, rank + 1);
    windows(MPI_COMM_WORLD, "world", 0, 2);
    snprintf(who, sizeof who, "parity%d", rank % 2);
    windows_by_turns(other_half, rank % 2, who, 1 + rank % 2);
    no_such_file(MPI_COMM_WORLD);
    files(MPI_COMM_WORLD, "world", 0, 2);
    further(MPI_COMM_WORLD, "world", 2);
    say(dir, "ready", rank);
    wait_for(dir, "go");
    while (files_opened > 0)
        MPI_File_close(&opened[--files_opened]);
    while (windows_made > 0)
        MPI_Win_free(&made[--windows_made]);
    MPI_Finalize();
    return 0;
}
