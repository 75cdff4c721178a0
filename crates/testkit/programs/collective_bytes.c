/*
 * Collectives of every kind, for which each rank knows its share in bytes:
 * collective_bytes DIRECTORY. Each rank then idles until DIRECTORY/go exists.
 *
 * Each rank writes DIRECTORY/bytes.RANK: one line per function with its name and the bytes.
 *
 * The share of a rank is its own block of the gathered or scattered data, its data for each rank of an all-to-all or a
 * reduce-scatter, including itself, its data for each neighbor, and the buffer for all others. MPI_IN_PLACE makes no difference.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include "stand.h"

#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
#define HAVE_PERSISTENT 1
#else
#define HAVE_PERSISTENT 0
#endif
#define HAVE_LARGE_COUNT (MPI_VERSION >= 4)

enum { ROOM = 4096, MOST = 256 };

static struct { const char *name; long bytes; } parts[MOST];
static int out[ROOM], in[ROOM], rank, size;
static int counts[MOST], places[MOST], offsets[MOST];
static MPI_Datatype types[MOST];
static MPI_Aint apart[MOST];
#if HAVE_LARGE_COUNT
static MPI_Count many[MOST];
static MPI_Aint at[MOST];
#endif

/* Each nonblocking one is waited for at once. */
static MPI_Request request;

static void add(const char *name, long elements)
{
    int at = 0;
    while (parts[at].name && strcmp(parts[at].name, name))
        at++;
    parts[at].name = name;
    parts[at].bytes += elements * (long)sizeof(int);
}

