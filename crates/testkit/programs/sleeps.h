/* The clock that all ranks of a host share, and "work" whose duration does not depend on the load of the machine. */
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* Returns by how many seconds it took longer than requested, because the machine ran other processes. */
static double work(long microseconds)
{
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    double begun = now();
    nanosleep(&time, NULL);
    return now() - begun - 1e-6 * microseconds;
}
