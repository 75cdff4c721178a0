/* Objects that get the handles of freed ones, among them objects that only functions beyond the standard make.
 *
 * Nothing may be found, with and without `--check`.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

#define TIMES 4

/* As the libraries that have them declare them. */
#pragma weak MPIX_Comm_shrink
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *shrunk);
#ifdef MPIX_STREAM_NULL
#pragma weak MPIX_Stream_comm_create
#endif

typedef int create_op_x(void (*function)(), void (*destructor)(void *), int commute, void *extra, MPI_Op *op);

/* MPICH's ends the process, also without the layer. */
#ifdef OPEN_MPI
static int can_shrink(void) { return MPIX_Comm_shrink != NULL; }
#else
static int can_shrink(void) { return 0; }
#endif

static void keep(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)count, (void)type;
}

static void let_go(void *extra)
{
    (void)extra;
}

static void made_by_the_standard(void)
{
    MPI_Comm comm;
    MPI_Op op;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_free(&group);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_free(&type);
    MPI_Op_create(keep, 1, &op);
    MPI_Op_free(&op);
}

static void made_by_extensions(void)
{
    create_op_x *create = (create_op_x *)dlsym(RTLD_DEFAULT, "MPIX_Op_create_x");
    MPI_Comm comm;
    MPI_Op op;
    int size;
    if (create) {
        create((void (*)())keep, let_go, 1, NULL, &op);
        MPI_Op_free(&op);
    }
    if (can_shrink()) {
        MPIX_Comm_shrink(MPI_COMM_WORLD, &comm);
        MPI_Comm_size(comm, &size);
        MPI_Comm_free(&comm);
    }
#ifdef MPIX_STREAM_NULL
    if (MPIX_Stream_comm_create) {
        MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &comm);
        MPI_Comm_size(comm, &size);
        MPI_Comm_free(&comm);
    }
#endif
}

/* An old type that is predefined, though only one library has it; the type that it is asked of is a copy. */
static void old_type_of_one_library(void)
{
#ifdef OPEN_MPI
    MPI_Datatype own = (MPI_Datatype)dlsym(RTLD_DEFAULT, "ompi_mpi_short_float"), inner, outer, copy, old;
    MPI_Aint addresses[1];
    int numbers[3];
    if (!own)
        return;
    MPI_Type_vector(2, 1, 2, own, &inner);
    MPI_Type_contiguous(2, inner, &outer);
    MPI_Type_get_contents(outer, 1, 0, 1, numbers, addresses, &copy);
    MPI_Type_get_contents(copy, 3, 0, 1, numbers, addresses, &old);
    MPI_Type_free(&copy);
    MPI_Type_free(&outer);
    MPI_Type_free(&inner);
#endif
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < TIMES; i++) {
        made_by_the_standard();
        made_by_extensions();
        old_type_of_one_library();
    }
    MPI_Finalize();
}