#define MOVES(name, elements, ...) (add(#name, (elements)), name(__VA_ARGS__))
#define STARTS(name, elements, ...) (add(#name, (elements)), name(__VA_ARGS__, &request), MPI_Wait(&request, MPI_STATUS_IGNORE))
#if HAVE_PERSISTENT
/* One that is started once, by either function in turn. */
static void start(void)
{
    static int turn;
    if (turn++ % 2)
        MPI_Start(&request);
    else
        MPI_Startall(1, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}
#define PERSISTS(name, elements, ...) (add(#name, (elements)), name(__VA_ARGS__, MPI_INFO_NULL, &request), start())
#else
#define PERSISTS(name, elements, ...) ((void) 0)
#endif
/* The blocking, the nonblocking and the persistent variant. */
#define ALL(blocking, nonblocking, elements, ...) \
    (MOVES(MPI_##blocking, elements, __VA_ARGS__), STARTS(MPI_I##nonblocking, elements, __VA_ARGS__), \
     PERSISTS(MPI_##blocking##_init, elements, __VA_ARGS__))
/* The same with large counts. */
#define LARGE(blocking, nonblocking, elements, ...) \
    (MOVES(MPI_##blocking##_c, elements, __VA_ARGS__), STARTS(MPI_I##nonblocking##_c, elements, __VA_ARGS__), \
     PERSISTS(MPI_##blocking##_init_c, elements, __VA_ARGS__))

/* Rank i has i + 1 elements. */
static int vector(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        counts[i] = i + 1;
        places[i] = sum;
        offsets[i] = sum * (int)sizeof(int);
        apart[i] = offsets[i];
        types[i] = MPI_INT;
        sum += counts[i];
    }
    return sum;
}

static void rooted(MPI_Comm comm, int root, int in_place)
{
    void *mine = in_place && rank == root ? MPI_IN_PLACE : out, *got = in_place && rank == root ? MPI_IN_PLACE : in;
    vector(size);
    ALL(Gather, gather, 5, mine, 5, MPI_INT, in, 5, MPI_INT, root, comm);
    ALL(Gatherv, gatherv, rank + 1, mine, rank + 1, MPI_INT, in, counts, places, MPI_INT, root, comm);
    ALL(Scatter, scatter, 7, out, 7, MPI_INT, got, 7, MPI_INT, root, comm);
    ALL(Scatterv, scatterv, rank + 1, out, counts, places, MPI_INT, got, rank + 1, MPI_INT, root, comm);
    ALL(Reduce, reduce, 11, rank == root ? mine : out, in, 11, MPI_INT, MPI_MAX, root, comm);
    ALL(Bcast, bcast, 13, out, 13, MPI_INT, root, comm);
}

static void of_all(MPI_Comm comm, int in_place)
{
    void *mine = in_place ? MPI_IN_PLACE : out;
    int all = vector(size);
    ALL(Allgather, allgather, 3, mine, 3, MPI_INT, in, 3, MPI_INT, comm);
    ALL(Allgatherv, allgatherv, rank + 1, mine, rank + 1, MPI_INT, in, counts, places, MPI_INT, comm);
    ALL(Allreduce, allreduce, 3, mine, in, 3, MPI_INT, MPI_MAX, comm);
    ALL(Scan, scan, 3, mine, in, 3, MPI_INT, MPI_MAX, comm);
    ALL(Exscan, exscan, 3, mine, in, 3, MPI_INT, MPI_MAX, comm);
    ALL(Reduce_scatter, reduce_scatter, all, mine, in, counts, MPI_INT, MPI_MAX, comm);
    ALL(Reduce_scatter_block, reduce_scatter_block, 3 * size, mine, in, 3, MPI_INT, MPI_MAX, comm);
    ALL(Alltoall, alltoall, 3 * size, mine, 3, MPI_INT, in, 3, MPI_INT, comm);
    /* All have the same amount for each, since the received data replaces the data that was sent in place. */
    for (int i = 0; i < size; i++) {
        counts[i] = 2;
        places[i] = 2 * i;
        offsets[i] = places[i] * (int)sizeof(int);
    }
    ALL(Alltoallv, alltoallv, 2 * size, mine, counts, places, MPI_INT, in, counts, places, MPI_INT, comm);
    ALL(Alltoallw, alltoallw, 2 * size, mine, counts, offsets, types, in, counts, offsets, types, comm);
}

/* The first rank is a group by itself, and the root of rooted collectives. */
static void between_groups(void)
{
    MPI_Comm mine, comm;
    int first = rank == 0, others = first ? size - 1 : 1, own = first ? 1 : size - 1;
    MPI_Comm_split(MPI_COMM_WORLD, first, rank, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, first ? 1 : 0, 1, &comm);
    int root = first ? MPI_ROOT : 0;
    vector(size);
    ALL(Gather, gather, first ? 0 : 5, out, 5, MPI_INT, in, 5, MPI_INT, root, comm);
    ALL(Scatter, scatter, first ? 0 : 5, out, 5, MPI_INT, in, 5, MPI_INT, root, comm);
    ALL(Gatherv, gatherv, first ? 0 : rank, out, rank, MPI_INT, in, counts, places, MPI_INT, root, comm);
    ALL(Scatterv, scatterv, first ? 0 : rank, out, counts, places, MPI_INT, in, rank, MPI_INT, root, comm);
    ALL(Bcast, bcast, 5, out, 5, MPI_INT, root, comm);
    ALL(Reduce, reduce, 5, out, in, 5, MPI_INT, MPI_MAX, root, comm);
    ALL(Allgather, allgather, 5, out, 5, MPI_INT, in, 5, MPI_INT, comm);
    ALL(Allreduce, allreduce, 5, out, in, 5, MPI_INT, MPI_MAX, comm);
    ALL(Alltoall, alltoall, 5 * others, out, 5, MPI_INT, in, 5, MPI_INT, comm);
    /* Both groups have the same number of elements to scatter. */
    ALL(Reduce_scatter_block, reduce_scatter_block, 2 * (size - 1), out, in, first ? 2 * (size - 1) : 2, MPI_INT, MPI_MAX, comm);
    for (int i = 0; i < own; i++)
        counts[i] = first ? 2 * (size - 1) : 2;
    ALL(Reduce_scatter, reduce_scatter, 2 * (size - 1), out, in, counts, MPI_INT, MPI_MAX, comm);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&mine);
}

/* `there` has room for each neighbor. */
static void neighbors(MPI_Comm comm, int n, const int *there)
{
    int sum = 0, some = 0;
    vector(n);
    for (int i = 0; i < n; i++) {
        counts[i] = 4;
        places[i] = 4 * i;
        apart[i] = places[i] * (MPI_Aint)sizeof(int);
        some += there[i];
        sum += there[i] * counts[i];
    }
    ALL(Neighbor_allgather, neighbor_allgather, 4 * some, out, 4, MPI_INT, in, 4, MPI_INT, comm);
    ALL(Neighbor_allgatherv, neighbor_allgatherv, 4 * some, out, 4, MPI_INT, in, counts, places, MPI_INT, comm);
    ALL(Neighbor_alltoall, neighbor_alltoall, 4 * some, out, 4, MPI_INT, in, 4, MPI_INT, comm);
    ALL(Neighbor_alltoallv, neighbor_alltoallv, sum, out, counts, places, MPI_INT, in, counts, places, MPI_INT, comm);
    ALL(Neighbor_alltoallw, neighbor_alltoallw, sum, out, counts, apart, types, in, counts, apart, types, comm);
    MPI_Comm_free(&comm);
}

static void topologies(void)
{
    MPI_Comm comm;
    int sides[2] = {size, 1}, periods[2] = {0, 1}, next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 0, &comm);
    neighbors(comm, 4, (int[]){rank > 0, rank < size - 1, 1, 1});
    /* Rank 0 has all others as neighbors, and each of them rank 0. */
    int ends[MOST], edges[MOST];
    for (int i = 0; i < size; i++)
        ends[i] = size - 1 + i;
    for (int i = 1; i < size; i++) {
        edges[i - 1] = i;
        edges[size - 2 + i] = 0;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &comm);
    neighbors(comm, rank == 0 ? size - 1 : 1, (int[MOST]){1, 1, 1, 1});
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, (int[]){1}, 1, &next, (int[]){1}, MPI_INFO_NULL, 0, &comm);
    neighbors(comm, 1, (int[]){1});
}

#if HAVE_LARGE_COUNT
static void large_counts(void)
{
    MPI_Comm comm = MPI_COMM_WORLD, ring;
    int all = vector(size), periodic = 1;
    for (int i = 0; i < size; i++) {
        many[i] = counts[i];
        at[i] = places[i];
    }
    LARGE(Gather, gather, 5, out, 5, MPI_INT, in, 5, MPI_INT, 0, comm);
    LARGE(Gatherv, gatherv, rank + 1, out, rank + 1, MPI_INT, in, many, at, MPI_INT, 0, comm);
    LARGE(Scatter, scatter, 7, out, 7, MPI_INT, in, 7, MPI_INT, 0, comm);
    LARGE(Scatterv, scatterv, rank + 1, out, many, at, MPI_INT, in, rank + 1, MPI_INT, 0, comm);
    LARGE(Reduce, reduce, 11, out, in, 11, MPI_INT, MPI_MAX, 0, comm);
    LARGE(Bcast, bcast, 13, out, 13, MPI_INT, 0, comm);
    LARGE(Allgather, allgather, 3, out, 3, MPI_INT, in, 3, MPI_INT, comm);
    LARGE(Allgatherv, allgatherv, rank + 1, MPI_IN_PLACE, 0, MPI_INT, in, many, at, MPI_INT, comm);
    LARGE(Allreduce, allreduce, 3, out, in, 3, MPI_INT, MPI_MAX, comm);
    LARGE(Scan, scan, 3, out, in, 3, MPI_INT, MPI_MAX, comm);
    LARGE(Exscan, exscan, 3, out, in, 3, MPI_INT, MPI_MAX, comm);
    LARGE(Reduce_scatter, reduce_scatter, all, out, in, many, MPI_INT, MPI_MAX, comm);
    LARGE(Reduce_scatter_block, reduce_scatter_block, 3 * size, out, in, 3, MPI_INT, MPI_MAX, comm);
    LARGE(Alltoall, alltoall, 3 * size, out, 3, MPI_INT, in, 3, MPI_INT, comm);
    for (int i = 0; i < size; i++) {
        many[i] = 2;
        at[i] = 2 * i;
        apart[i] = at[i] * (MPI_Aint) sizeof(int);
    }
    LARGE(Alltoallv, alltoallv, 2 * size, out, many, at, MPI_INT, in, many, at, MPI_INT, comm);
    LARGE(Alltoallw, alltoallw, 2 * size, out, many, apart, types, in, many, apart, types, comm);
    MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring);
    LARGE(Neighbor_allgather, neighbor_allgather, 8, out, 4, MPI_INT, in, 4, MPI_INT, ring);
    LARGE(Neighbor_allgatherv, neighbor_allgatherv, 4, out, 2, MPI_INT, in, many, at, MPI_INT, ring);
    LARGE(Neighbor_alltoall, neighbor_alltoall, 8, out, 4, MPI_INT, in, 4, MPI_INT, ring);
    LARGE(Neighbor_alltoallv, neighbor_alltoallv, 4, out, many, at, MPI_INT, in, many, at, MPI_INT, ring);
    LARGE(Neighbor_alltoallw, neighbor_alltoallw, 4, out, many, apart, types, in, many, apart, types, ring);
    MPI_Comm_free(&ring);
}
#endif

int main(int argc, char **argv)
{
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int root = 0; root < size; root++)
            rooted(MPI_COMM_WORLD, root, in_place);
        of_all(MPI_COMM_WORLD, in_place);
    }
    between_groups();
    topologies();
#if HAVE_LARGE_COUNT
    large_counts();
#endif
    snprintf(path, sizeof path, "%s/bytes.%d", argv[argc - 1], rank);
    FILE *file = fopen(path, "w");
    for (int at = 0; file && parts[at].name; at++)
        fprintf(file, "%s %ld\n", parts[at].name, parts[at].bytes);
    if (file)
        fclose(file);
    say(argv[argc - 1], "ready", rank);
    wait_for(argv[argc - 1], "go");
    MPI_Finalize();
    return 0;
}
