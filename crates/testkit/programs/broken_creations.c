/* Findings of `mpiscope run` about objects whose members did not agree when they created them, or on what they made of them.
 * See broken.c.
 */
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

/* Opens a file on all ranks, which is deleted when it is closed. */
static MPI_File file_of_all(void)
{
    MPI_File file;
    char name[64];
    int root = rank == 0 ? (int)getpid() : 0;
    MPI_Bcast(&root, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/tmp/mpiscope-file-of-all-%d", root);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    return file;
}

/* finding room_reserved_of_two_sizes 3 collective-mismatch ranks 2 dies says in MPI_File_preallocate with size 800 at */
static void room_reserved_of_two_sizes(void)
{
    MPI_File file = file_of_all();
    if (rank == 2)
        MPI_File_preallocate(file, 800); /* here: room_reserved_of_two_sizes */
    else
        MPI_File_preallocate(file, 6400);
    MPI_File_close(&file);
}

/* finding file_cut_to_two_sizes 3 collective-mismatch ranks 2 dies without openmpi-4.1,openmpi-5.0 says in MPI_File_set_size with size 800 at */
static void file_cut_to_two_sizes(void)
{
    MPI_File file = file_of_all();
    if (rank == 2)
        MPI_File_set_size(file, 800); /* here: file_cut_to_two_sizes */
    else
        MPI_File_set_size(file, 6400);
    MPI_File_close(&file);
}

/* finding fences_of_two_assertions 3 collective-mismatch ranks 1 says rank 1 was in MPI_Win_fence with MPI_MODE_NOSUCCEED at */
static void fences_of_two_assertions(void)
{
    int *memory;
    MPI_Win win;
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(rank == 0 ? MPI_MODE_NOSTORE : 0, win);
    MPI_Win_fence(rank == 1 ? MPI_MODE_NOSUCCEED : 0, win); /* here: fences_of_two_assertions */
    MPI_Win_free(&win);
}

/* finding freed_instead_of_used 2 collective-mismatch ranks [0-1] says rank 1 has freed it in collective 1 */
static void freed_instead_of_used(void)
{
    int all[2], value = rank;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0)
        MPI_Gather(&value, 1, MPI_INT, all, 1, MPI_INT, 1, comm); /* here: freed_instead_of_used */
    MPI_Comm_free(&comm);
}

FINDINGS(MPI_Init, F(grid_of_other_dimensions), F(file_opened_in_two_ways), F(room_reserved_of_two_sizes), F(file_cut_to_two_sizes),
         F(fences_of_two_assertions), F(freed_instead_of_used))
