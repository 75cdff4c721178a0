/* Other common calls: info, errors, names, memory, control, and calls through the profiling names. */
#include "expect.h"

int main(int argc, char **argv)
{
    int flag = 0, length = 0, value = 1, got = 0, code, class, keys;
    long sum = 0;
    char text[MPI_MAX_ERROR_STRING], key[MPI_MAX_INFO_KEY + 1], held[64];
    void *memory;
    MPI_Info info, twin;
    MPI_Errhandler handler;

    CALL(MPI_Initialized, &flag);
    sum += flag;
    expect_init(&argc, &argv);
    CALL(MPI_Initialized, &flag);
    CALL(MPI_Finalized, &got);
    sum += flag + got;

    CALL(MPI_Get_processor_name, text, &length);
    double started = MPI_Wtime();
    sum += MPI_Wtime() >= started;

    CALL(MPI_Info_create, &info);
    CALL(MPI_Info_set, info, "colour", "green");
    CALL(MPI_Info_set, info, "shape", "round");
    CALL(MPI_Info_get, info, "colour", sizeof held - 1, held, &flag);
    sum += flag + (long) strlen(held);
    CALL(MPI_Info_get_valuelen, info, "shape", &length, &flag);
    CALL(MPI_Info_get_nkeys, info, &keys);
    CALL(MPI_Info_get_nthkey, info, 0, key);
    CALL(MPI_Info_dup, info, &twin);
    CALL(MPI_Info_delete, twin, "shape");
    CALL(MPI_Info_free, &twin);
    CALL(MPI_Info_free, &info);
    sum += length + keys;

    CALL(MPI_Add_error_class, &class);
    CALL(MPI_Add_error_code, class, &code);
    CALL(MPI_Add_error_string, code, "our own");
    CALL(MPI_Error_string, code, text, &length);
    CALL(MPI_Error_class, code, &got);
    sum += length + (got == class);
    CALL(MPI_Comm_get_errhandler, MPI_COMM_WORLD, &handler);
    CALL(MPI_Errhandler_free, &handler);

    CALL(MPI_Alloc_mem, 256, MPI_INFO_NULL, &memory);
    CALL(MPI_Free_mem, memory);
    CALL(MPI_Pcontrol, 0);
    CALL(MPI_Pcontrol, 1, "more", 2.5);

    /* Each counts as one call of the program, whatever the symbol. */
    CALL_AS("MPI_Barrier", PMPI_Barrier, MPI_COMM_WORLD);
    CALL_AS("MPI_Allreduce", PMPI_Allreduce, &value, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CALL(MPI_Barrier, MPI_COMM_WORLD);
    sum += got;

    expect_summary("misc", sum);
    CALL(MPI_Finalize);
    CALL(MPI_Finalized, &flag);
    expect_write();
    return 0;
}
