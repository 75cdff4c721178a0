/* The clock that all ranks of a host share, and "work" that takes as long on a machine that has other things to do. */
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

/* Gives how much longer it took than it was to take, in seconds: what the machine gave to others. */
static double work(long microseconds)
{
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    double begun = now();
    nanosleep(&time, NULL);
    return now() - begun - 1e-6 * microseconds;
}
