/* Requests created by every function in the document that does so, every kind of last synchronization of a window, error
 * handlers of files and windows, callbacks from a Fortran binding. None of these is freed or completed. */

enum { BIG = 1 << 20 };
static char big[BIG], bigger[BIG], room[BIG + 4096];

static void file_handler(MPI_File *file, int *code, ...) { (void)file, (void)code; }
static void win_handler(MPI_Win *win, int *code, ...) { (void)win, (void)code; }

/* Messages too long to be sent before the other rank posts the receive. */
static void sends(int rank, MPI_Comm mine) {
    MPI_Comm crowded;
    MPI_Request request;
    MPI_Comm_dup(mine, &crowded);
    if (rank == 1)
        MPI_Irecv(bigger, BIG, MPI_CHAR, 0, 24, crowded, &request);
    MPI_Barrier(crowded);
    if (rank == 1)
        return;
#define SENDS(name, function, tag) function(big, BIG, MPI_CHAR, 1, tag, crowded, &request), SAY(name, "request", request)
    SENDS("isend", MPI_Isend, 21);
    /* Some libraries return one handle for all sends that complete at once: no such send follows this one. */
    MPI_Buffer_attach(room, sizeof room);
    SENDS("ibsend", MPI_Ibsend, 22);
    SENDS("issend", MPI_Issend, 23);
    SENDS("irsend", MPI_Irsend, 24);
    SENDS("send_init", MPI_Send_init, 31);
    SENDS("bsend_init", MPI_Bsend_init, 32);
    SENDS("ssend_init", MPI_Ssend_init, 33);
    SENDS("rsend_init", MPI_Rsend_init, 34);
    SENDS("recv_init", MPI_Recv_init, 35);
}

static void file_requests(void) {
    static int ints[4];
    MPI_File file;
    MPI_Request request;
    MPI_Errhandler errors;
    MPI_File_open(MPI_COMM_SELF, "origins", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_create_errhandler(file_handler, &errors);
    MPI_File_set_errhandler(file, errors);
    SAY("origins", "file", file);
    SAY("file_errors", "errhandler", errors);
#define MOVES(name, function) \
    if (function(file, ints, 4, MPI_INT, &request) == MPI_SUCCESS) \
        SAY(name, "request", request)
    MOVES("iread", MPI_File_iread);
    MOVES("iwrite", MPI_File_iwrite);
    MOVES("iread_shared", MPI_File_iread_shared);
    MOVES("iwrite_shared", MPI_File_iwrite_shared);
    if (MPI_File_iwrite_at(file, 64, ints, 4, MPI_INT, &request) == MPI_SUCCESS)
        SAY("iwrite_at", "request", request);
}

static void synchronised(int rank, MPI_Comm mine) {
    static double memory[8];
    MPI_Win unlocked, completed, waited, tested, *all[] = {&unlocked, &completed, &waited, &tested};
    MPI_Group both, other;
    MPI_Errhandler errors;
    int peer[1] = {1 - rank}, done = 0;
    for (int i = 0; i < 4; i++)
        MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, mine, all[i]);
    MPI_Comm_group(mine, &both);
    MPI_Group_incl(both, 1, peer, &other);
    MPI_Win_create_errhandler(win_handler, &errors);
    MPI_Win_set_errhandler(unlocked, errors);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, unlocked);
        MPI_Win_unlock(0, unlocked);
        MPI_Win_start(other, 0, completed);
        MPI_Win_complete(completed);
        MPI_Win_post(other, 0, waited);
        MPI_Win_wait(waited);
        MPI_Win_post(other, 0, tested);
        while (!done)
            MPI_Win_test(tested, &done);
    } else {
        MPI_Win_post(other, 0, completed);
        MPI_Win_wait(completed);
        MPI_Win_start(other, 0, waited);
        MPI_Win_complete(waited);
        MPI_Win_start(other, 0, tested);
        MPI_Win_complete(tested);
    }
    SAY("unlocked", "win", unlocked);
    SAY("completed", "win", completed);
    SAY("waited", "win", waited);
    SAY("tested", "win", tested);
    SAY("win_errors", "errhandler", errors);
}

