/* Every event type of libmpiscope.so, raised by its cause, with its required elements.
 *
 * A check listens to some types, does one thing, and examines the events. EVENTS.md lists the checks for each type;
 * the four types for connecting processes are tested with two jobs, not by this program.
 */
#include "ear.h"

/* The number of an item in an enumeration that some element's description names. */
static long long item(const char *enumeration, const char *wanted)
{
    char name[256];
    struct pvar p;
    int n = 0, number = 0, length = 0;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    if (!strcmp(enumeration, "function") && pvar_find("mpiscope_function", MPI_T_PVAR_CLASS_STATE, &p))
        names = p.names;
    if (names == MPI_T_ENUM_NULL || MPI_T_enum_get_info(names, &n, NULL, &length) != MPI_SUCCESS)
        return -2;
    for (int i = 0; i < n; i++) {
        length = sizeof name;
        if (MPI_T_enum_get_item(names, i, &number, name, &length) == MPI_SUCCESS && !strcmp(name, wanted))
            return number;
    }
    return -2;
}

static long long function(const char *name)
{
    return item("function", name);
}

/* Kinds of objects in the documented order. */
enum { K_COMM, K_GROUP, K_DATATYPE, K_OP, K_REQUEST, K_MESSAGE, K_WIN, K_FILE, K_INFO, K_ERRHANDLER, K_SESSION, K_KEYVAL };

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void) comm;
    (void) code;
}

/* Intel's library of the standard ABI treats MPI_ERRORS_RETURN as another handler; MPICH 5 returns MPI_SUCCESS when a
 * user's handler has returned. */
static int needs_own_handler(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return strstr(version, "Intel") != NULL;
}

/* A communicator whose errors are returned. */
static MPI_Comm returning(MPI_Comm of)
{
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(of, &comm);
    if (!needs_own_handler()) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        return comm;
    }
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    return comm;
}

static void on_window_error(MPI_Win *win, int *code, ...)
{
    (void)win;
    (void)code;
}

