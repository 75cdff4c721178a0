/* Counts the MPI calls of a test program.
 *
 * Every MPI call of a test program goes through CALL, which records the name before the call. At the end
 * each process writes its calls to the directory named by MPISCOPE_EXPECT_DIR, one file per process:
 *
 *     PID 4711
 *     RANK 2
 *     EXPECT MPI_Send 3
 *
 * Nothing of this is printed, so that standard output can be compared with and without the layer.
 */
#ifndef EXPECT_H
#define EXPECT_H

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define OPEN_MPI_5 1
#else
#define OPEN_MPI_5 0
#endif
/* Open MPI 5 reports MPI 3.1 but has much of 4.0, except large counts. */
#define HAVE_MPI_4_PARTS (MPI_VERSION >= 4 || OPEN_MPI_5)
#define HAVE_LARGE_COUNT (MPI_VERSION >= 4)

#define EXPECT_NAMES 512

static struct { const char *name; long count; } expect_table[EXPECT_NAMES];
static pthread_mutex_t expect_lock = PTHREAD_MUTEX_INITIALIZER;
static int expect_rank = -1;
static int expect_size = 0;
/* Set if the program does something that makes a tool lose some of its records. */
static int expect_losses = 0;

static inline void expect_count(const char *name)
{
    pthread_mutex_lock(&expect_lock);
    for (int i = 0; i < EXPECT_NAMES; i++) {
        if (!expect_table[i].name)
            expect_table[i].name = name;
        if (!strcmp(expect_table[i].name, name)) {
            expect_table[i].count++;
            break;
        }
    }
    pthread_mutex_unlock(&expect_lock);
}

static inline void expect_ok(const char *name, int code)
{
    if (code != MPI_SUCCESS) {
        fprintf(stderr, "%s returned %d on rank %d\n", name, code, expect_rank);
        MPI_Abort(MPI_COMM_WORLD, 99);
    }
}

/* Counts a call under another name, for calls that go through another symbol. */
#define CALL_AS(name, f, ...) (expect_count(name), expect_ok(name, f(__VA_ARGS__)))
#define CALL(f, ...) CALL_AS(#f, f, __VA_ARGS__)
/* The same for a call that must return an error: returns the code. */
#define CALL_CODE(f, ...) (expect_count(#f), f(__VA_ARGS__))

/* Writes the counts. May be called more than once; the last file is valid. */
static inline void expect_write(void)
{
    const char *dir = getenv("MPISCOPE_EXPECT_DIR");
    char path[4096];
    if (!dir)
        return;
    snprintf(path, sizeof path, "%s/%ld.expect", dir, (long) getpid());
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "PID %ld\nRANK %d\n", (long) getpid(), expect_rank);
    if (expect_losses)
        fprintf(file, "LOSSES\n");
    for (int i = 0; i < EXPECT_NAMES && expect_table[i].name; i++)
        fprintf(file, "EXPECT %s %ld\n", expect_table[i].name, expect_table[i].count);
    fclose(file);
}

static inline void expect_who(void)
{
    CALL(MPI_Comm_rank, MPI_COMM_WORLD, &expect_rank);
    CALL(MPI_Comm_size, MPI_COMM_WORLD, &expect_size);
}

static inline void expect_init(int *argc, char ***argv)
{
    CALL(MPI_Init, argc, argv);
    expect_who();
}

/* A message of this rank to itself. */
static inline void expect_message(void)
{
    int value;
    CALL(MPI_Send, &expect_rank, 1, MPI_INT, expect_rank, 1, MPI_COMM_WORLD);
    CALL(MPI_Recv, &value, 1, MPI_INT, expect_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Prints one line on rank 0, combined from the results of all ranks. */
static inline void expect_summary(const char *what, long mine)
{
    long all = 0;
    CALL(MPI_Reduce, &mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (expect_rank == 0) {
        printf("%s: %d ranks, checksum %ld\n", what, expect_size, all);
        fflush(stdout);
    }
}

static inline void expect_finish(void)
{
    CALL(MPI_Finalize);
    expect_write();
}

#endif
