/* Groups and communicators: created, compared, named, freed. */
#include "expect.h"

int main(int argc, char **argv)
{
    MPI_Group world, some, other, result;
    MPI_Comm comm, twin, inter, merged;
    long sum = 0;
    int first[2] = {0, 1}, ranges[1][3] = {{0, 1, 1}}, size, rank, relation, length, flag;
    char name[MPI_MAX_OBJECT_NAME];
    expect_init(&argc, &argv);

    CALL(MPI_Comm_group, MPI_COMM_WORLD, &world);
    CALL(MPI_Group_size, world, &size);
    CALL(MPI_Group_rank, world, &rank);
    CALL(MPI_Group_incl, world, 2, first, &some);
    CALL(MPI_Group_excl, world, 1, first, &other);
    CALL(MPI_Group_union, some, other, &result);
    CALL(MPI_Group_compare, world, result, &relation);
    CALL(MPI_Group_free, &result);
    CALL(MPI_Group_intersection, some, other, &result);
    CALL(MPI_Group_free, &result);
    CALL(MPI_Group_difference, world, some, &result);
    if (result != MPI_GROUP_EMPTY)
        CALL(MPI_Group_free, &result);
    CALL(MPI_Group_range_incl, world, 1, ranges, &result);
    CALL(MPI_Group_free, &result);
    CALL(MPI_Group_range_excl, world, 1, ranges, &result);
    if (result != MPI_GROUP_EMPTY)
        CALL(MPI_Group_free, &result);
    int translated[2];
    CALL(MPI_Group_translate_ranks, some, 2, first, world, translated);
    sum += size + rank + translated[1];

    CALL(MPI_Comm_create, MPI_COMM_WORLD, some, &comm);
    if (comm != MPI_COMM_NULL)
        CALL(MPI_Comm_free, &comm);
    if (expect_rank < 2) {
        CALL(MPI_Comm_create_group, MPI_COMM_WORLD, some, 5, &comm);
        CALL(MPI_Comm_free, &comm);
    }
    CALL(MPI_Comm_dup, MPI_COMM_WORLD, &twin);
    CALL(MPI_Comm_set_name, twin, "twin");
    CALL(MPI_Comm_get_name, twin, name, &length);
    CALL(MPI_Comm_compare, MPI_COMM_WORLD, twin, &relation);
    sum += length + (relation == MPI_CONGRUENT);
    CALL(MPI_Comm_free, &twin);
    MPI_Request request;
    CALL(MPI_Comm_idup, MPI_COMM_WORLD, &twin, &request);
    CALL(MPI_Wait, &request, MPI_STATUS_IGNORE);
    CALL(MPI_Comm_dup_with_info, twin, MPI_INFO_NULL, &merged);
    CALL(MPI_Comm_free, &merged);
    CALL(MPI_Comm_free, &twin);

    CALL(MPI_Comm_split, MPI_COMM_WORLD, expect_rank % 2, expect_rank, &comm);
    CALL(MPI_Comm_rank, comm, &rank);
    CALL(MPI_Intercomm_create, comm, 0, MPI_COMM_WORLD, 1 - expect_rank % 2, 9, &inter);
    CALL(MPI_Comm_test_inter, inter, &flag);
    CALL(MPI_Comm_remote_size, inter, &size);
    CALL(MPI_Comm_remote_group, inter, &result);
    CALL(MPI_Group_free, &result);
    CALL(MPI_Intercomm_merge, inter, expect_rank % 2, &merged);
    CALL(MPI_Comm_size, merged, &size);
    sum += flag + size + rank;
    CALL(MPI_Comm_free, &merged);
    CALL(MPI_Comm_free, &inter);
    CALL(MPI_Comm_free, &comm);
    CALL(MPI_Group_free, &some);
    CALL(MPI_Group_free, &other);
    CALL(MPI_Group_free, &world);
    expect_summary("groups_comms", sum);
    expect_finish();
    return 0;
}
