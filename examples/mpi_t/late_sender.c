/* Late-sender finder: which ranks kept this one waiting in its receives on MPI_COMM_WORLD, how often and how long.
 *
 * A receive that was posted before its message was sent waited for a late sender; one that found its message waiting
 * was itself late. At the end each rank prints on standard error:
 *
 *     rank 0: 12 receives waited for late senders, 0.830 s in all; 40 messages waited for this rank
 *     rank 0:   for rank 3: 9 times, 0.812 s, longest 0.201 s
 */
#include "tool.h"

#define PEERS 65536

/* Written by callbacks of any thread, hence the atomic operations. */
static struct peer {
    long times;
    long long ticks, longest;
} peers[PEERS];
static long unexpected;
static struct tool_event waited, early;
static int peer_at, posted_at, sent_at;
static MPI_Count ticks_per_second = 1000000000;

static void on_waited(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                      void *data)
{
    unsigned char copy[TOOL_BYTES];
    long long late, rank, longest;
    struct peer *p;
    (void) registration;
    (void) safety;
    (void) data;
    if (MPI_T_event_copy(instance, copy) != MPI_SUCCESS)
        return;
    rank = tool_number(&waited, peer_at, copy);
    late = tool_number(&waited, sent_at, copy) - tool_number(&waited, posted_at, copy);
    if (rank < 0 || rank >= PEERS || late <= 0)
        return;
    p = &peers[rank];
    __atomic_fetch_add(&p->times, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&p->ticks, late, __ATOMIC_RELAXED);
    longest = __atomic_load_n(&p->longest, __ATOMIC_RELAXED);
    while (late > longest && !__atomic_compare_exchange_n(&p->longest, &longest, late, 1, __ATOMIC_RELAXED,
                                                          __ATOMIC_RELAXED))
        ;
}

static void on_unexpected(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                          void *data)
{
    (void) instance;
    (void) registration;
    (void) safety;
    (void) data;
    __atomic_fetch_add(&unexpected, 1, __ATOMIC_RELAXED);
}

static void tool_start(void)
{
    if (tool_listen(&waited, EVENT_RECEIVE_LATE, on_waited)) {
        peer_at = tool_element(&waited, ELEMENT_PEER);
        posted_at = tool_element(&waited, ELEMENT_POSTED);
        sent_at = tool_element(&waited, ELEMENT_SENT);
        /* The times in the elements are from the clock that all sources of libmpiscope.so share. */
        MPI_T_source_get_info(0, NULL, NULL, NULL, NULL, NULL, &ticks_per_second, NULL, NULL);
    }
    tool_listen(&early, EVENT_RECEIVE_UNEXPECTED, on_unexpected);
}

static double seconds(long long ticks)
{
    return (double) ticks / (double) ticks_per_second;
}

static void tool_stop(void)
{
    long times = 0;
    long long all = 0;
    if (waited.registration)
        MPI_T_event_handle_free(waited.registration, NULL, NULL);
    if (early.registration)
        MPI_T_event_handle_free(early.registration, NULL, NULL);
    for (int i = 0; i < PEERS; i++) {
        times += peers[i].times;
        all += peers[i].ticks;
    }
    fprintf(stderr, "rank %d: %ld receives waited for late senders, %.3f s in all; %ld messages waited for this rank\n",
            tool_rank, times, seconds(all), unexpected);
    for (int i = 0; i < PEERS; i++)
        if (peers[i].times)
            fprintf(stderr, "rank %d:   for rank %d: %ld times, %.3f s, longest %.3f s\n", tool_rank, i,
                    peers[i].times, seconds(peers[i].ticks), seconds(peers[i].longest));
}
