/* Building, querying, packing and sending derived types. */
#include "expect.h"

static long sum;

static void note(MPI_Datatype *type)
{
    int size, integers, addresses, types, combiner;
    MPI_Aint lower, extent;
    CALL(MPI_Type_commit, type);
    CALL(MPI_Type_size, *type, &size);
    CALL(MPI_Type_get_extent, *type, &lower, &extent);
    CALL(MPI_Type_get_true_extent, *type, &lower, &extent);
    CALL(MPI_Type_get_envelope, *type, &integers, &addresses, &types, &combiner);
    sum += size + integers + addresses + types;
    CALL(MPI_Type_free, type);
}

int main(int argc, char **argv)
{
    MPI_Datatype type;
    int lengths[2] = {1, 2}, places[2] = {0, 4}, sizes[2] = {4, 4}, part[2] = {2, 2}, start[2] = {1, 1};
    MPI_Aint bytes[2] = {0, 16}, address;
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
    expect_init(&argc, &argv);

    CALL(MPI_Type_contiguous, 3, MPI_INT, &type), note(&type);
    CALL(MPI_Type_vector, 3, 2, 4, MPI_INT, &type), note(&type);
    CALL(MPI_Type_create_hvector, 3, 2, 32, MPI_INT, &type), note(&type);
    CALL(MPI_Type_indexed, 2, lengths, places, MPI_INT, &type), note(&type);
    CALL(MPI_Type_create_hindexed, 2, lengths, bytes, MPI_INT, &type), note(&type);
    CALL(MPI_Type_create_indexed_block, 2, 2, places, MPI_INT, &type), note(&type);
    CALL(MPI_Type_create_hindexed_block, 2, 2, bytes, MPI_INT, &type), note(&type);
    CALL(MPI_Type_create_struct, 2, lengths, bytes, types, &type), note(&type);
    CALL(MPI_Type_create_subarray, 2, sizes, part, start, MPI_ORDER_C, MPI_INT, &type), note(&type);
    CALL(MPI_Type_create_resized, MPI_INT, 0, 64, &type), note(&type);
    int distributions[1] = {MPI_DISTRIBUTE_BLOCK}, arguments[1] = {MPI_DISTRIBUTE_DFLT_DARG}, global[1] = {16};
    int processes[1] = {expect_size};
    CALL(MPI_Type_create_darray, expect_size, expect_rank, 1, global, distributions, arguments, processes,
         MPI_ORDER_C, MPI_INT, &type), note(&type);
    CALL(MPI_Get_address, &sum, &address);

    int contents[8], values[12], got[12] = {0}, position = 0, need = 0, length = 0;
    MPI_Aint addresses[8];
    MPI_Datatype inner[8];
    CALL(MPI_Type_vector, 3, 1, 2, MPI_INT, &type);
    CALL(MPI_Type_get_contents, type, 3, 0, 1, contents, addresses, inner);
    char name[MPI_MAX_OBJECT_NAME];
    CALL(MPI_Type_set_name, type, "every second");
    CALL(MPI_Type_get_name, type, name, &length);
    CALL(MPI_Type_commit, &type);
    for (int i = 0; i < 12; i++)
        values[i] = i * (expect_rank + 1);
    char room[256];
    CALL(MPI_Pack_size, 1, type, MPI_COMM_WORLD, &need);
    CALL(MPI_Pack, values, 1, type, room, sizeof room, &position, MPI_COMM_WORLD);
    position = 0;
    CALL(MPI_Unpack, room, sizeof room, &position, got, 1, type, MPI_COMM_WORLD);
    sum += got[4] + length;
    CALL(MPI_Sendrecv, values, 1, type, expect_rank, 1, got, 3, MPI_INT, expect_rank, 1, MPI_COMM_WORLD,
         MPI_STATUS_IGNORE);
    sum += got[2];
    CALL(MPI_Type_free, &type);
    CALL(MPI_Type_match_size, MPI_TYPECLASS_REAL, 8, &type);
    expect_summary("datatypes", sum);
    expect_finish();
    return 0;
}
