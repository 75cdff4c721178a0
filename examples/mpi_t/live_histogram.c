/* Live histogram: sizes of the messages that this rank receives on MPI_COMM_WORLD, while the program runs.
 *
 * Rank HISTOGRAM_RANK (0) writes the histogram to standard error every HISTOGRAM_SECONDS (2), and at the end:
 *
 *     received 4012 messages in 4.0 s
 *          < 1 KiB  3800 ########################################
 *          < 2 KiB   212 ##
 *
 * Messages whose size the MPI library does not report are counted as "unknown".
 */
#include <stdlib.h>

#include "tool.h"

#define BUCKETS 48
#define WIDTH 40

static struct tool_event received;
static int bytes_at, shown_rank;
static long counts[BUCKETS], unknown;
static MPI_Count start, period, next, ticks = 1000000000;

/* Bucket b holds sizes of at least 2^(b-1) and less than 2^b bytes. */
static int bucket_of(long long bytes)
{
    int b = 0;
    while (b < BUCKETS - 1 && bytes >= 1LL << b)
        b++;
    return b;
}

static void label(int bucket, char *text, size_t size)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    snprintf(text, size, "< %d %s", 1 << (bucket % 10), units[bucket / 10]);
}

static void show(MPI_Count now)
{
    long all = unknown, most = 1;
    char text[32];
    for (int b = 0; b < BUCKETS; b++) {
        all += counts[b];
        most = counts[b] > most ? counts[b] : most;
    }
    fprintf(stderr, "received %ld messages in %.1f s\n", all, (double) (now - start) / (double) ticks);
    for (int b = 0; b < BUCKETS; b++) {
        if (!counts[b])
            continue;
        label(b, text, sizeof text);
        fprintf(stderr, "%12s %9ld %.*s\n", text, counts[b], (int) (1 + counts[b] * (WIDTH - 1) / most),
                "########################################");
    }
    if (unknown)
        fprintf(stderr, "%12s %9ld\n", "unknown", unknown);
}

/* Called in the receiving thread. One of the threads prints the histogram when it is due. */
static void on_received(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                        void *data)
{
    unsigned char copy[TOOL_BYTES];
    MPI_Count now = 0, due = __atomic_load_n(&next, __ATOMIC_RELAXED);
    (void) registration;
    (void) safety;
    (void) data;
    if (MPI_T_event_copy(instance, copy) != MPI_SUCCESS || MPI_T_event_get_timestamp(instance, &now) != MPI_SUCCESS)
        return;
    const long long bytes = tool_number(&received, bytes_at, copy);
    __atomic_fetch_add(bytes == TOOL_UNKNOWN ? &unknown : &counts[bucket_of(bytes)], 1, __ATOMIC_RELAXED);
    if (now >= due && __atomic_compare_exchange_n(&next, &due, now + period, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        show(now);
}

static double number_from(const char *variable, double otherwise)
{
    const char *text = getenv(variable);
    return text ? atof(text) : otherwise;
}

static void tool_start(void)
{
    shown_rank = (int) number_from("HISTOGRAM_RANK", 0);
    if (tool_rank != shown_rank)
        return;
    if (MPISCOPE_HAS(MPI_T_source_get_info)) {
        MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, &ticks, NULL, NULL);
        MPI_T_source_get_timestamp(0, &start);
    }
    period = (MPI_Count) (number_from("HISTOGRAM_SECONDS", 2) * (double) ticks);
    next = start + period;
    if (tool_listen(&received, EVENT_RECEIVE_COMPLETED, on_received))
        bytes_at = tool_element(&received, ELEMENT_BYTES);
}

static void tool_stop(void)
{
    MPI_Count now = start;
    if (!received.registration)
        return;
    MPI_T_event_handle_free(received.registration, NULL, NULL);
    MPI_T_source_get_timestamp(0, &now);
    show(now);
}
