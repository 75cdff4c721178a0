/* Preloaded in front of the layer: a tool information interface whose counter of MPI_Send is broken in the way set by BROKEN.
 *
 *     torn      the counter is kept in two halves; a read between their changes returns a value that never existed
 *     lost      the counter that is read and reset is not incremented atomically; changes in between are lost
 *     refused   writing fails occasionally
 *     (unset)   nothing is broken
 *
 * It proves that sampler.c can fail. This does not depend on chance: the signal is raised in the gap.
 */
#include "functions.h"

enum { LOW = 16, KINDS_OF_SAMPLES = 5 };

static int element_of_send = -1;
static const char *broken = "";
/* The counter in two halves, and the true one. */
static volatile unsigned long long high, low, sends;
/* Number of sends since the last readreset, and the handle it belongs to. */
static volatile unsigned long long since_reset;
static MPI_T_pvar_handle reset_handle;
static volatile unsigned calls;

static int is(const char *how)
{
    return !strcmp(broken, how);
}

/* Not in the handler: the enumeration is long. */
int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    if (element_of_send < 0) {
        broken = getenv("BROKEN") ? getenv("BROKEN") : "";
        element_of_send = element_of("MPI_Send");
    }
    return PMPI_T_pvar_start(session, handle);
}

/* The sampler makes one kind of call per sample, in turn. */
static void sample_all_kinds(void)
{
    for (int i = 0; i < KINDS_OF_SAMPLES; i++)
        raise(SIGPROF);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm)
{
    int code = PMPI_Send(buffer, count, type, rank, tag, comm);
    unsigned long long before = since_reset;
    sends++;
    /* Once correctly, so that the next value is lower. */
    if (is("torn") && low == LOW - 1)
        sample_all_kinds();
    low = (low + 1) % LOW;
    if (is("torn") && low == 0)
        sample_all_kinds();
    if (is("lost"))
        raise(SIGPROF);
    high += low == 0;
    since_reset = before + 1;
    return code;
}

static unsigned long long *slot(void *buffer)
{
    return (unsigned long long *) buffer + element_of_send;
}

int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer)
{
    int code = PMPI_T_pvar_read(session, handle, buffer);
    if (is("torn"))
        *slot(buffer) += high * LOW + low - sends;
    if (is("lost") && handle == reset_handle)
        *slot(buffer) = since_reset;
    return code;
}

/* Only the handler writes, so that nothing else fails. */
int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buffer)
{
    int code = PMPI_T_pvar_write(session, handle, buffer);
    return is("refused") && ++calls % 5 == 2 ? MPI_T_ERR_INVALID_HANDLE : code;
}

int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer)
{
    int code = PMPI_T_pvar_readreset(session, handle, buffer);
    if (is("lost")) {
        *slot(buffer) = since_reset;
        since_reset = 0;
        reset_handle = handle;
    }
    return code;
}
