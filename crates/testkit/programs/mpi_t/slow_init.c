/* Keeps every rank but the first in MPI_Init for a while after the library has returned from it.
 *
 * Preloaded below libmpiscope.so, so that a tool in rank 0 binds its variables before the other ranks are known.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

/* The layer calls the library by this name. */
int PMPI_Init(int *argc, char ***argv)
{
    int (*next)(int *, char ***), rank = 0;
    *(void **) &next = dlsym(RTLD_NEXT, "PMPI_Init");
    int code = next(argc, argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0)
        usleep(300000);
    return code;
}

int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}