/* Errors of the window are returned from now on. */
static void return_errors(MPI_Win win)
{
    MPI_Errhandler handler;
    if (!needs_own_handler()) {
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        return;
    }
    MPI_Win_create_errhandler(on_window_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Errhandler_free(&handler);
}

static void check_calls(void)
{
    struct ear start, end, error;
    int size, bad;
    char buffer[8] = "";
    MPI_Comm comm = returning(MPI_COMM_SELF);
    if (!hear("EK-1", &start, "call_started", NULL) || !hear("EK-1", &end, "call_ended", NULL)
        || !hear("EK-1", &error, "error_raised", NULL))
        return;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Bcast(buffer, 8, MPI_CHAR, 0, comm);
    bad = MPI_Send(buffer, 1, MPI_CHAR, 77, 1, comm);
    CHECKF("EK-2", start.calls == 3 && value(&start, 0, "function") == function("MPI_Comm_size")
           && value(&start, 1, "function") == function("MPI_Bcast") && value(&start, 0, "thread") == getpid()
           && value(&start, 0, "caller") != 0 && value(&start, 0, "caller") != value(&start, 1, "caller"),
           "the start of a call is an event, with function, thread and caller", "%d calls, function %lld",
           start.calls, value(&start, 0, "function"));
    CHECKF("EK-3", end.calls == 3 && value(&end, 1, "function") == function("MPI_Bcast")
           && value(&end, 1, "bytes") == 8 && value(&end, 1, "duration") > 0
           && value(&end, 1, "caller") == value(&start, 1, "caller")
           && end.stamps[1] - value(&end, 1, "duration") <= start.stamps[1] + 1,
           "the end of a call is an event, with bytes and duration", "%d calls, %lld bytes, %lld ticks", end.calls,
           value(&end, 1, "bytes"), value(&end, 1, "duration"));
    int class = -1;
    MPI_Error_class(bad, &class);
    CHECKF("EK-4", bad != MPI_SUCCESS && error.calls == 1 && value(&error, 0, "code") == bad
           && value(&error, 0, "class") == class && value(&error, 0, "function") == function("MPI_Send"),
           "an error is an event, with function, code and class", "%d events, code %lld, class %lld", error.calls,
           value(&error, 0, "code"), value(&error, 0, "class"));
    deaf(&start);
    deaf(&end);
    deaf(&error);
    MPI_Comm_free(&comm);
}

/* One of each on a communicator of this process alone. */
static void check_messages(void)
{
    struct ear sent, sent_all, posted, matched, received, cancelled;
    char out[30] = "", in[30];
    MPI_Comm comm, other;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    if (!hear("EK-1", &sent, "send_posted", &comm) || !hear("EK-1", &sent_all, "send_completed", &comm)
        || !hear("EK-1", &posted, "receive_posted", &comm) || !hear("EK-1", &matched, "receive_matched", &comm)
        || !hear("EK-1", &received, "receive_completed", &comm)
        || !hear("EK-1", &cancelled, "receive_cancelled", &comm))
        return;
    MPI_Irecv(in, 30, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    MPI_Send(out, 20, MPI_CHAR, 0, 5, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(out, 7, MPI_CHAR, 0, 6, comm, &request);
    MPI_Mprobe(0, 6, comm, &message, &status);
    CHECKF("EK-5", matched.calls == 2 && value(&matched, 1, "tag") == 6 && value(&matched, 1, "bytes") == 7,
           "a matching probe is an event that a receive was matched", "%d events", matched.calls);
    MPI_Mrecv(in, 30, MPI_CHAR, &message, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 30, MPI_CHAR, 0, 99, comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    /* Not received: another communicator. */
    MPI_Sendrecv(out, 3, MPI_CHAR, 0, 8, in, 3, MPI_CHAR, 0, 8, other, &status);
    CHECKF("EK-6", sent.calls == 2 && value(&sent, 0, "peer") == 0 && value(&sent, 0, "tag") == 5
           && value(&sent, 0, "bytes") == 20 && value(&sent, 1, "bytes") == 7,
           "the start of a send is an event, with peer, tag and bytes, for its communicator alone", "%d events",
           sent.calls);
    CHECKF("EK-7", sent_all.calls == 2 && which(&sent_all, "tag", 5) >= 0
           && value(&sent_all, which(&sent_all, "tag", 6), "bytes") == 7,
           "the end of a send is an event", "%d events", sent_all.calls);
    CHECKF("EK-8", posted.calls == 2 && value(&posted, 0, "peer") == MPI_ANY_SOURCE
           && value(&posted, 0, "tag") == MPI_ANY_TAG && value(&posted, 1, "tag") == 99,
           "the start of a receive is an event, with source and tag as the program named them", "%d events, tag %lld",
           posted.calls, value(&posted, 0, "tag"));
    CHECKF("EK-9", matched.calls == 2 && value(&matched, 0, "peer") == 0 && value(&matched, 0, "tag") == 5
           && value(&matched, 0, "bytes") == 20, "a matched receive is an event, with actual source, tag and bytes",
           "%d events", matched.calls);
    CHECKF("EK-10", received.calls == 2 && value(&received, 0, "tag") == 5 && value(&received, 1, "bytes") == 7
           && value(&received, 0, "posted") <= received.stamps[0] && value(&received, 0, "posted") > 0,
           "the end of a receive is an event, with the time at which it was posted", "%d events", received.calls);
    CHECKF("EK-11", cancelled.calls == 1 && value(&cancelled, 0, "tag") == 99, "a cancelled receive is an event",
           "%d events", cancelled.calls);
    deaf(&sent);
    deaf(&sent_all);
    deaf(&posted);
    deaf(&matched);
    deaf(&received);
    deaf(&cancelled);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&other);
}

/* A call that fails ends what it started, so that the events of both ends can still be joined. */
static void check_failures(void)
{
    struct ear sent, unsent, posted, unposted, started, gone;
    char out[4] = "", in[4];
    MPI_Comm comm = returning(MPI_COMM_SELF);
    MPI_Request request;
    if (!hear("EK-1", &sent, "send_posted", &comm) || !hear("EK-1", &unsent, "send_cancelled", &comm)
        || !hear("EK-1", &posted, "receive_posted", &comm) || !hear("EK-1", &unposted, "receive_cancelled", &comm)
        || !hear("EK-1", &started, "request_started", NULL) || !hear("EK-1", &gone, "request_freed", NULL))
        return;
    MPI_Send(out, -1, MPI_CHAR, 0, 5, comm);
    MPI_Recv(in, -1, MPI_CHAR, 0, 6, comm, MPI_STATUS_IGNORE);
    CHECKF("EK-47", sent.calls == unsent.calls && value(&unsent, 0, "id") == value(&sent, 0, "id"),
           "a send that failed never arrives", "%d sends posted, %d cancelled", sent.calls, unsent.calls);
    CHECKF("EK-48", posted.calls == unposted.calls && value(&unposted, 0, "id") == value(&posted, 0, "id"),
           "a receive that failed gets no message", "%d receives posted, %d cancelled", posted.calls, unposted.calls);
    /* Complete when it is made: such requests often share one object. */
    MPI_Isend(out, 4, MPI_CHAR, MPI_PROC_NULL, 7, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECKF("EK-49", started.calls == 1 && gone.calls == 1 && value(&gone, 0, "id") == value(&started, 0, "id"),
           "each request that is started is freed in the end", "%d started, %d freed", started.calls, gone.calls);
    deaf(&sent);
    deaf(&unsent);
    deaf(&posted);
    deaf(&unposted);
    deaf(&started);
    deaf(&gone);
    MPI_Comm_free(&comm);
}

/* Libraries rarely cancel a send. The events must agree with what the library reports. */
static void check_cancelled_send(void)
{
    struct ear cancelled;
    static char big[1 << 20];
    MPI_Comm comm;
    MPI_Request request;
    MPI_Status status;
    int done = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (!hear("EK-1", &cancelled, "send_cancelled", &comm))
        return;
    MPI_Issend(big, (int) sizeof big, MPI_CHAR, 0, 3, comm, &request);
    MPI_Cancel(&request);
    MPI_Test(&request, &done, &status);
    if (done)
        MPI_Test_cancelled(&status, &done);
    CHECKF("EK-12", cancelled.calls == done && (!done || value(&cancelled, 0, "tag") == 3),
           "a send is cancelled in the events if the library reports it", "%d events, and it %s", cancelled.calls,
           done ? "was" : "was not");
    if (request != MPI_REQUEST_NULL) {
        MPI_Recv(big, (int) sizeof big, MPI_CHAR, 0, 3, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    deaf(&cancelled);
    MPI_Comm_free(&comm);
}

/* Between two ranks, both of which record messages from here on. */
static void check_waiting(void)
{
    struct ear unexpected, late;
    MPI_Comm world = MPI_COMM_WORLD;
    char byte = 0;
    if (conform_size < 2) {
        skip("EK-13", "one rank");
        return;
    }
    if (!hear("EK-1", &unexpected, "receive_unexpected", &world) || !hear("EK-1", &late, "receive_late", &world))
        return;
    MPI_Barrier(MPI_COMM_WORLD);
    if (conform_rank == 1) {
        MPI_Send(&byte, 1, MPI_CHAR, 0, 11, MPI_COMM_WORLD);
        MPI_Send(&byte, 0, MPI_CHAR, 0, 12, MPI_COMM_WORLD);
        usleep(60000);
        MPI_Send(&byte, 1, MPI_CHAR, 0, 13, MPI_COMM_WORLD);
    } else if (conform_rank == 0) {
        MPI_Recv(&byte, 1, MPI_CHAR, 1, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&byte, 1, MPI_CHAR, 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&byte, 1, MPI_CHAR, 1, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int early = which(&unexpected, "tag", 11), waited = which(&late, "tag", 13);
        CHECKF("EK-13", early >= 0 && value(&unexpected, early, "peer") == 1 && value(&unexpected, early, "bytes") == 1
               && value(&unexpected, early, "sent") < value(&unexpected, early, "posted"),
               "a receive whose message had already arrived is an event, with both times", "%d events, sent %lld, posted %lld",
               unexpected.calls, value(&unexpected, early, "sent"), value(&unexpected, early, "posted"));
        CHECKF("EK-14", waited >= 0 && value(&late, waited, "peer") == 1
               && value(&late, waited, "posted") < value(&late, waited, "sent"),
               "a receive that waited for a late sender is an event, with both times", "%d events, sent %lld, posted %lld",
               late.calls, value(&late, waited, "sent"), value(&late, waited, "posted"));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    deaf(&unexpected);
    deaf(&late);
}

static void check_requests(void)
{
    struct ear started, completed, gone, mark;
    char out[4] = "", in[4];
    MPI_Comm comm;
    MPI_Request request[2];
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (!hear("EK-1", &started, "request_started", NULL) || !hear("EK-1", &completed, "request_completed", NULL)
        || !hear("EK-1", &gone, "request_freed", NULL) || !hear("EK-1", &mark, "watermark_passed", NULL))
        return;
    MPI_Recv_init(in, 4, MPI_CHAR, 0, 21, comm, &request[0]);
    MPI_Start(&request[0]);
    long long handle = WORD(request[0]);
    MPI_Send(out, 4, MPI_CHAR, 0, 21, comm);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    CHECKF("EK-15", started.calls == 1 && value(&started, 0, "request") == handle && value(&started, 0, "tag") == 21
           && value(&started, 0, "peer") == 0, "the start of a request is an event", "%d events", started.calls);
    CHECKF("EK-16", completed.calls == 1 && value(&completed, 0, "request") == handle && gone.calls == 0
           && value(&completed, 0, "started") > 0 && value(&completed, 0, "started") <= completed.stamps[0],
           "the end of a request is an event, with the time of its start", "%d events, %lld", completed.calls,
           value(&completed, 0, "started"));
    MPI_Request_free(&request[0]);
    CHECKF("EK-17", gone.calls == 1 && value(&gone, 0, "request") == handle, "the freeing of a request is an event",
           "%d events", gone.calls);
    /* More concurrent receives than ever before in this program. */
    MPI_Request many[40];
    for (int i = 0; i < 40; i++)
        MPI_Irecv(in, 4, MPI_CHAR, 0, 100 + i, comm, &many[i]);
    CHECKF("EK-18", mark.calls >= 1 && value(&mark, (mark.calls < KEPT ? mark.calls : KEPT) - 1, "value") > 0
           && value(&mark, 0, "pvar") >= 0, "a watermark that rises is an event, with variable and value", "%d events",
           mark.calls);
    for (int i = 0; i < 40; i++) {
        MPI_Cancel(&many[i]);
        MPI_Wait(&many[i], MPI_STATUS_IGNORE);
    }
    deaf(&started);
    deaf(&completed);
    deaf(&gone);
    deaf(&mark);
    MPI_Comm_free(&comm);
}

static void check_collectives(void)
{
    struct ear in, out;
    MPI_Comm comm;
    MPI_Request request;
    double x[3] = { 0 };
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (!hear("EK-1", &in, "collective_entered", &comm) || !hear("EK-1", &out, "collective_left", &comm))
        return;
    MPI_Bcast(x, 3, MPI_DOUBLE, 0, comm);
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_SELF);
    CHECKF("EK-19", in.calls == 2 && value(&in, 0, "function") == function("MPI_Bcast") && value(&in, 0, "root") == 0
           && value(&in, 1, "root") == -1 && value(&in, 1, "id") > value(&in, 0, "id")
           && value(&in, 1, "number") == value(&in, 0, "number") + 1 && value(&in, 0, "comm_id") != 0
           && value(&in, 1, "function") == function("MPI_Ibarrier"),
           "entering a collective is an event, with communicator, number, root and operation", "%d events, root %lld",
           in.calls, value(&in, 0, "root"));
    CHECKF("EK-20", out.calls == 2 && value(&out, 0, "number") == value(&in, 0, "number")
           && value(&out, 0, "comm_id") == value(&in, 0, "comm_id") && value(&out, 1, "id") == value(&in, 1, "id") && value(&out, 0, "bytes") == 24
           && value(&out, 0, "root") == 0 && value(&out, 0, "duration") > 0 && in.stamps[0] < out.stamps[0],
           "leaving a collective is an event, with the same and the duration", "%d events", out.calls);
    deaf(&in);
    deaf(&out);
    MPI_Comm_free(&comm);
}

#if MPI_VERSION >= 4
static void check_partitions(void)
{
    struct ear ready, arrived;
    char out[8] = "", in[8];
    int flag = 0;
    MPI_Comm comm;
    MPI_Request request[2];
    MPI_Status statuses[2];
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    if (!hear("EK-1", &ready, "partition_ready", NULL) || !hear("EK-1", &arrived, "partition_arrived", NULL))
        return;
    MPI_Psend_init(out, 4, 2, MPI_CHAR, 0, 31, comm, MPI_INFO_NULL, &request[0]);
    MPI_Precv_init(in, 4, 2, MPI_CHAR, 0, 31, comm, MPI_INFO_NULL, &request[1]);
    MPI_Startall(2, request);
    MPI_Pready(3, request[0]);
    MPI_Pready_range(0, 2, request[0]);
    while (!flag)
        MPI_Parrived(request[1], 2, &flag);
    MPI_Waitall(2, request, statuses);
    CHECKF("EK-21", ready.calls == 2 && value(&ready, 0, "first") == 3 && value(&ready, 0, "count") == 1
           && value(&ready, 1, "first") == 0 && value(&ready, 1, "count") == 3
           && value(&ready, 1, "request") == WORD(request[0]), "marking partitions ready is an event", "%d events",
           ready.calls);
    CHECKF("EK-22", arrived.calls == 1 && value(&arrived, 0, "partition") == 2
           && value(&arrived, 0, "request") == WORD(request[1]), "the arrival of a partition is an event", "%d events",
           arrived.calls);
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    deaf(&ready);
    deaf(&arrived);
    MPI_Comm_free(&comm);
}
#endif

static void nothing(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void) in;
    (void) inout;
    (void) length;
    (void) type;
}

static struct ear made, gone;

/* The object of this kind and handle was the last one created, and then freed, both with the same number. */
static void object_lived(int kind, long long handle, const char *what)
{
    int a = -1, b = -1;
    for (int i = 0; i < made.calls && i < KEPT; i++)
        if (value(&made, i, "kind") == kind && value(&made, i, "handle") == handle)
            a = i;
    for (int i = 0; i < gone.calls && i < KEPT; i++)
        if (value(&gone, i, "kind") == kind && value(&gone, i, "handle") == handle)
            b = i;
    CHECKF("EK-23", a >= 0, "the creation of an object is an event, for every kind", "%s, %d events", what, made.calls);
    CHECKF("EK-24", b >= 0 && value(&made, a, "object") == value(&gone, b, "object"),
           "the freeing of an object is an event, for every kind", "%s, %d events", what, gone.calls);
    made.calls = gone.calls = 0;
}

static void check_objects(void)
{
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Message message;
    MPI_Request request;
    long long handle;
    int keyval;
    char byte = 0, other = 0;
    if (!hear("EK-1", &made, "object_created", NULL) || !hear("EK-1", &gone, "object_freed", NULL))
        return;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    CHECKF("EK-25", value(&made, 0, "function") == function("MPI_Comm_dup") && value(&made, 0, "parent") != 0,
           "an object's event names the function and the parent", "%lld, %lld", value(&made, 0, "function"),
           value(&made, 0, "parent"));
    handle = WORD(comm);
    MPI_Isend(&byte, 1, MPI_CHAR, 0, 41, comm, &request);
    made.calls = gone.calls = 0;
    MPI_Mprobe(0, 41, comm, &message, MPI_STATUS_IGNORE);
    long long matched = WORD(message);
    MPI_Mrecv(&other, 1, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    object_lived(K_MESSAGE, matched, "message");
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    handle = WORD(comm);
    MPI_Comm_free(&comm);
    object_lived(K_COMM, handle, "communicator");
    MPI_Comm_group(MPI_COMM_SELF, &group);
    handle = WORD(group);
    MPI_Group_free(&group);
    object_lived(K_GROUP, handle, "group");
    MPI_Type_contiguous(3, MPI_INT, &type);
    handle = WORD(type);
    MPI_Type_free(&type);
    object_lived(K_DATATYPE, handle, "datatype");
    MPI_Op_create(nothing, 1, &op);
    handle = WORD(op);
    MPI_Op_free(&op);
    object_lived(K_OP, handle, "operation");
    MPI_Info_create(&info);
    handle = WORD(info);
    MPI_Info_free(&info);
    object_lived(K_INFO, handle, "info");
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler);
    MPI_Errhandler_free(&handler);
    made.calls = gone.calls = 0;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    /* The word has the kind of keyval above the number. */
    CHECKF("EK-26", made.calls == 1 && value(&made, 0, "kind") == K_KEYVAL
           && (int) value(&made, 0, "handle") == keyval, "the creation of a keyval is an event", "%d events, %lld",
           made.calls, value(&made, 0, "handle"));
    MPI_Comm_free_keyval(&keyval);
    CHECKF("EK-26", gone.calls == 1 && value(&gone, 0, "kind") == K_KEYVAL, "the creation of a keyval is an event",
           "%d events for freeing it", gone.calls);
#if MPI_VERSION >= 4
    MPI_Session session;
    made.calls = gone.calls = 0;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS) {
        handle = WORD(session);
        MPI_Session_finalize(&session);
        object_lived(K_SESSION, handle, "session");
    }
#endif
    deaf(&made);
    deaf(&gone);
}

/* The changes of an object during its life. */
static void check_changes(void)
{
    struct ear named, attached, committed, comm_named, comm_freed, handlers, handlers_gone;
    MPI_Comm comm, other;
    MPI_Datatype type;
    MPI_Errhandler handler;
    MPI_Info info;
    int keyval;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_dup(MPI_COMM_SELF, &other);
    if (!hear("EK-1", &named, "object_named", NULL) || !hear("EK-1", &attached, "object_attached", NULL)
        || !hear("EK-1", &committed, "datatype_committed", NULL) || !hear("EK-1", &comm_named, "comm_named", &comm)
        || !hear("EK-1", &comm_freed, "comm_freed", &comm) || !hear("EK-1", &handlers, "object_created", NULL)
        || !hear("EK-1", &handlers_gone, "object_freed", NULL))
        return;
    MPI_Comm_set_name(comm, "named");
    MPI_Comm_set_name(other, "other");
    CHECKF("EK-27", named.calls == 2 && value(&named, 0, "kind") == K_COMM && value(&named, 0, "handle") == WORD(comm)
           && value(&named, 0, "object") != value(&named, 1, "object"), "the naming of an object is an event",
           "%d events", named.calls);
    CHECKF("EK-28", comm_named.calls == 1 && value(&comm_named, 0, "handle") == WORD(comm),
           "the naming of a communicator is an event only for it", "%d events", comm_named.calls);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    CHECKF("EK-29", committed.calls == 1 && value(&committed, 0, "handle") == WORD(type),
           "the commit of a datatype is an event", "%d events", committed.calls);
    MPI_Type_free(&type);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    attached.calls = handlers.calls = 0;
    MPI_Comm_set_attr(comm, keyval, &keyval);
    CHECKF("EK-30", attached.calls == 1 && value(&attached, 0, "handle") == WORD(comm)
           && value(&attached, 0, "kind") == K_COMM && handlers.calls == 0,
           "attaching something to an object is an event: an attribute, an error handler, an info object", "%d events",
           attached.calls);
    handlers.calls = handlers_gone.calls = 0;
    MPI_Comm_create_errhandler(on_error, &handler);
    int first = which(&handlers, "kind", K_ERRHANDLER);
    CHECKF("EK-31", first >= 0 && value(&handlers, first, "handle") == WORD(handler),
           "the creation of an error handler is an event", "%d events", handlers.calls);
    attached.calls = 0;
    MPI_Comm_set_errhandler(comm, handler);
    CHECKF("EK-30", attached.calls == 1, "attaching something to an object is an event: an attribute, an error handler, an "
           "info object", "%d events for an error handler", attached.calls);
    MPI_Errhandler_free(&handler);
    MPI_Info_create(&info);
    attached.calls = 0;
    MPI_Comm_set_info(comm, info);
    CHECKF("EK-30", attached.calls == 1, "attaching something to an object is an event: an attribute, an error handler, an "
           "info object", "%d events for an info object", attached.calls);
    MPI_Info_free(&info);
    MPI_Comm_free(&other);
    long long handle = WORD(comm);
    MPI_Comm_free(&comm);
    CHECKF("EK-32", comm_freed.calls == 1 && value(&comm_freed, 0, "handle") == handle,
           "the freeing of a communicator is an event only for it", "%d events", comm_freed.calls);
    MPI_Comm_free_keyval(&keyval);
    deaf(&named);
    deaf(&attached);
    deaf(&committed);
    deaf(&comm_named);
    deaf(&comm_freed);
    deaf(&handlers);
    deaf(&handlers_gone);
}

static void check_windows(void)
{
    struct ear opened, closed, operation, freed, objects;
    MPI_Win win;
    MPI_Comm comm = returning(MPI_COMM_WORLD);
    static int memory[4];
    int x = 1, me = conform_rank;
    if (!hear("EK-1", &objects, "object_created", NULL))
        return;
    /* One library cannot create a window of a single process. */
    if (MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &win) != MPI_SUCCESS) {
        skip("EK-33", "the library cannot create a window here");
        MPI_Comm_free(&comm);
        deaf(&objects);
        return;
    }
    CHECKF("EK-33", which(&objects, "kind", K_WIN) >= 0, "the creation of a window is an event", "%d events",
           objects.calls);
    deaf(&objects);
    if (!hear("EK-1", &opened, "rma_epoch_opened", &win) || !hear("EK-1", &closed, "rma_epoch_closed", &win)
        || !hear("EK-1", &operation, "rma_operation", &win) || !hear("EK-1", &freed, "win_freed", &win))
        return;
    return_errors(win);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(&x, 1, MPI_INT, me, 1, 1, MPI_INT, win);
    /* No operations: nobody's window, and no rank. */
    MPI_Put(&x, 1, MPI_INT, MPI_PROC_NULL, 1, 1, MPI_INT, win);
    MPI_Put(&x, 1, MPI_INT, 1 << 20, 1, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win);
    MPI_Accumulate(&x, 1, MPI_INT, me, 2, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(me, win);
    CHECKF("EK-34", opened.calls == 2 && value(&opened, 0, "epoch") == 1 && value(&opened, 1, "epoch") == 8,
           "the beginning of an epoch is an event for its window", "%d events, %lld", opened.calls,
           value(&opened, 0, "epoch"));
    CHECKF("EK-35", closed.calls == 2 && value(&closed, 0, "epoch") == 1 && value(&closed, 1, "epoch") == 8,
           "the end of an epoch is an event for its window", "%d events", closed.calls);
    CHECKF("EK-36", operation.calls == 2 && value(&operation, 0, "function") == function("MPI_Put")
           && value(&operation, 1, "function") == function("MPI_Accumulate") && value(&operation, 0, "target") == me
           && value(&operation, 0, "bytes") == 4, "a one-sided operation is an event, with target and bytes", "%d events",
           operation.calls);
    long long handle = WORD(win);
    MPI_Win_free(&win);
    CHECKF("EK-37", freed.calls == 1 && value(&freed, 0, "handle") == handle,
           "the freeing of a window is an event only for it", "%d events", freed.calls);
    MPI_Comm_free(&comm);
    deaf(&opened);
    deaf(&closed);
    deaf(&operation);
    deaf(&freed);
}

static void check_files(void)
{
    struct ear opened, read, written, closed;
    MPI_File file;
    MPI_Status status;
    char name[] = "/tmp/mpiscope-event-kinds-XXXXXX", block[16] = "";
    int fd = mkstemp(name);
    if (fd < 0 || !hear("EK-1", &opened, "file_opened", NULL))
        return;
    close(fd);
    if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        skip("EK-38", "the library cannot open a file here");
        return;
    }
    CHECKF("EK-38", opened.calls == 1 && value(&opened, 0, "handle") == WORD(file), "the opening of a file is an event",
           "%d events", opened.calls);
    deaf(&opened);
    if (!hear("EK-1", &read, "file_read", &file) || !hear("EK-1", &written, "file_written", &file)
        || !hear("EK-1", &closed, "file_closed", &file))
        return;
    MPI_File_write(file, block, 16, MPI_CHAR, &status);
    /* Fails, but Open MPI 4.1 accepts the offset. File errors are returned. */
    int writes = 1 + (MPI_File_write_at(file, -5, block, 16, MPI_CHAR, &status) == MPI_SUCCESS);
    /* One access, although it takes two calls. */
    MPI_File_write_at_all_begin(file, 0, block, 4, MPI_CHAR);
    MPI_File_write_at_all_end(file, block, &status);
    writes++;
    MPI_File_read_at(file, 0, block, 12, MPI_CHAR, &status);
    CHECKF("EK-39", read.calls == 1 && value(&read, 0, "bytes") == 12 && value(&read, 0, "duration") > 0
           && value(&read, 0, "function") == function("MPI_File_read_at"),
           "reading a file is an event for it, with bytes and duration", "%d events", read.calls);
    CHECKF("EK-40", written.calls == writes && value(&written, 0, "bytes") == 16
           && value(&written, 0, "function") == function("MPI_File_write"), "writing a file is an event for it", "%d events",
           written.calls);
    long long handle = WORD(file);
    MPI_File_close(&file);
    CHECKF("EK-41", closed.calls == 1 && value(&closed, 0, "handle") == handle, "the closing of a file is an event",
           "%d events", closed.calls);
    deaf(&read);
    deaf(&written);
    deaf(&closed);
}

static void *one_call(void *unused)
{
    int size;
    (void) unused;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return NULL;
}

static void check_process(void)
{
    struct ear threads, written, left;
    MPI_Comm comm;
    pthread_t thread;
    int index = -1, count = 0, on = 1, level = 0;
    MPI_T_cvar_handle cvar;
    if (!hear("EK-1", &threads, "thread_seen", NULL) || !hear("EK-1", &written, "cvar_written", NULL)
        || !hear("EK-1", &left, "processes_disconnected", NULL))
        return;
    MPI_Query_thread(&level);
    if (level == MPI_THREAD_MULTIPLE) {
        pthread_create(&thread, NULL, one_call, NULL);
        pthread_join(thread, NULL);
        CHECKF("EK-42", threads.calls == 1 && value(&threads, 0, "thread") > 0
               && value(&threads, 0, "thread") != getpid(), "a thread that calls MPI for the first time is an event",
               "%d events", threads.calls);
    } else {
        skip("EK-42", "one thread");
    }
    MPI_T_cvar_get_index("mpiscope_record_times", &index);
    if (MPI_T_cvar_handle_alloc(index, NULL, &cvar, &count) == MPI_SUCCESS) {
        MPI_T_cvar_write(cvar, &on);
        MPI_T_cvar_handle_free(&cvar);
    }
    CHECKF("EK-43", written.calls == 1 && value(&written, 0, "cvar") == index,
           "the writing of a control variable is an event", "%d events", written.calls);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    long long handle = WORD(comm);
    MPI_Comm_disconnect(&comm);
    CHECKF("EK-44", left.calls == 1 && value(&left, 0, "comm") == handle, "a disconnect is an event", "%d events",
           left.calls);
    deaf(&threads);
    deaf(&written);
    deaf(&left);
}

/* More user functions than there is room for. None of them is ever called, so any address works. */
static void check_lost(void)
{
    static char addresses[1200];
    struct ear lost;
    int reported = 0;
    if (!hear("EK-1", &lost, "records_lost", NULL))
        return;
    for (int i = 0; i < (int) sizeof addresses; i++) {
        MPI_User_function *address = NULL;
        MPI_Op op;
        char *place = addresses + i;
        memcpy(&address, &place, sizeof place);
        MPI_Op_create(address, 1, &op);
        MPI_Op_free(&op);
    }
    for (int i = 0; i < lost.calls && i < KEPT; i++)
        reported += (int) value(&lost, i, "count");
    CHECKF("EK-45", lost.calls > 0 && reported >= (lost.calls < KEPT ? lost.calls : KEPT),
           "the loss of records in the layer is an event, with their number", "%d events of %d", lost.calls, reported);
    deaf(&lost);
}

static void alone(void)
{
    if (!events_here("EK-46") || conform_phase != BETWEEN)
        return;
    check_calls();
    check_messages();
    check_failures();
    check_cancelled_send();
    check_waiting();
    check_requests();
    check_collectives();
#if MPI_VERSION >= 4
    check_partitions();
#endif
    check_objects();
    check_changes();
    check_windows();
    check_files();
    check_process();
    check_lost();
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_kinds", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
