/* A PMPI tool that writes control variables of type MPI_INT after MPI_Init: WRITE_CVARS="name=1 other=2".
 *
 * Variables that cannot be written are reported on standard error.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_one(const char *name, int value)
{
    MPI_T_cvar_handle handle;
    int index, count, code = MPI_T_cvar_get_index(name, &index);
    if (code == MPI_SUCCESS)
        code = MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    if (code != MPI_SUCCESS)
        return code;
    code = MPI_T_cvar_write(handle, &value);
    MPI_T_cvar_handle_free(&handle);
    return code;
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv), provided;
    char list[1024], *word;
    snprintf(list, sizeof list, "%s", getenv("WRITE_CVARS") ? getenv("WRITE_CVARS") : "");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    for (word = strtok(list, " "); word; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        if (!equals)
            continue;
        *equals = 0;
        int failed = write_one(word, atoi(equals + 1));
        if (failed != MPI_SUCCESS)
            fprintf(stderr, "write_cvars: %s: error %d\n", word, failed);
    }
    MPI_T_finalize();
    return code;
}
