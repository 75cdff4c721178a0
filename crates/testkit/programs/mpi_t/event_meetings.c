/* Events of connecting processes: spawn, connect, accept, join, disconnect.
 *
 *     event_meetings spawn              one rank, which starts another
 *     event_meetings port|join          two ranks, which connect through a port or a socket like separate jobs
 */
#include "ear.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static const char *self, *only;

static int wanted(const char *what)
{
    return !only || !strcmp(only, what);
}

/* Checks that there was one event of a type, with this communicator. */
static void met(const char *label, const struct ear *ear, MPI_Comm comm, const char *sentence)
{
    CHECKF(label, ear->calls == 1 && value(ear, 0, "comm") == WORD(comm), sentence, "%d events, %llx", ear->calls,
           value(ear, 0, "comm"));
}

static void part(MPI_Comm comm)
{
    struct ear left;
    long long handle = WORD(comm);
    if (!hear("EP-10", &left, "processes_disconnected", NULL))
        return;
    MPI_Comm_disconnect(&comm);
    CHECKF("EP-11", left.calls == 1 && value(&left, 0, "comm") == handle, "a disconnect is an event", "%d events",
           left.calls);
    deaf(&left);
}

static void check_spawn(void)
{
    struct ear spawned;
    MPI_Comm children;
    char command[4096], option[] = "--phase", phase[] = "between", *arguments[] = { option, phase, NULL };
    int code;
    snprintf(command, sizeof command, "%s", self);
    if (!hear("EP-10", &spawned, "processes_spawned", NULL))
        return;
    MPI_Comm_spawn(command, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, &code);
    met("EP-12", &spawned, children, "a spawn is an event, with the intercommunicator");
    deaf(&spawned);
    part(children);
}

static void check_port(void)
{
    struct ear ear;
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm other;
    if (!hear("EP-10", &ear, conform_rank ? "processes_connected" : "processes_accepted", NULL))
        return;
    if (conform_rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        met("EP-13", &ear, other, "accepting a connection is an event, with the intercommunicator");
    } else {
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
        met("EP-14", &ear, other, "connecting is an event, with the intercommunicator");
    }
    deaf(&ear);
    part(other);
    if (conform_rank == 0)
        MPI_Close_port(port);
}

static void check_join(void)
{
    struct ear ear;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), first = getpid();
    MPI_Comm other;
    MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    /* A name without a file: its first byte is zero. */
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "mpiscope-join-%d", first);
    socklen_t size = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 + (size_t) length);
    if (conform_rank == 0) {
        int listener = fd;
        if (bind(listener, (struct sockaddr *) &address, size) || listen(listener, 1))
            MPI_Abort(MPI_COMM_WORLD, 4);
        MPI_Barrier(MPI_COMM_WORLD);
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        if (connect(fd, (struct sockaddr *) &address, size))
            MPI_Abort(MPI_COMM_WORLD, 5);
    }
    if (!hear("EP-10", &ear, "processes_joined", NULL))
        return;
    MPI_Comm_join(fd, &other);
    met("EP-15", &ear, other, "joining over a socket is an event, with the intercommunicator");
    deaf(&ear);
    part(other);
    close(fd);
}

static void alone(void)
{
    MPI_Comm parent;
    if (conform_phase != BETWEEN)
        return;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        /* A child checks nothing; it may run without the layer. */
        MPI_Comm_disconnect(&parent);
        return;
    }
    if (!events_here("EP-16"))
        return;
    if (conform_size == 1 && wanted("spawn"))
        check_spawn();
    if (conform_size == 2 && wanted("port"))
        check_port();
    if (conform_size == 2 && wanted("join"))
        check_join();
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "event_meetings", each, alone, NULL };
    self = argv[0];
    only = argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    return conform_main(argc, argv, &group);
}
