/* Linked with a Fortran program: counts the events of calls, and those whose caller is in a library's binding instead of the program. */
#define _GNU_SOURCE
#include <mpi.h>
#include <mpiscope/mpi_t.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLER = 2 };

static int events, elsewhere;
static char program[4096];

static void on_call(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                    void *data)
{
    uint64_t caller = 0;
    Dl_info where;
    char path[4096];
    (void) registration, (void) safety, (void) data;
    events++;
    if (MPI_T_event_read(instance, CALLER, &caller) != MPI_SUCCESS || !dladdr((void *) (uintptr_t) caller, &where)
        || !realpath(where.dli_fname, path) || strcmp(path, program))
        elsewhere++;
}

static void listen_to(const char *name)
{
    MPI_T_event_registration registration;
    int index;
    if (MPI_T_event_get_index(name, &index) != MPI_SUCCESS
        || MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration) != MPI_SUCCESS
        || MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, on_call)
               != MPI_SUCCESS)
        fprintf(stderr, "cannot listen to %s\n", name);
}

__attribute__((constructor)) static void begin(void)
{
    int provided;
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    listen_to("mpiscope.call_started");
    listen_to("mpiscope.call_ended");
}

__attribute__((destructor)) static void end(void)
{
    if (events)
        fprintf(stderr, "%d events of calls, %d from elsewhere\n", events, elsewhere);
}
