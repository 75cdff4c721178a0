/* Heat in a square plate: explicit time steps on a grid that is divided into strips, one per rank.
 *
 * Each step exchanges one row with both neighbors (MPI_Irecv, MPI_Isend, MPI_Waitall), and every tenth step sums the
 * change over all ranks (MPI_Allreduce). The last rank has the most work, so the others wait for it.
 *
 *     mpicc -O2 -g heat.c -o heat -lm
 *     mpiscope run mpirun -n 4 ./heat [SIDE] [STEPS]
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG_UP = 1, TAG_DOWN = 2, CHECK_EVERY = 10 };

typedef struct {
    int side, rows, up, down;
    double *now, *next;
} Strip;

static double *row(const Strip *strip, double *field, int index)
{
    return field + (size_t) index * strip->side;
}

static Strip make_strip(int side, int rank, int size)
{
    Strip strip = {.side = side, .rows = side / size + (rank == size - 1 ? side % size + side / 16 : 0)};
    strip.up = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    strip.down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    size_t cells = (size_t) (strip.rows + 2) * side;
    strip.now = calloc(cells, sizeof *strip.now);
    strip.next = calloc(cells, sizeof *strip.next);
    if (!strip.now || !strip.next)
        MPI_Abort(MPI_COMM_WORLD, 1);
    /* The upper edge is hot. */
    for (int x = 0; rank == 0 && x < side; x++)
        row(&strip, strip.now, 0)[x] = row(&strip, strip.next, 0)[x] = 100.0;
    return strip;
}

static void exchange_edges(Strip *strip)
{
    MPI_Request requests[4];
    int side = strip->side;
    MPI_Irecv(row(strip, strip->now, 0), side, MPI_DOUBLE, strip->up, TAG_DOWN, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(row(strip, strip->now, strip->rows + 1), side, MPI_DOUBLE, strip->down, TAG_UP, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(row(strip, strip->now, 1), side, MPI_DOUBLE, strip->up, TAG_UP, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(row(strip, strip->now, strip->rows), side, MPI_DOUBLE, strip->down, TAG_DOWN, MPI_COMM_WORLD,
              &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

/* Performs one step and returns the squared change of the strip. */
static double relax(Strip *strip)
{
    double change = 0.0;
    for (int y = 1; y <= strip->rows; y++) {
        const double *above = row(strip, strip->now, y - 1), *here = row(strip, strip->now, y);
        const double *below = row(strip, strip->now, y + 1);
        double *out = row(strip, strip->next, y);
        for (int x = 1; x < strip->side - 1; x++) {
            out[x] = 0.25 * (above[x] + below[x] + here[x - 1] + here[x + 1]);
            change += (out[x] - here[x]) * (out[x] - here[x]);
        }
    }
    double *swap = strip->now;
    strip->now = strip->next;
    strip->next = swap;
    return change;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int side = argc > 1 ? atoi(argv[1]) : 768, steps = argc > 2 ? atoi(argv[2]) : 3000;
    if (side < 4 * size || steps < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: heat [SIDE >= 4 * ranks] [STEPS >= 1]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    Strip strip = make_strip(side, rank, size);
    double residual = 0.0;
    for (int step = 1; step <= steps; step++) {
        exchange_edges(&strip);
        double mine = relax(&strip);
        if (step % CHECK_EVERY == 0 || step == steps)
            MPI_Allreduce(&mine, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    double heat = 0.0, total = 0.0;
    for (int y = 1; y <= strip.rows; y++)
        for (int x = 0; x < side; x++)
            heat += row(&strip, strip.now, y)[x];
    MPI_Reduce(&heat, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("heat: %d x %d, %d ranks, %d steps, residual %.6f, mean temperature %.6f\n", side, side, size, steps,
               sqrt(residual), total / ((double) side * side));
    free(strip.now);
    free(strip.next);
    MPI_Finalize();
    return 0;
}
