/* Message logger: one line with a time stamp for every message sent or received on MPI_COMM_WORLD.
 *
 * Rank R writes messages.R.log in the working directory, or in MESSAGE_LOG_DIR:
 *
 *     # seconds since start, what, peer, tag, bytes
 *     0.001234 send 1 7 4096
 *     0.001301 recv 3 7 4096
 *     # 2 messages, 0 events dropped
 *
 * The size is -1 if the MPI library does not report it.
 */
#include <stdlib.h>

#include "tool.h"

struct kind {
    struct tool_event event;    /* first, since callbacks get a pointer to it */
    const char *what;
    int peer, tag, bytes;
};

static struct kind sends = { .what = "send" }, receives = { .what = "recv" };
static FILE *out;
static MPI_Count start, ticks = 1000000000;
static long messages, dropped;

/* Called in the communicating thread: copies, formats, writes. stdio locks the file, so this is thread-safe. */
static void on_message(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                       void *data)
{
    const struct kind *k = data;
    unsigned char copy[TOOL_BYTES];
    MPI_Count when = 0;
    (void) registration;
    (void) safety;
    if (MPI_T_event_copy(instance, copy) != MPI_SUCCESS || MPI_T_event_get_timestamp(instance, &when) != MPI_SUCCESS)
        return;
    __atomic_fetch_add(&messages, 1, __ATOMIC_RELAXED);
    fprintf(out, "%.6f %s %lld %lld %lld\n", (double) (when - start) / (double) ticks, k->what,
            tool_number(&k->event, k->peer, copy), tool_number(&k->event, k->tag, copy),
            tool_number(&k->event, k->bytes, copy));
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                       void *data)
{
    (void) registration;
    (void) source;
    (void) safety;
    (void) data;
    __atomic_fetch_add(&dropped, (long) count, __ATOMIC_RELAXED);
}

/* The first source's clock; all sources of libmpiscope.so share one. */
static void start_clock(void)
{
    if (MPISCOPE_HAS(MPI_T_source_get_info)) {
        MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, &ticks, NULL, NULL);
        MPI_T_source_get_timestamp(0, &start);
    }
}

static int listen_to(struct kind *k, const char *name)
{
    if (!tool_listen(&k->event, name, on_message))
        return 0;
    k->peer = tool_element(&k->event, ELEMENT_PEER);
    k->tag = tool_element(&k->event, ELEMENT_TAG);
    k->bytes = tool_element(&k->event, ELEMENT_BYTES);
    return MPI_T_event_set_dropped_handler(k->event.registration, on_dropped) == MPI_SUCCESS;
}

static void tool_start(void)
{
    const char *dir = getenv("MESSAGE_LOG_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/messages.%d.log", dir ? dir : ".", tool_rank);
    out = fopen(path, "w");
    if (!out) {
        perror(path);
        out = stderr;
    }
    fprintf(out, "# seconds since start, what, peer, tag, bytes\n");
    start_clock();
    listen_to(&sends, EVENT_SEND_POSTED);
    listen_to(&receives, EVENT_RECEIVE_COMPLETED);
}

static void tool_stop(void)
{
    if (sends.event.registration)
        MPI_T_event_handle_free(sends.event.registration, NULL, NULL);
    if (receives.event.registration)
        MPI_T_event_handle_free(receives.event.registration, NULL, NULL);
    fprintf(out, "# %ld messages, %ld events dropped\n", messages, dropped);
    if (out != stderr)
        fclose(out);
}
