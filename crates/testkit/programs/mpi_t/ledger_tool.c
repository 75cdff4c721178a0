/* A PMPI tool that keeps its own ledger and compares the variables with it, under any program.
 *
 * It runs between the program and libmpiscope.so and records each call of the functions that it wraps, and each message
 * of Send, Isend, Recv and Sendrecv, by communicator and rank. When a communicator is freed, and at the end, the
 * variables must have the same values. All receives of the program must be blocking, as in the Intel MPI Benchmarks.
 * Prints at the end
 *
 *     ledger of rank R: C calls, M messages, D differences
 */
#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long count;

#define FUNCTIONS(F) \
    F(Send) F(Isend) F(Recv) F(Sendrecv) F(Wait) F(Waitall) F(Barrier) F(Bcast) F(Allreduce) F(Alltoall) F(Reduce) \
    F(Gather) F(Comm_split) F(Comm_free)

enum function {
#define NUMBER(name) CALL_##name,
    FUNCTIONS(NUMBER) WRAPPED
};

static const char *const names[] = {
#define NAME(name) "MPI_" #name,
    FUNCTIONS(NAME)
};

static MPI_T_pvar_session session;
static MPI_T_pvar_handle calls_handle;
static int active, rank, functions;
static count calls[WRAPPED], messages, differences;

/* The traffic on a communicator, and the variables that count it. */
enum { SENT, RECEIVED, BYTES_SENT, BYTES_RECEIVED, KINDS };

static const char *const variables[KINDS] = {
    "mpiscope_messages_sent", "mpiscope_messages_received", "mpiscope_bytes_sent", "mpiscope_bytes_received",
};

struct line {
    MPI_Comm comm;
    int size;
    count *ledger[KINDS];
    MPI_T_pvar_handle handles[KINDS];
    struct line *next;
};

static struct line *lines;

static void differ(const char *what, int at, count seen, count expected)
{
    if (seen == expected)
        return;
    if (differences++ < 10)
        printf("rank %d: %s[%d] is %llu, not %llu\n", rank, what, at, seen, expected);
}

static MPI_T_pvar_handle open_counter(const char *name, MPI_Comm *comm, int *elements)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index;
    if (PMPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS
        || PMPI_T_pvar_handle_alloc(session, index, comm, &handle, elements) != MPI_SUCCESS
        || PMPI_T_pvar_start(session, handle) != MPI_SUCCESS) {
        printf("rank %d: %s cannot be opened\n", rank, name);
        differences++;
    }
    return handle;
}

/* The ledger of a communicator; opened before its first message. */
static struct line *line_of(MPI_Comm comm)
{
    struct line *line;
    for (line = lines; line; line = line->next)
        if (line->comm == comm)
            return line;
    line = calloc(1, sizeof *line);
    line->comm = comm;
    for (int kind = 0; kind < KINDS; kind++) {
        line->handles[kind] = open_counter(variables[kind], &comm, &line->size);
        line->ledger[kind] = calloc((size_t) line->size, sizeof(count));
    }
    line->next = lines;
    return lines = line;
}

static void note(struct line *line, int kind, int peer, int elements, MPI_Datatype type)
{
    int size;
    if (!line || peer == MPI_PROC_NULL)
        return;
    PMPI_Type_size(type, &size);
    line->ledger[kind][peer]++;
    line->ledger[kind + BYTES_SENT][peer] += (count) elements * (count) size;
    messages += kind == SENT;
}

static void note_received(struct line *line, const MPI_Status *status)
{
    int bytes;
    if (!line || status->MPI_SOURCE == MPI_PROC_NULL)
        return;
    PMPI_Get_count(status, MPI_BYTE, &bytes);
    note(line, RECEIVED, status->MPI_SOURCE, bytes, MPI_BYTE);
}

static void settle(struct line *line)
{
    count *seen = calloc((size_t) line->size, sizeof *seen);
    for (int kind = 0; kind < KINDS; kind++) {
        PMPI_T_pvar_read(session, line->handles[kind], seen);
        for (int peer = 0; peer < line->size; peer++)
            differ(variables[kind], peer, seen[peer], line->ledger[kind][peer]);
        PMPI_T_pvar_handle_free(session, &line->handles[kind]);
        free(line->ledger[kind]);
    }
    free(seen);
}

static void forget(MPI_Comm comm)
{
    for (struct line **at = &lines; *at; at = &(*at)->next)
        if ((*at)->comm == comm) {
            struct line *line = *at;
            settle(line);
            *at = line->next;
            free(line);
            return;
        }
}

