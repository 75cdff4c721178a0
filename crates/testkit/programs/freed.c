// Objects that are freed, some while MPI still holds them: `freed DIR`. Then creates DIR/held.RANK. At DIR/go it lets MPI
// release them, creates DIR/gone.RANK, and ends at DIR/end. The first object of each kind is held, the second is not.
#include <mpi.h>
#include "stand.h"

static void on_error(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void first_of_two(void *in, void *inout, int *len, MPI_Datatype *type) {
    (void)in, (void)inout, (void)len, (void)type;
}

static void communicators(MPI_Request *pending) {
    static int room;
    MPI_Comm comms[2];
    for (int i = 0; i < 2; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &comms[i]);
        MPI_Comm_set_name(comms[i], i ? "second" : "first");
    }
    MPI_Irecv(&room, 1, MPI_INT, 0, 5, comms[0], pending);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
}

static void error_handlers(MPI_Comm kept) {
    MPI_Errhandler handlers[2];
    for (int i = 0; i < 2; i++)
        MPI_Comm_create_errhandler(on_error, &handlers[i]);
    MPI_Comm_set_errhandler(kept, handlers[0]);
    MPI_Errhandler_free(&handlers[0]);
    MPI_Errhandler_free(&handlers[1]);
}

static void keyvals(MPI_Comm kept) {
    int keys[2];
    for (int i = 0; i < 2; i++)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL);
    MPI_Comm_set_attr(kept, keys[0], keys);
    MPI_Comm_free_keyval(&keys[0]);
    MPI_Comm_free_keyval(&keys[1]);
}

// A structure of a vector of the first: both parts are freed.
static void datatypes(MPI_Datatype *kept) {
    MPI_Datatype types[2], vector;
    for (int i = 0; i < 2; i++) {
        MPI_Type_contiguous(3, MPI_INT, &types[i]);
        MPI_Type_set_name(types[i], i ? "second" : "first");
    }
    MPI_Type_vector(2, 1, 2, types[0], &vector);
    MPI_Type_set_name(vector, "vector");
    int length = 1;
    MPI_Aint place = 0;
    MPI_Type_create_struct(1, &length, &place, &vector, kept);
    MPI_Type_free(&vector);
    MPI_Type_free(&types[0]);
    MPI_Type_free(&types[1]);
}

static void operations(MPI_Request *reduction) {
    MPI_Op ops[2];
    for (int i = 0; i < 2; i++)
        MPI_Op_create(first_of_two, 1, &ops[i]);
    *reduction = MPI_REQUEST_NULL;
#if MPI_VERSION >= 4
    static int in, out;
    MPI_Allreduce_init(&in, &out, 1, MPI_INT, ops[0], MPI_COMM_SELF, MPI_INFO_NULL, reduction);
    // Active or not, it keeps its operation.
    MPI_Start(reduction);
#endif
    MPI_Op_free(&ops[0]);
    MPI_Op_free(&ops[1]);
}

// A request that reuses the record of an earlier one.
static void second_tenant(MPI_Request *live) {
    static int value, room;
    MPI_Irecv(&room, 1, MPI_INT, 0, 1, MPI_COMM_SELF, live);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(live, MPI_STATUS_IGNORE);
    MPI_Irecv(&room, 1, MPI_INT, 0, 2, MPI_COMM_SELF, live);
}

static void cancel(MPI_Request *request) {
    MPI_Cancel(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Comm kept;
    MPI_Datatype structure, real;
    MPI_Request pending, reduction, live;
    int rank;
    MPI_Init(&argc, &argv);
    const char *dir = argc > 1 ? argv[1] : ".";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    // A library without Fortran may have no such type.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_create_f90_real(6, 30, &real);
    second_tenant(&live);
    MPI_Comm_dup(MPI_COMM_SELF, &kept);
    MPI_Comm_set_name(kept, "kept");
    communicators(&pending);
    error_handlers(kept);
    keyvals(kept);
    datatypes(&structure);
    operations(&reduction);
    say(dir, "held", rank);
    wait_for(dir, "go");
    cancel(&pending);
    cancel(&live);
    MPI_Comm_free(&kept);
    MPI_Type_free(&structure);
    if (reduction != MPI_REQUEST_NULL) {
        MPI_Wait(&reduction, MPI_STATUS_IGNORE);
        MPI_Request_free(&reduction);
    }
    say(dir, "gone", rank);
    wait_for(dir, "end");
    MPI_Finalize();
    return 0;
}
