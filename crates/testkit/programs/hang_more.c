/* More programs that hang: see hang.c, whose comments have the same format. */
#include "hang.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static int values[4096];

static void receive(int from, int tag, MPI_Comm comm)
{
    MPI_Recv(values, 1, MPI_INT, from, tag, comm, MPI_STATUS_IGNORE);
}

static void send(int to, int tag, MPI_Comm comm)
{
    MPI_Send(values, 1, MPI_INT, to, tag, comm);
}

/* scenario head_to_head_synchronous 2 deadlock says 0 -> 1 -> 0 */
static void head_to_head_synchronous(void)
{
    MPI_Ssend(values, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD); /* here: head_to_head_synchronous */
    receive(1 - rank, 0, MPI_COMM_WORLD);
}

/* scenario waitsome_nobody_sends 3 deadlock says no rank is left that could release them */
static void waitsome_nobody_sends(void)
{
    int done, indices[2];
    MPI_Request requests[2];
    for (int i = 0; i < 2; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, (rank + 1 + i) % size, 3, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE); /* here: waitsome_nobody_sends */
}

/* scenario persistent_receives 3 deadlock says -> */
static void persistent_receives(void)
{
    MPI_Request request;
    MPI_Recv_init(values, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: persistent_receives */
}

/* scenario matched_probe_for_nothing 2 deadlock says 0 -> 1 -> 0 */
static void matched_probe_for_nothing(void)
{
    MPI_Message message;
    MPI_Mprobe(1 - rank, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE); /* here: matched_probe_for_nothing */
}

/* scenario wildcard_and_named 3 deadlock says no rank is left that could release them */
static void wildcard_and_named(void)
{
    receive(rank ? 0 : MPI_ANY_SOURCE, 3, MPI_COMM_WORLD);
}

/* scenario receive_against_allreduce 4 deadlock says 0 -> 3 -> 0 */
static void receive_against_allreduce(void)
{
    int sum;
    if (rank == 0)
        receive(3, 2, MPI_COMM_WORLD);
    MPI_Allreduce(values, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here: receive_against_allreduce */
    if (rank == 3)
        send(0, 2, MPI_COMM_WORLD);
}

/* scenario intercommunicator_receives 4 deadlock says 0 -> 2 -> 0 */
static void intercommunicator_receives(void)
{
    MPI_Comm half, inter;
    int upper = rank >= size / 2, mine;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 5, &inter);
    MPI_Comm_rank(half, &mine);
    if (mine == 0)
        receive(0, 4, inter);
    MPI_Barrier(MPI_COMM_WORLD); /* here: intercommunicator_receives */
}

/* scenario intercommunicator_barrier_missing 4 collective-not-entered culprit 3 */
static void intercommunicator_barrier_missing(void)
{
    MPI_Comm half, inter;
    int upper = rank >= size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 5, &inter);
    if (rank != 3)
        MPI_Barrier(inter); /* here: intercommunicator_barrier_missing */
}

static void *receive_in_a_thread(void *tag)
{
    receive(1 - rank, *(int *)tag, MPI_COMM_WORLD);
    return NULL;
}

