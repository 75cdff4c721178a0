/* A library to preload into jobs that are only idle: where the MPI library would spin and yield the processor,
 * the rank sleeps. Concurrent hanging jobs then leave the processors to the commands that inspect them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_NS = 1000000, EMPTY_ROUNDS = 2000 };

static void pause_for_a_moment(void)
{
    const struct timespec moment = {0, PAUSE_NS};
    syscall(SYS_nanosleep, &moment, NULL);
}

int sched_yield(void)
{
    pause_for_a_moment();
    return 0;
}

/* UCX never yields the processor; its return value says whether anything arrived. */
unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*progress)(void *);
    static __thread unsigned empty;
    if (!progress)
        progress = (unsigned (*)(void *))dlsym(RTLD_NEXT, "ucp_worker_progress");
    unsigned came = progress ? progress(worker) : 0;
    empty = came ? 0 : empty + 1;
    if (empty >= EMPTY_ROUNDS) {
        empty = EMPTY_ROUNDS / 2;
        pause_for_a_moment();
    }
    return came;
}
