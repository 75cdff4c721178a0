/* Data that is received into a datatype in which elements overlap; `broken_layouts NAME` runs one of the programs.
 *
 * The comments are those of broken.c. The correct twins are in ordered_layouts.c.
 */
#include "broken.h"

static int values[100], results[100];

/* Blocks of four that begin at every second element. */
static MPI_Datatype overlapping_blocks(void)
{
    MPI_Datatype blocks;
    MPI_Type_vector(3, 4, 2, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    return blocks;
}

/* finding received_into_overlapping_blocks 2 buffer-overlap ranks 1 check says elements of its datatype overlap */
static void received_into_overlapping_blocks(void)
{
    MPI_Datatype blocks = overlapping_blocks();
    if (rank == 0)
        MPI_Send(values, 12, MPI_INT, 1, 5, MPI_COMM_WORLD);
    else
        MPI_Recv(results, 1, blocks, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: received_into_overlapping_blocks */
    MPI_Type_free(&blocks);
}

/* One such element alone would be correct. */
/* finding received_into_elements_with_a_short_extent 2 buffer-overlap ranks 1 check says writes the same bytes twice */
static void received_into_elements_with_a_short_extent(void)
{
    MPI_Datatype four, shortened;
    MPI_Request request;
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_create_resized(four, 0, sizeof(int), &shortened);
    MPI_Type_commit(&shortened);
    if (rank == 0) {
        MPI_Send(values, 12, MPI_INT, 1, 5, MPI_COMM_WORLD);
    } else {
        MPI_Irecv(results, 3, shortened, 0, 5, MPI_COMM_WORLD, &request); /* here: received_into_elements_with_a_short_extent */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&shortened);
    MPI_Type_free(&four);
}

/* finding gathered_into_overlapping_blocks 2 buffer-overlap ranks 0 check says MPI_Gather of 2 x vector type */
static void gathered_into_overlapping_blocks(void)
{
    MPI_Datatype blocks = overlapping_blocks();
    MPI_Gather(values, 12, MPI_INT, results, 1, blocks, 0, MPI_COMM_WORLD); /* here: gathered_into_overlapping_blocks */
    MPI_Type_free(&blocks);
}

/* finding broadcast_into_overlapping_blocks 2 buffer-overlap ranks 1 check says MPI_Ibcast of 1 x vector type */
static void broadcast_into_overlapping_blocks(void)
{
    MPI_Datatype blocks = overlapping_blocks();
    MPI_Request request;
    /* The root reads some elements twice, as it may. */
    MPI_Ibcast(values, 1, blocks, 0, MPI_COMM_WORLD, &request); /* here: broadcast_into_overlapping_blocks */
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&blocks);
}

FINDINGS(MPI_Init, F(received_into_overlapping_blocks), F(received_into_elements_with_a_short_extent),
         F(gathered_into_overlapping_blocks), F(broadcast_into_overlapping_blocks))