/* scenario threads_that_wait_for_each_other 2 deadlock says 0 -> 1 -> 0 */
static void threads_that_wait_for_each_other(void)
{
    pthread_t thread;
    static int tag = 2;
    pthread_create(&thread, NULL, receive_in_a_thread, &tag);
    MPI_Recv(&values[1], 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: threads_that_wait_for_each_other */
    pthread_join(thread, NULL);
}

static void *receives_tag_two(void *unused)
{
    receive(1 - rank, 2, MPI_COMM_WORLD);
    return unused;
}

/* scenario main_waits_for_a_thread 2 deadlock says 0 -> 1 -> 0 */
static void main_waits_for_a_thread(void)
{
    pthread_t thread;
    if (rank == 0) {
        pthread_create(&thread, NULL, receives_tag_two, NULL);
        pthread_join(thread, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* here: main_waits_for_a_thread */
}

/* scenario polling_with_pauses 2 polling culprit 0 says MPI_Iprobe */
static void polling_with_pauses(void)
{
    int found = rank;
    while (!found) {
        MPI_Iprobe(1, 3, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE); /* here: polling_with_pauses */
        usleep(1000);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario waitall_lacks_one_of_two 3 message-never-sent culprit 2 says but rank 1 has; rank 2 is in MPI_Barrier */
static void waitall_lacks_one_of_two(void)
{
    MPI_Request requests[2];
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, i + 1, 3, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* here: waitall_lacks_one_of_two */
    }
    if (rank == 1)
        send(0, 3, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario one_reads_from_a_pipe 2 slow culprit 1 says in one_reads_from_a_pipe at hang_more.c */
static void one_reads_from_a_pipe(void)
{
    int ends[2];
    char byte;
    if (rank == 1 && !pipe(ends))
        (void)!read(ends[0], &byte, 1);
    MPI_Barrier(MPI_COMM_WORLD); /* here: one_reads_from_a_pipe */
}

/* scenario another_thread_computes 2 slow */
static void another_thread_computes(void)
{
    static int tag = 2;
    if (rank == 0)
        receive_in_a_thread(&tag);
    else
        for (double until = MPI_Wtime() + 60; MPI_Wtime() < until;)
            ;
}

static void *sends_late(void *unused)
{
    (void)unused;
    sleep(60);
    send(1 - rank, 2, MPI_COMM_WORLD);
    return NULL;
}

/* scenario a_thread_calls_later 2 slow says sleeping in the system call clock_nanosleep in sends_late at hang_more.c: */
static void a_thread_calls_later(void)
{
    /* It has not called MPI yet, and it wakes up by itself. */
    pthread_t thread;
    pthread_create(&thread, NULL, sends_late, NULL);
    int value;
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: a_thread_calls_later */
    pthread_join(thread, NULL);
}

static void *takes_requests(void *unused)
{
    (void)unused;
    poll(NULL, 0, 60000); /* in place of a socket */
    send(1 - rank, 2, MPI_COMM_WORLD);
    return NULL;
}

/* scenario a_thread_takes_requests 2 slow says sleeping in the system call poll in takes_requests at hang_more.c: */
static void a_thread_takes_requests(void)
{
    /* Like threads of the library, which never call MPI. */
    pthread_t thread;
    int value;
    pthread_create(&thread, NULL, takes_requests, NULL);
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: a_thread_takes_requests */
    pthread_join(thread, NULL);
}

/* scenario thousands_of_messages_then_another_tag 2 message-never-sent culprit 0 says tag 42 */
static void thousands_of_messages_then_another_tag(void)
{
    for (int i = 0; i < 6000; i++)
        if (rank == 0)
            send(1, i % 7, MPI_COMM_WORLD);
        else
            receive(0, i % 7, MPI_COMM_WORLD);
    if (rank == 0)
        send(1, 41, MPI_COMM_WORLD);
    else
        receive(0, 42, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario issend_never_received 2 message-never-received culprit 1 says is in MPI_Finalize */
static void issend_never_received(void)
{
    MPI_Request request;
    if (rank == 0) {
        MPI_Issend(values, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: issend_never_received */
    }
}

/* scenario replaced_with_another_tag 2 message-never-sent says tag */
static void replaced_with_another_tag(void)
{
    MPI_Sendrecv_replace(values, 1, MPI_INT, 1 - rank, 3, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: replaced_with_another_tag */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario different_roots 2 collective-mismatch says root */
static void different_roots(void)
{
    int sum;
    MPI_Reduce(values, &sum, 1, MPI_INT, MPI_SUM, rank, MPI_COMM_WORLD); /* here: different_roots */
    MPI_Barrier(MPI_COMM_WORLD);
    receive(1 - rank, 1, MPI_COMM_WORLD);
}

/* scenario gatherv_against_scatterv 2 collective-mismatch says MPI_Gatherv */
static void gatherv_against_scatterv(void)
{
    int counts[2] = {1, 1}, places[2] = {0, 1};
    if (rank == 0)
        MPI_Gatherv(values, 1, MPI_INT, values + 8, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Scatterv(values, counts, places, MPI_INT, values + 8, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    receive(1 - rank, 1, MPI_COMM_WORLD);
}

/* scenario alltoallw_not_entered 3 collective-not-entered culprit 2 */
static void alltoallw_not_entered(void)
{
    int counts[3] = {1, 1, 1}, places[3] = {0, 4, 8};
    MPI_Datatype types[3] = {MPI_INT, MPI_INT, MPI_INT};
    if (rank != 2)
        MPI_Alltoallw(values, counts, places, types, values + 8, counts, places, types, MPI_COMM_WORLD); /* here: alltoallw_not_entered */
}

/* scenario duplicate_not_entered 3 collective-not-entered culprit 1 */
static void duplicate_not_entered(void)
{
    MPI_Comm copy;
    if (rank != 1)
        MPI_Comm_dup(MPI_COMM_WORLD, &copy); /* here: duplicate_not_entered */
}

/* scenario file_not_opened_by_all 3 collective-not-entered culprit 1 */
static void file_not_opened_by_all(void)
{
    MPI_File file;
    char name[256];
    snprintf(name, sizeof name, "/tmp/hang_more.%d.%d", (int)getuid(), (int)getppid());
    if (rank != 1)
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file); /* here: file_not_opened_by_all */
}

/* Opens a file on all ranks, which is deleted when it is closed. */
static MPI_File file_of_all(void)
{
    MPI_File file;
    char name[256];
    snprintf(name, sizeof name, "/tmp/hang_more.%d.%d", (int)getuid(), (int)getppid());
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    return file;
}

/* scenario write_not_entered 3 collective-not-entered culprit 1 says MPI_File_write_all */
static void write_not_entered(void)
{
    MPI_File file = file_of_all();
    MPI_File_write_all(file, values, 1, MPI_INT, MPI_STATUS_IGNORE);
    if (rank != 1)
        MPI_File_write_all(file, values, 1, MPI_INT, MPI_STATUS_IGNORE); /* here: write_not_entered */
}

/* scenario file_closed_by_some 3 collective-mismatch says MPI_File_close */
static void file_closed_by_some(void)
{
    MPI_File file = file_of_all();
    if (rank != 1)
        MPI_File_set_size(file, 100); /* some libraries match it with the close */
    MPI_File_close(&file); /* here: file_closed_by_some */
}

/* scenario fence_not_entered 3 deadlock says deadlock: 0 -> 1 -> 0 */
static void fence_not_entered(void)
{
    int *memory;
    MPI_Win win;
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_fence(0, win);
    if (rank != 1)
        MPI_Win_fence(0, win); /* here: fence_not_entered */
    else
        receive(0, 3, MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

/* scenario exposure_never_ended 2 rma culprit 0 says MPI_Win_start, MPI_Win_complete */
static void exposure_never_ended(void)
{
    int *memory, other = 1 - rank;
    MPI_Win win;
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &group);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == 1) {
        MPI_Win_post(group, 0, win);
        MPI_Win_wait(win); /* here: exposure_never_ended */
    }
    receive(1 - rank, 3, MPI_COMM_WORLD);
}

/* scenario access_never_granted 2 rma culprit 0 says MPI_Win_post */
static void access_never_granted(void)
{
    int *memory, other = 1 - rank;
    MPI_Win win;
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &group);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == 1) {
        MPI_Win_start(group, 0, win);
        MPI_Put(values, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
    }
    receive(1 - rank, 3, MPI_COMM_WORLD);
}

/* scenario testall_for_nothing 2 polling culprit 0 */
static void testall_for_nothing(void)
{
    int flag = 0;
    MPI_Request requests[2];
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        while (!flag)
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE); /* here: testall_for_nothing */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario last_one_finalizes_late 3 slow culprit 2 says sleeping */
static void last_one_finalizes_late(void)
{
    if (rank == 2)
        sleep(60);
}

/* scenario one_skips_a_neighbourhood 4 collective-mismatch culprit 2 says MPI_Neighbor_allgather */
static void one_skips_a_neighbourhood(void)
{
    MPI_Comm ring;
    int length = size, periodic = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &length, &periodic, 0, &ring);
    MPI_Comm_set_name(ring, "ring");
    if (rank != 2)
        MPI_Neighbor_allgather(values, 1, MPI_INT, values + 8, 1, MPI_INT, ring);
    MPI_Barrier(ring); /* here: one_skips_a_neighbourhood */
}

/* scenario nobody_connects 2 no-partner without mpich-4.0,mpich-5.0,mpich-5.0-abi,intel,intel-abi */
static void nobody_connects(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm client;
    if (rank == 0) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &client); /* here: nobody_connects */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario parent_and_children 1 deadlock without mpich-4.0,intel,intel-abi */
static void parent_and_children(void)
{
    MPI_Comm parent, children;
    char *arguments[] = {"parent_and_children", NULL};
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        receive(0, 1, parent);
        return;
    }
    MPI_Comm_spawn((char *)program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    MPI_Recv(values, 1, MPI_INT, 0, 2, children, MPI_STATUS_IGNORE); /* here: parent_and_children */
}

/* scenario alltoallv_lacks_a_part 3 collective-mismatch without openmpi-4.1 says the members give 32 bytes in all, and expect 36 */
static void alltoallv_lacks_a_part(void)
{
    int gives[3] = {1, rank != 0, 1}, expects[3] = {1, 1, 1}, at[3] = {0, 1, 2};
    MPI_Alltoallv(values, gives, at, MPI_INT, values + 8, expects, at, MPI_INT, MPI_COMM_WORLD); /* here: alltoallv_lacks_a_part */
}

/* scenario scatter_of_nothing 3 collective-mismatch culprit 0 without openmpi-4.1,openmpi-5.0 says rank 0 gives nothing and expects 4 */
static void scatter_of_nothing(void)
{
    MPI_Scatter(values, 0, MPI_INT, values + 8, 1, MPI_INT, 0, MPI_COMM_WORLD); /* here: scatter_of_nothing */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* scenario ring_with_a_wrong_destination 4 message-never-sent culprit 1 says rank 1 sent a message with tag 7 to rank 3 */
static void ring_with_a_wrong_destination(void)
{
    for (int i = 0; i < 20; i++) {
        send(rank == 1 ? 3 : (rank + 1) % size, 7, MPI_COMM_WORLD);
        MPI_Recv(values, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: ring_with_a_wrong_destination */
    }
}

/* scenario nonblocking_write_not_started 3 collective-not-entered culprit 1 without openmpi-4.1,openmpi-5.0 says MPI_File_iwrite_all */
static void nonblocking_write_not_started(void)
{
    MPI_File file = file_of_all();
    MPI_Request request;
    if (rank != 1) {
        MPI_File_iwrite_all(file, values, 1, MPI_INT, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* here: nonblocking_write_not_started */
    }
}

SCENARIOS(
    S(head_to_head_synchronous), S(waitsome_nobody_sends), S(persistent_receives),
    S(matched_probe_for_nothing), S(wildcard_and_named), S(receive_against_allreduce),
    S(intercommunicator_receives), S(intercommunicator_barrier_missing), S(threads_that_wait_for_each_other),
    S(main_waits_for_a_thread), S(polling_with_pauses), S(waitall_lacks_one_of_two), S(one_reads_from_a_pipe),
    S(another_thread_computes), S(a_thread_calls_later), S(a_thread_takes_requests),
    S(thousands_of_messages_then_another_tag), S(issend_never_received),
    S(replaced_with_another_tag), S(different_roots), S(gatherv_against_scatterv), S(alltoallw_not_entered),
    S(duplicate_not_entered), S(file_not_opened_by_all), S(write_not_entered), S(file_closed_by_some),
    S(fence_not_entered), S(exposure_never_ended), S(access_never_granted), S(testall_for_nothing),
    S(last_one_finalizes_late), S(one_skips_a_neighbourhood), S(nobody_connects), S(parent_and_children),
    S(alltoallv_lacks_a_part), S(scatter_of_nothing), S(ring_with_a_wrong_destination), S(nonblocking_write_not_started))
