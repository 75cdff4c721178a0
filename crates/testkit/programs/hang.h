/* Common code of the programs that hang: the first argument names the scenario to run. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static const char *program;

struct scenario {
    const char *name;
    void (*run)(void);
};

/* An entry of the list of scenarios. */
#define S(name) {#name, name}

/* Scenarios with threads have that word in their names. */
static int run_scenario(int argc, char **argv, const struct scenario *scenarios, size_t count)
{
    /* Longer than a test may take to inspect it on a loaded machine. */
    alarm(150);
    program = argv[0];
    const char *name = argc > 1 ? argv[1] : "";
    int level, threads = strstr(name, "thread") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, threads, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(scenarios[i].name, name))
            scenarios[i].run();
    MPI_Finalize();
    return 0;
}

/* The end of each program. */
#define SCENARIOS(...) \
    static const struct scenario scenarios[] = {__VA_ARGS__}; \
    int main(int argc, char **argv) \
    { \
        return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof *scenarios); \
    }
