/* A tool that reads all performance variables repeatedly between messages and does not print their values. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200 };

int main(int argc, char **argv)
{
    int level, count, rank, size, sum = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_T_pvar_session session;
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_get_num(&count);
    MPI_T_pvar_handle *handles = calloc((size_t)count + 1, sizeof *handles);
    void **values = calloc((size_t)count + 1, sizeof *values);
    for (int i = 0; i < count; i++) {
        int verbosity, class, bind, readonly, continuous, atomic, elements = 0, name = 0, text = 0;
        MPI_Datatype type;
        MPI_Comm world = MPI_COMM_WORLD;
        handles[i] = MPI_T_PVAR_HANDLE_NULL;
        if (MPI_T_pvar_get_info(i, NULL, &name, &verbosity, &class, &type, NULL, NULL, &text, &bind, &readonly,
                                &continuous, &atomic) != MPI_SUCCESS)
            continue;
        if (bind != MPI_T_BIND_NO_OBJECT && bind != MPI_T_BIND_MPI_COMM)
            continue;
        if (MPI_T_pvar_handle_alloc(session, i, bind == MPI_T_BIND_MPI_COMM ? &world : NULL, &handles[i], &elements))
            handles[i] = MPI_T_PVAR_HANDLE_NULL;
        else
            values[i] = calloc((size_t)elements + 1, 16);
    }
    /* MPICH's libmpi_abi, which has no variables, treats the constant as the address of a handle. */
    if (count > 0)
        MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        int got = 0;
        MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, round, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&round, 1, MPI_INT, (rank + 1) % size, round, MPI_COMM_WORLD, &requests[1]);
        for (int i = 0; i < count; i++)
            if (values[i])
                MPI_T_pvar_read(session, handles[i], values[i]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        sum += got;
    }
    int all = 0;
    MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("received %d\n", all);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
