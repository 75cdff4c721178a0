/* What programs with findings have in common: each is one program of many small ones, `PROGRAM NAME`. */
#include <mpi.h>
#include <string.h>

static int rank, size;

struct finding {
    const char *name;
    void (*run)(void);
};

#define F(name) {#name, name}

static void run_finding(int argc, char **argv, const struct finding *findings, size_t count)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < count; i++)
        if (argc > 1 && !strcmp(findings[i].name, argv[1]))
            findings[i].run();
    MPI_Finalize();
}

/* The end of each program. */
#define FINDINGS(initialize, ...) \
    static const struct finding findings[] = {__VA_ARGS__}; \
    int main(int argc, char **argv) \
    { \
        initialize(&argc, &argv); \
        run_finding(argc, argv, findings, sizeof findings / sizeof *findings); \
        return 0; \
    }
