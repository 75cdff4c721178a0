/* Findings of `mpiscope run` about objects whose members did not agree when they created them. See broken.c. */
#include "broken.h"
#include <stdio.h>
#include <unistd.h>

/* finding grid_of_other_dimensions 4 collective-mismatch ranks 2 says collective mismatch (dimensions) on */
static void grid_of_other_dimensions(void)
{
    const int square[] = {2, 2}, row[] = {1, 4}, periods[] = {0, 0};
    MPI_Comm grid, again;
    if (rank == 2)
        MPI_Cart_create(MPI_COMM_WORLD, 2, row, periods, 0, &grid); /* here: grid_of_other_dimensions */
    else
        MPI_Cart_create(MPI_COMM_WORLD, 2, square, periods, 0, &grid);
    MPI_Barrier(grid);
    /* It is not reported again for the duplicate. */
    MPI_Comm_dup(grid, &again);
    MPI_Comm_free(&again);
    MPI_Comm_free(&grid);
}

/* finding file_opened_in_two_ways 3 collective-mismatch ranks 1 without mpich-4.0,mpich-5.0,mpich-5.0-abi,intel,intel-abi says rank 1 passed MPI_MODE_CREATE | MPI_MODE_WRONLY to MPI_File_open */
static void file_opened_in_two_ways(void)
{
    MPI_File file;
    char name[64];
    int root = rank == 0 ? (int)getpid() : 0;
    MPI_Bcast(&root, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/tmp/mpiscope-two-ways-%d", root);
    if (rank == 1)
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file); /* here: file_opened_in_two_ways */
    else
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
    if (rank == 0)
        unlink(name);
}

FINDINGS(MPI_Init, F(grid_of_other_dimensions), F(file_opened_in_two_ways))
