/* A sampling tool: SIGPROF at 10 kHz reads, resets, readresets, starts and stops while the program communicates.
 *
 * The handler calls only functions that this project promises to be async-signal-safe, and stores its results in
 * variables; the assertions are made afterward. CONFORM_RATE is the rate in Hz, CONFORM_MESSAGES the number of
 * messages that each rank sends (100000).
 */
#include "functions.h"

#include <sys/syscall.h>
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { READ, READRESET, RESET, STARTSTOP, WRITE, HANDLES };

static struct gauge gauges[HANDLES];
static int which = -1;
static volatile sig_atomic_t armed;
static struct {
    unsigned long long samples, last, backwards, collected, errors, too_large, written_lost;
} seen;
static unsigned long long messages = 100000;
static timer_t timer;
static struct itimerspec period;

static unsigned long long *slot(struct gauge *g)
{
    return (unsigned long long *) g->buffer + which;
}

static void sample_read(struct gauge *g)
{
    seen.errors += MPI_T_pvar_read(g->session, g->handle, g->buffer) != MPI_SUCCESS;
    seen.backwards += *slot(g) < seen.last;
    /* A torn value is far from the correct one. */
    seen.too_large += *slot(g) > messages;
    seen.last = *slot(g);
}

static void sample_readreset(struct gauge *g)
{
    if (MPI_T_pvar_readreset(g->session, g->handle, g->buffer) == MPI_SUCCESS)
        seen.collected += *slot(g);
    else
        seen.errors++;
}

static void sample_write(struct gauge *g)
{
    *slot(g) = seen.samples;
    seen.errors += MPI_T_pvar_write(g->session, g->handle, g->buffer) != MPI_SUCCESS;
    *slot(g) = 0;
    seen.errors += MPI_T_pvar_read(g->session, g->handle, g->buffer) != MPI_SUCCESS;
    seen.written_lost += *slot(g) != seen.samples;
}

/* The next one is due one period after this one has ended, so that the program makes progress even with a slow handler. */
static void next_sample(void)
{
    timer_settime(timer, 0, &period, NULL);
}

/* One kind of call per sample. */
static void sample(int number)
{
    struct gauge *g;
    (void) number;
    if (!armed)
        return;
    g = &gauges[seen.samples++ % HANDLES];
    switch (g - gauges) {
    case READ: sample_read(g); break;
    case READRESET: sample_readreset(g); break;
    case RESET: seen.errors += MPI_T_pvar_reset(g->session, g->handle) != MPI_SUCCESS; break;
    case STARTSTOP:
        seen.errors += MPI_T_pvar_start(g->session, g->handle) != MPI_SUCCESS;
        seen.errors += MPI_T_pvar_stop(g->session, g->handle) != MPI_SUCCESS;
        break;
    default: sample_write(g); break;
    }
    next_sample();
}

/* By a timer of the real clock: interval timers of CPU time tick with the kernel, far below 10 kHz. */
static void start_sampling(long rate)
{
    struct sigaction action;
    struct sigevent event;
    memset(&action, 0, sizeof action);
    action.sa_handler = sample;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, NULL);
    memset(&event, 0, sizeof event);
    /* Only for this thread: MPI libraries have their own threads, and the handler must not run in two threads at once. */
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_notify_thread_id = (pid_t) syscall(SYS_gettid);
    event.sigev_signo = SIGPROF;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    period.it_value.tv_nsec = 1000000000L / rate;
    next_sample();
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

/* CPU time of this thread. */
static double busy(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

/* The rate is relative to the thread's CPU time: on a loaded machine its signals are delayed, too. */
static void report(double seconds, double used, long rate)
{
    double reached = (double) seen.samples / used;
    CHECKF("SM-1", seen.errors == 0, "start, stop, read, write, reset and readreset succeed in a signal handler",
           "%llu errors in %llu samples", seen.errors, seen.samples);
    CHECKF("SM-2", seen.collected + element(&gauges[READRESET], which) == messages,
           "the values returned by readresets in a signal handler add up exactly", "%llu, not %llu",
           seen.collected + element(&gauges[READRESET], which), messages);
    CHECKF("SM-3", seen.backwards == 0 && seen.too_large == 0 && element(&gauges[READ], which) == messages,
           "no value read in a signal handler is torn", "%llu backwards, %llu wild, %llu at the end of %llu",
           seen.backwards, seen.too_large, element(&gauges[READ], which), messages);
    CHECKF("SM-4", seen.written_lost == 0, "a value written in a signal handler is read back", "%llu lost",
           seen.written_lost);
    CHECKF("SM-5", reached > (double) rate * 0.1, "the handler ran at a good part of the rate during communication",
           "%llu samples in %g s of CPU time", seen.samples, used);
    printf("rank %d: %llu samples in %.2f s (%.2f s of CPU time), %.0f Hz of %ld Hz reached, %llu messages\n", conform_rank,
           seen.samples, seconds, used, reached, rate, messages);
}

static void alone(void)
{
    const char *rate_text = getenv("CONFORM_RATE"), *number = getenv("CONFORM_MESSAGES");
    long rate = rate_text ? atol(rate_text) : 10000;
    MPI_T_pvar_session session;
    double start, seconds, used;
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
    start_sampling(rate);
    start = MPI_Wtime();
    used = busy();
    communicate();
    seconds = MPI_Wtime() - start;
    used = busy() - used;
    armed = 0;
    timer_delete(timer);
    report(seconds, used, rate);
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
