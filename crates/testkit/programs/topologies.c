/* Cartesian, graph and distributed graph topologies, and neighborhood collectives. */
#include "expect.h"

static long sum;

static void cartesian(void)
{
    MPI_Comm cart, line;
    int dims[2] = {0, 1}, periods[2] = {1, 1}, place[2], kind, count, rank, left, right, keep[2] = {1, 0}, got[8];
    CALL(MPI_Dims_create, expect_size, 2, dims);
    CALL(MPI_Cart_create, MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    CALL(MPI_Topo_test, cart, &kind);
    CALL(MPI_Cartdim_get, cart, &count);
    CALL(MPI_Cart_get, cart, 2, dims, periods, place);
    CALL(MPI_Cart_rank, cart, place, &rank);
    CALL(MPI_Cart_coords, cart, rank, 2, place);
    CALL(MPI_Cart_shift, cart, 0, 1, &left, &right);
    CALL(MPI_Cart_map, MPI_COMM_WORLD, 2, dims, periods, &rank);
    sum += count + left + right + (kind == MPI_CART);
    CALL(MPI_Neighbor_allgather, &rank, 1, MPI_INT, got, 1, MPI_INT, cart);
    sum += got[0];
    MPI_Request request;
    CALL(MPI_Ineighbor_allgather, &rank, 1, MPI_INT, got, 1, MPI_INT, cart, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Cart_sub, cart, keep, &line);
    CALL(MPI_Comm_free, &line);
    CALL(MPI_Comm_free, &cart);
}

static void graph(void)
{
    MPI_Comm comm;
    int index[16], edges[32], nodes, count, list[8], n = expect_size, rank;
    for (int i = 0; i < n; i++) {
        index[i] = 2 * (i + 1);
        edges[2 * i] = (i + n - 1) % n;
        edges[2 * i + 1] = (i + 1) % n;
    }
    CALL(MPI_Graph_create, MPI_COMM_WORLD, n, index, edges, 0, &comm);
    CALL(MPI_Graphdims_get, comm, &nodes, &count);
    CALL(MPI_Graph_get, comm, n, 2 * n, index, edges);
    CALL(MPI_Graph_neighbors_count, comm, expect_rank, &count);
    CALL(MPI_Graph_neighbors, comm, expect_rank, 2, list);
    CALL(MPI_Graph_map, MPI_COMM_WORLD, n, index, edges, &rank);
    sum += nodes + count + list[0] + list[1];
    CALL(MPI_Comm_free, &comm);
}

static void distributed(void)
{
    MPI_Comm comm;
    int n = expect_size, left = (expect_rank + n - 1) % n, right = (expect_rank + 1) % n;
    int in, out, weighted, sources[2], targets[2], value = expect_rank, got[2], one = 1;
    CALL(MPI_Dist_graph_create_adjacent, MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED,
         MPI_INFO_NULL, 0, &comm);
    CALL(MPI_Dist_graph_neighbors_count, comm, &in, &out, &weighted);
    CALL(MPI_Dist_graph_neighbors, comm, 1, sources, MPI_UNWEIGHTED, 1, targets, MPI_UNWEIGHTED);
    CALL(MPI_Neighbor_alltoall, &value, 1, MPI_INT, got, 1, MPI_INT, comm);
    sum += in + out + got[0];
    int counts[1] = {1}, zeros[1] = {0};
    CALL(MPI_Neighbor_alltoallv, &value, counts, zeros, MPI_INT, got, counts, zeros, MPI_INT, comm);
    CALL(MPI_Neighbor_allgatherv, &value, 1, MPI_INT, got, counts, zeros, MPI_INT, comm);
    sum += got[0];
    CALL(MPI_Comm_free, &comm);
    CALL(MPI_Dist_graph_create, MPI_COMM_WORLD, 1, &expect_rank, &one, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    CALL(MPI_Comm_free, &comm);
}

int main(int argc, char **argv)
{
    expect_init(&argc, &argv);
    cartesian();
    graph();
    distributed();
    expect_summary("topologies", sum);
    expect_finish();
    return 0;
}
