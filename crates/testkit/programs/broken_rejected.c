/* Findings of `mpiscope run` about collectives that one member could not enter because the library rejected its arguments. See broken.c.
 *
 * A rejected call is not one of the communicator's collectives: the ones that follow are matched as if it had not been made.
 */
#include "broken.h"
#include <stdio.h>
#include <unistd.h>

/* Collectives of different functions, roots and operations: shifted by one, all of them differ. */
static void use(MPI_Comm comm)
{
    int value = rank, sum, all[8];
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(&sum, 1, MPI_INT, 1, comm);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_MAX, comm);
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm);
    MPI_Barrier(comm);
}

/* finding rejected_blocking 3 call-failed ranks 1 without intel-abi says MPI_Bcast at */
static void rejected_blocking(void)
{
    int value = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < 3; i++)
        MPI_Bcast(&value, 1, MPI_INT, size + 5, MPI_COMM_WORLD); /* here: rejected_blocking */
    use(MPI_COMM_WORLD);
}

/* finding rejected_nonblocking 3 call-failed ranks 2 without intel-abi says MPI_Ibcast at */
static void rejected_nonblocking(void)
{
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 2)
        MPI_Ibcast(&value, 1, MPI_INT, size + 5, MPI_COMM_WORLD, &request); /* here: rejected_nonblocking */
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(MPI_COMM_WORLD);
}

/* finding rejected_constructor 3 call-failed ranks 0 without intel-abi says MPI_Comm_split_type at */
static void rejected_constructor(void)
{
    MPI_Comm other;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Comm_split_type(MPI_COMM_WORLD, 12345, rank, MPI_INFO_NULL, &other); /* here: rejected_constructor */
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    use(MPI_COMM_WORLD);
    use(other);
    MPI_Comm_free(&other);
}

/* finding group_with_a_stranger 3 call-failed ranks 1 without intel-abi,mpich-5.0,mpich-5.0-abi,openmpi-4.1,openmpi-5.0 says MPI_Comm_create at */
static void group_with_a_stranger(void)
{
    /* MPICH finds that the group is wrong after the members have agreed on the context, so this call counts. */
    const int with_stranger[] = {1, 2}, alone[] = {0};
    MPI_Comm two, created = MPI_COMM_NULL, other;
    MPI_Group all, group;
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, rank, &two);
    MPI_Comm_set_errhandler(two, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, rank == 1 ? 2 : 1, rank == 1 ? with_stranger : alone, &group);
    if (rank < 2)
        MPI_Comm_create(two, group, &created); /* here: group_with_a_stranger */
    MPI_Comm_dup(two, &other);
    if (rank < 2) {
        use(two);
        use(other);
    }
    if (created != MPI_COMM_NULL)
        MPI_Comm_free(&created);
    MPI_Comm_free(&other);
    MPI_Comm_free(&two);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    use(MPI_COMM_WORLD);
}

/* finding rejected_on_a_file 3 call-failed ranks 1 says MPI_File_write_all at */
static void rejected_on_a_file(void)
{
    MPI_File file;
    char name[64];
    int value = rank, root = rank == 0 ? (int)getpid() : 0;
    MPI_Bcast(&root, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof name, "/tmp/mpiscope-rejected-%d", root);
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    if (rank == 1)
        MPI_File_write_all(file, &value, -1, MPI_INT, MPI_STATUS_IGNORE); /* here: rejected_on_a_file */
    MPI_File_set_size(file, 64);
    MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_close(&file);
    use(MPI_COMM_WORLD);
}

/* finding rejected_on_a_window 3 call-failed ranks 2 without intel-abi says MPI_Win_fence at */
static void rejected_on_a_window(void)
{
    int value = rank, *memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    if (rank == 2)
        MPI_Win_fence(1 << 30, window); /* here: rejected_on_a_window */
    MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Win_free(&window);
    use(MPI_COMM_WORLD);
}

/* finding rejected_before_another_window 3 call-failed ranks 1 without intel-abi says MPI_Win_create at */
static void rejected_before_another_window(void)
{
    /* The members still agree on the identity of the window. */
    int value = rank, memory = 0;
    MPI_Win window;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 1)
        MPI_Win_create(&memory, sizeof memory, -4, MPI_INFO_NULL, MPI_COMM_WORLD, &window); /* here: rejected_before_another_window */
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    use(MPI_COMM_WORLD);
}

FINDINGS(MPI_Init, F(rejected_blocking), F(rejected_nonblocking), F(rejected_constructor), F(group_with_a_stranger),
         F(rejected_on_a_file), F(rejected_on_a_window), F(rejected_before_another_window))
