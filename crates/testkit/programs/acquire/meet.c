/* meet accept|connect|join-a|join-b DIR: two jobs that connect and disconnect. The port is passed in a file in DIR, the
 * socket of the joining processes is DIR/socket. */
#include "steps.h"
#include <sys/socket.h>
#include <sys/un.h>

static MPI_Comm by_port(const char *role, int rank)
{
    char port[MPI_MAX_PORT_NAME + 1], path[4096];
    MPI_Comm other;
    int server = !strcmp(role, "accept");
    memset(port, 0, sizeof port);
    snprintf(path, sizeof path, "%s/port", dir);
    if (rank == 0 && server) {
        char temporary[4200];
        snprintf(temporary, sizeof temporary, "%s.tmp", path);
        MPI_Open_port(MPI_INFO_NULL, port);
        FILE *file = fopen(temporary, "w");
        fwrite(port, 1, sizeof port, file);
        fclose(file);
        rename(temporary, path);
    } else if (rank == 0) {
        wait_for("port");
        FILE *file = fopen(path, "r");
        if (fread(port, 1, sizeof port, file) != sizeof port)
            MPI_Abort(MPI_COMM_WORLD, 3);
        fclose(file);
    }
    /* One library needs the port on all ranks. */
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (server)
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    else
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    return other;
}

static MPI_Comm by_socket(const char *role)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    MPI_Comm other;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", dir);
    if (!strcmp(role, "join-a")) {
        int listener = fd;
        if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1))
            MPI_Abort(MPI_COMM_WORLD, 4);
        fd = accept(listener, NULL, NULL);
        close(listener);
    } else {
        while (connect(fd, (struct sockaddr *)&address, sizeof address))
            usleep(5000);
    }
    MPI_Comm_join(fd, &other);
    close(fd);
    return other;
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    dir = argv[2];
    arrive(argv[1]);
    step(argv[1], 1);
    other = strncmp(argv[1], "join", 4) ? by_port(argv[1], rank) : by_socket(argv[1]);
    step(argv[1], 2);
    if (other != MPI_COMM_NULL)
        MPI_Comm_disconnect(&other);
    step(argv[1], 3);
    MPI_Finalize();
    return 0;
}
