/* A sampling tool: SIGPROF at 10 kHz reads, resets, readresets, starts and stops while the program communicates.
 *
 * The handler calls only functions that this project promises to be async-signal-safe, and keeps what it sees in
 * variables; the assertions are made afterwards. CONFORM_RATE is the rate in Hz, CONFORM_MESSAGES the number of
 * messages that each rank sends (100000).
 */
#include "functions.h"

#include <time.h>

enum { READ, READRESET, RESET, STARTSTOP, WRITE, HANDLES };

static struct gauge gauges[HANDLES];
static int which = -1;
static volatile sig_atomic_t armed;
static struct {
    unsigned long long samples, last, backwards, collected, errors, too_large, written_lost;
} seen;
static unsigned long long messages = 100000;

static unsigned long long *slot(struct gauge *g)
{
    return (unsigned long long *) g->buffer + which;
}

static void sample(int number)
{
    struct gauge *g;
    (void) number;
    if (!armed)
        return;
    seen.samples++;
    g = &gauges[READ];
    seen.errors += MPI_T_pvar_read(g->session, g->handle, g->buffer) != MPI_SUCCESS;
    seen.backwards += *slot(g) < seen.last;
    /* A torn value is a wild one. */
    seen.too_large += *slot(g) > messages;
    seen.last = *slot(g);
    g = &gauges[READRESET];
    if (MPI_T_pvar_readreset(g->session, g->handle, g->buffer) == MPI_SUCCESS)
        seen.collected += *slot(g);
    else
        seen.errors++;
    g = &gauges[RESET];
    seen.errors += MPI_T_pvar_reset(g->session, g->handle) != MPI_SUCCESS;
    g = &gauges[STARTSTOP];
    seen.errors += MPI_T_pvar_start(g->session, g->handle) != MPI_SUCCESS;
    seen.errors += MPI_T_pvar_stop(g->session, g->handle) != MPI_SUCCESS;
    g = &gauges[WRITE];
    *slot(g) = seen.samples;
    seen.errors += MPI_T_pvar_write(g->session, g->handle, g->buffer) != MPI_SUCCESS;
    *slot(g) = 0;
    MPI_T_pvar_read(g->session, g->handle, g->buffer);
    seen.written_lost += *slot(g) != seen.samples;
}

/* By a timer of the real clock: interval timers of CPU time tick with the kernel, far below 10 kHz. */
static timer_t start_sampling(long rate)
{
    struct sigaction action;
    struct sigevent event;
    struct itimerspec every;
    timer_t timer;
    memset(&action, 0, sizeof action);
    action.sa_handler = sample;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, NULL);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGPROF;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    every.it_interval.tv_sec = 0;
    every.it_interval.tv_nsec = 1000000000L / rate;
    every.it_value = every.it_interval;
    timer_settime(timer, 0, &every, NULL);
    return timer;
}

static void communicate(void)
{
    int right = (conform_rank + 1) % conform_size, left = (conform_rank + conform_size - 1) % conform_size;
    char out[256] = "", in[256];
    for (unsigned long long i = 0; i < messages; i++) {
        MPI_Request request;
        MPI_Status status;
        MPI_Irecv(in, sizeof in, MPI_BYTE, left, 1, MPI_COMM_WORLD, &request);
        MPI_Send(out, (int) (i % sizeof out), MPI_BYTE, right, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
    }
}

static void report(double seconds, long rate)
{
    CHECKF("SM-1", seen.errors == 0, "start, stop, read, write, reset and readreset succeed in a signal handler",
           "%llu errors in %llu samples", seen.errors, seen.samples);
    CHECKF("SM-2", seen.collected + element(&gauges[READRESET], which) == messages,
           "what readresets in a signal handler return adds up exactly", "%llu, not %llu",
           seen.collected + element(&gauges[READRESET], which), messages);
    CHECKF("SM-3", seen.backwards == 0 && seen.too_large == 0 && element(&gauges[READ], which) == messages,
           "no value that is read in a signal handler is torn", "%llu backwards, %llu wild, %llu at the end of %llu",
           seen.backwards, seen.too_large, element(&gauges[READ], which), messages);
    CHECKF("SM-4", seen.written_lost == 0, "a value that is written in a signal handler is read back", "%llu lost",
           seen.written_lost);
    CHECKF("SM-5", (double) seen.samples > seconds * (double) rate * 0.05, "the handler ran while messages went",
           "%llu samples in %g s", seen.samples, seconds);
    if (conform_rank == 0)
        printf("%llu samples in %.2f s, %llu messages\n", seen.samples, seconds, messages);
}

static void alone(void)
{
    const char *rate_text = getenv("CONFORM_RATE"), *number = getenv("CONFORM_MESSAGES");
    long rate = rate_text ? atol(rate_text) : 10000;
    MPI_T_pvar_session session;
    timer_t timer;
    double start, seconds;
    int open = 1;
    if (conform_phase != BETWEEN)
        return;
    if (number)
        messages = strtoull(number, NULL, 10);
    MPI_T_pvar_session_create(&session);
    which = element_of("MPI_Send");
    for (int i = 0; i < HANDLES; i++)
        open = open && calls_open(&gauges[i], session);
    if (!CHECK("SM-6", open && which >= 0, "there is a counter of calls per function")) {
        communicate();
        return;
    }
    CHECK_RC("SM-7", MPI_T_pvar_start(session, gauges[READ].handle), MPI_SUCCESS, "the counter is started");
    MPI_T_pvar_start(session, gauges[READRESET].handle);
    MPI_T_pvar_start(session, gauges[RESET].handle);
    MPI_Barrier(MPI_COMM_WORLD);
    armed = 1;
    timer = start_sampling(rate);
    start = MPI_Wtime();
    communicate();
    seconds = MPI_Wtime() - start;
    armed = 0;
    timer_delete(timer);
    report(seconds, rate);
    MPI_T_pvar_session_free(&session);
}

static void each(void)
{
}

int main(int argc, char **argv)
{
    static const struct group group = { "sampler", each, alone, NULL };
    return conform_main(argc, argv, &group);
}