/* The functions have the numbers of the items of the enumeration of mpiscope_function. */
static int number_of(const char *function)
{
    MPI_T_enum items = MPI_T_ENUM_NULL;
    char name[256];
    int index, none = 0, number = 0, value, length, verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype type;
    PMPI_T_pvar_get_index("mpiscope_function", MPI_T_PVAR_CLASS_STATE, &index);
    PMPI_T_pvar_get_info(index, NULL, &none, &verbosity, &class, &type, &items, NULL, &none, &bind, &readonly,
                         &continuous, &atomic);
    none = 0;
    PMPI_T_enum_get_info(items, &number, NULL, &none);
    for (int i = 0; i < number; i++) {
        length = sizeof name;
        if (PMPI_T_enum_get_item(items, i, &value, name, &length) == MPI_SUCCESS && !strcmp(name, function))
            return i;
    }
    return -1;
}

static void settle_calls(void)
{
    count *seen = calloc((size_t) functions, sizeof *seen);
    PMPI_T_pvar_stop(session, calls_handle);
    PMPI_T_pvar_read(session, calls_handle, seen);
    for (int i = 0; i < WRAPPED; i++) {
        int number = number_of(names[i]);
        differ(names[i], number, number >= 0 && number < functions ? seen[number] : 0, calls[i]);
    }
    free(seen);
}

static void begin(void)
{
    int provided;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return;
    PMPI_T_pvar_session_create(&session);
    calls_handle = open_counter("mpiscope_calls", NULL, &functions);
    active = 1;
}

int MPI_Init(int *argc, char ***argv)
{
    int code = PMPI_Init(argc, argv);
    begin();
    return code;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int code = PMPI_Init_thread(argc, argv, required, provided);
    begin();
    return code;
}

int MPI_Finalize(void)
{
    count all = 0;
    while (active && lines)
        forget(lines->comm);
    if (active)
        settle_calls();
    for (int i = 0; i < WRAPPED; i++)
        all += calls[i];
    printf("ledger of rank %d: %llu calls, %llu messages, %llu differences\n", rank, all, messages, differences);
    fflush(stdout);
    return PMPI_Finalize();
}

/* Records the call, and returns the ledger of its communicator. */
static struct line *called(enum function function, MPI_Comm comm)
{
    if (!active)
        return NULL;
    calls[function]++;
    return line_of(comm);
}

int MPI_Send(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    note(called(CALL_Send, comm), SENT, to, n, type);
    return PMPI_Send(buf, n, type, to, tag, comm);
}

int MPI_Isend(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    note(called(CALL_Isend, comm), SENT, to, n, type);
    return PMPI_Isend(buf, n, type, to, tag, comm, request);
}

int MPI_Recv(void *buf, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    struct line *line = called(CALL_Recv, comm);
    int code = PMPI_Recv(buf, n, type, from, tag, comm, &own);
    note_received(line, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return code;
}

int MPI_Sendrecv(const void *out, int n_out, MPI_Datatype type_out, int to, int tag_out, void *in, int n_in,
                 MPI_Datatype type_in, int from, int tag_in, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    struct line *line = called(CALL_Sendrecv, comm);
    note(line, SENT, to, n_out, type_out);
    int code = PMPI_Sendrecv(out, n_out, type_out, to, tag_out, in, n_in, type_in, from, tag_in, comm, &own);
    note_received(line, &own);
    if (status != MPI_STATUS_IGNORE)
        *status = own;
    return code;
}

int MPI_Comm_free(MPI_Comm *comm)
{
    if (active) {
        calls[CALL_Comm_free]++;
        forget(*comm);
    }
    return PMPI_Comm_free(comm);
}

/* The others transfer no messages that the program sees. */
#define COUNTED(name, parameters, arguments) \
    int MPI_##name parameters \
    { \
        calls[CALL_##name] += (count) active; \
        return PMPI_##name arguments; \
    }

COUNTED(Wait, (MPI_Request *request, MPI_Status *status), (request, status))
COUNTED(Waitall, (int n, MPI_Request requests[], MPI_Status statuses[]), (n, requests, statuses))
COUNTED(Barrier, (MPI_Comm comm), (comm))
COUNTED(Bcast, (void *buf, int n, MPI_Datatype type, int root, MPI_Comm comm), (buf, n, type, root, comm))
COUNTED(Allreduce, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
        (in, out, n, type, op, comm))
COUNTED(Alltoall, (const void *out, int n_out, MPI_Datatype type_out, void *in, int n_in, MPI_Datatype type_in,
                   MPI_Comm comm), (out, n_out, type_out, in, n_in, type_in, comm))
COUNTED(Reduce, (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm),
        (in, out, n, type, op, root, comm))
COUNTED(Gather, (const void *out, int n_out, MPI_Datatype type_out, void *in, int n_in, MPI_Datatype type_in, int root,
                 MPI_Comm comm), (out, n_out, type_out, in, n_in, type_in, root, comm))
COUNTED(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made))
