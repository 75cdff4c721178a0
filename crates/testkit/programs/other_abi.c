/* An MPI library whose handles are neither MPICH's nor Open MPI's (with -DLIBRARY), and a program for it. */
#include <stdint.h>
#include <stdio.h>

typedef uint64_t Comm;
#define WORLD ((Comm)0xdeadbeef12345678)

#ifdef LIBRARY
#define BOTH(name, arguments, body) \
    int P##name arguments body      \
    int name arguments body

BOTH(MPI_Init, (int *argc, char ***argv), { return 0 * (argc == 0 && argv == 0); })
BOTH(MPI_Comm_rank, (Comm comm, int *rank), {
    *rank = comm == WORLD ? 0 : -1;
    return 0;
})
BOTH(MPI_Barrier, (Comm comm), { return comm == WORLD ? 0 : 5; })
BOTH(MPI_Finalize, (void), { return 0; })
#else
int MPI_Init(int *, char ***);
int MPI_Comm_rank(Comm, int *);
int MPI_Barrier(Comm);
int MPI_Finalize(void);

int main(int argc, char **argv)
{
    int rank = -2, status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    status = MPI_Barrier(WORLD);
    MPI_Finalize();
    printf("rank %d, barrier %d\n", rank, status);
    return rank != 0 || status != 0;
}
#endif