#ifdef FORTRAN_BINDING
static void fortran_copy(int *comm, int *key, MPI_Aint *extra, MPI_Aint *in, MPI_Aint *out, int *flag, int *error) {
    (void)comm, (void)key, (void)extra;
    *out = *in + 1, *flag = 1, *error = 0;
}
static void fortran_delete(int *comm, int *key, MPI_Aint *value, MPI_Aint *extra, int *error) {
    (void)comm, (void)key, (void)value, (void)extra;
    *error = 0;
}

/* If the binding has these, they bypass the C functions in all libraries seen so far. */
static void attributes_from_fortran(void *binding) {
    typedef void make_key(void *, void *, int *, MPI_Aint *, int *);
    typedef void set(int *, int *, MPI_Aint *, int *);
    make_key *make = binding ? (make_key *)dlsym(binding, "mpi_comm_create_keyval_") : NULL;
    set *give = binding ? (set *)dlsym(binding, "mpi_comm_set_attr_") : NULL;
    MPI_Aint extra = 0x99, value = 0x5678;
    MPI_Comm owner, copied;
    int key, error, number;
    if (!make || !give)
        return;
    MPI_Comm_dup(MPI_COMM_SELF, &owner);
    number = MPI_Comm_c2f(owner);
    make((void *)fortran_copy, (void *)fortran_delete, &key, &extra, &error);
    give(&number, &key, &value, &error);
    /* Calls the copy function, with more arguments than fit into registers. */
    MPI_Comm_dup(owner, &copied);
    SAY("fortran_copy", "comm", copied);
    SAY("fortran_owner", "comm", owner);
    fprintf(list, "fortran_key keyval %#llx\n", 1ull << 32 | (unsigned)key);
}

/* The C handle is obtained from the library, bypassing the layer, which must know the number from the binding alone. */
static void file_from_fortran(void *binding) {
    typedef void open(int *, const char *, int *, int *, int *, int *, long);
    typedef MPI_File to_c(int);
    open *opened = binding ? (open *)dlsym(binding, "mpi_file_open_") : NULL;
    to_c *handle = binding ? (to_c *)dlsym(binding, "MPI_File_f2c") : NULL;
    int comm = MPI_Comm_c2f(MPI_COMM_SELF), info = MPI_Info_c2f(MPI_INFO_NULL), number, error;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    const char name[] = "of_fortran";
    if (!opened || !handle)
        return;
    opened(&comm, name, &mode, &info, &number, &error, sizeof name - 1);
    SAY("fortran_file", "file", handle(number));
    FORTRAN("fortran_file", "file", number);
}
#endif

/* Acts like a Fortran program, if the library has a Fortran binding. */
static void from_fortran(void) {
#ifdef FORTRAN_BINDING
    typedef void make_op(MPI_User_function *, int *, int *, int *);
    typedef void make_errhandler(void (*)(MPI_Comm *, int *, ...), int *, int *);
    void *binding = dlopen(FORTRAN_BINDING, RTLD_NOW);
    make_op *op = binding ? (make_op *)dlsym(binding, "mpi_op_create_") : NULL;
    make_errhandler *errhandler = binding ? (make_errhandler *)dlsym(binding, "mpi_comm_create_errhandler_") : NULL;
    int yes = 1, made, error;
    if (op) {
        op(operation, &yes, &made, &error);
        SAY("fortran_op", "op", MPI_Op_f2c(made));
    }
    if (errhandler) {
        errhandler(handler, &made, &error);
        SAY("fortran_errors", "errhandler", MPI_Errhandler_f2c(made));
    }
    attributes_from_fortran(binding);
    file_from_fortran(binding);
#endif
}

static void origins(int rank, MPI_Comm mine) {
    sends(rank, mine);
    synchronised(rank, mine);
    if (rank == 0)
        file_requests();
    from_fortran();
}
