/*
 * Waits in collective calls on windows and files, as in waits.c: the first rank is late by the seconds in the first argument.
 * Not every library waits in each call: the printed time is from a call until the first rank came or the call returned.
 *
 * The second argument is a file name. The first rank prints for each
 * part: kind, line, the late rank, and the total seconds of all ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PARTS = 6, MOST = 64 };

static int rank, size, lines[PARTS];
static double late, entered[PARTS], left[PARTS];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void work(int part)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double until = now() + (rank == 0 ? late : 0);
    while (now() < until)
        ;
    entered[part] = now();
}

#define DONE(part) (lines[part] = __LINE__, left[part] = now())

int main(int argc, char **argv)
{
    late = argc > 1 ? atof(argv[1]) : 0.1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int value = rank;
    static int memory[MOST], more[MOST];
    MPI_Win window, other;
    MPI_File file;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_create(more, sizeof more, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 2);

    work(0);
    MPI_Win_fence(0, window), DONE(0);
    /* Many of them, so that the first is almost forgotten. */
    for (int step = 0; step < 20; step++)
        MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window), MPI_Win_fence(0, window);
    work(1);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window), DONE(1);
    work(2);
    MPI_Win_free(&window), DONE(2);
    work(3);
    MPI_Win_free(&other), DONE(3);
    work(4);
    MPI_File_write_at_all(file, sizeof value * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE), DONE(4);
    work(5);
    MPI_File_set_size(file, sizeof value * size), DONE(5);
    MPI_File_close(&file);

    double all[MOST * PARTS], until[MOST * PARTS];
    MPI_Gather(entered, PARTS, MPI_DOUBLE, all, PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(left, PARTS, MPI_DOUBLE, until, PARTS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const char *kinds[] = {"wait-at-fence", "wait-at-fence", "wait-at-n-to-n", "wait-at-n-to-n", "wait-at-n-to-n", "wait-at-n-to-n"};
    for (int part = 0; rank == 0 && part < PARTS; part++) {
        double seconds = 0;
        for (int who = 1; who < size; who++) {
            double end = until[who * PARTS + part] < all[part] ? until[who * PARTS + part] : all[part];
            seconds += end - all[who * PARTS + part];
        }
        printf("%s %d 0 %.6f\n", kinds[part], lines[part], seconds);
    }
    MPI_Finalize();
    return 0;
}
