/* Erroneous programs that end or crash; `broken NAME` runs one of them.
 *
 * The comment before each function states the expected finding of `mpiscope run`:
 *
 *   finding NAME RANKS KIND [ranks RANKS] [check] [dies] [without LIBRARIES] [says TEXT]
 *
 * KIND is the kind of the finding, RANKS are its ranks, and its line is the one with the comment `here: NAME`. `check`: found only with
 * the option --check. `dies`: the program ends with an error on some
 * libraries, with and without the layer. LIBRARIES reject the program, or hang.
 */
#include "broken.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void send(int to, int tag)
{
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static void receive(int from, int tag)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* finding other_operation 3 collective-mismatch ranks 2 says collective mismatch (operation) */
static void other_operation(void)
{
    int in = 1, out;
    if (rank == 2)
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD); /* here: other_operation */
    else
        MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* finding other_types 2 collective-mismatch ranks [0-1] says type signature */
static void other_types(void)
{
    int values[2] = {0, 0};
    if (rank == 0)
        MPI_Bcast(values, 2, MPI_INT, 0, MPI_COMM_WORLD);
    else
        MPI_Bcast(values, 2, MPI_FLOAT, 0, MPI_COMM_WORLD); /* here: other_types */
}

/* finding scattered_from_another_root 3 collective-mismatch ranks 1 says ranks [0,2] were in MPI_Scatter with root 0 */
static void scattered_from_another_root(void)
{
    int all[3] = {0, 0, 0}, value;
    if (rank == 1)
        MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, 1, MPI_COMM_WORLD); /* here: scattered_from_another_root */
    else
        MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

/* finding nobody_receives 2 message-never-received ranks 0 dies says with tag 5 to rank 1 */
static void nobody_receives(void)
{
    if (rank == 0)
        send(1, 5);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding receive_left_open 2 request-never-completed ranks 1 says never completed */
static void receive_left_open(void)
{
    static int value;
    MPI_Request request;
    if (rank == 1)
        MPI_Irecv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request); /* here: receive_left_open */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding request_written_over 2 request-overwritten ranks 1 dies says the variable that held the handle was overwritten with another request at */
static void request_written_over(void)
{
    static int values[2];
    MPI_Request request;
    if (rank == 1) {
        MPI_Irecv(&values[0], 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request); /* here: request_written_over */
        MPI_Irecv(&values[1], 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (rank == 0)
        send(1, 4);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding one_of_many_left 2 request-never-completed ranks 1 says never completed: 1 request */
static void one_of_many_left(void)
{
    /* Handles that are copied before their variable is reused are not lost. */
    static int values[4];
    MPI_Request request, all[4], forgotten;
    if (rank == 1) {
        for (int i = 0; i < 4; i++) {
            MPI_Irecv(&values[i], 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
            all[i] = request;
        }
        request = MPI_REQUEST_NULL;
        forgotten = MPI_REQUEST_NULL;
        MPI_Irecv(values, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &forgotten); /* here: one_of_many_left */
        MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
    }
    if (rank == 0)
        for (int i = 0; i < 4; i++)
            send(1, 4);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding restarted_and_left 2 request-never-completed ranks 1 says never completed: 1 request */
/* Notes about a completed operation of a request are not reported for its next operation. */
static void restarted_and_left(void)
{
    static int values[2];
    MPI_Request request, copy;
    if (rank == 1) {
        MPI_Recv_init(&values[0], 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request); /* here: restarted_and_left */
        copy = request;
        MPI_Start(&copy);
        MPI_Irecv(&values[1], 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&copy, MPI_STATUS_IGNORE);
        MPI_Start(&copy);
    } else {
        send(1, 4);
        send(1, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding duplicate_left 2 not-freed ranks [0-1] says 2 communicators */
static void duplicate_left(void)
{
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy); /* here: duplicate_left */
}

/* finding too_long_for_a_receive 2 truncated ranks 1 dies says has room for 8 bytes, and rank 0 sent a message with tag 6 to rank 1 on MPI_COMM_WORLD (16 bytes, broken.c: */
static void too_long_for_a_receive(void)
{
    int values[4] = {0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0)
        MPI_Send(values, 4, MPI_INT, 1, 6, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(values, 2, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: too_long_for_a_receive */
}

/* finding too_long_for_a_request 2 truncated ranks 1 dies says has room for 4 bytes, and rank 0 sent a message with tag 6 to rank 1 on MPI_COMM_WORLD (40 bytes, broken.c: */
static void too_long_for_a_request(void)
{
    int values[10] = {0};
    MPI_Request requests[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Send(values, 10, MPI_INT, 1, 6, MPI_COMM_WORLD);
        send(1, 7);
    }
    if (rank == 1) {
        MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &requests[0]); /* here: too_long_for_a_request */
        MPI_Irecv(&values[1], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &requests[1]);
        for (int i = 0; i < 2; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
}

/* finding too_long_and_fatal 2 truncated ranks 1 dies says has room for 8 bytes, and rank 0 sent a message with tag 6 to rank 1 */
static void too_long_and_fatal(void)
{
    int values[4] = {0};
    if (rank == 0) {
        MPI_Send(values, 4, MPI_INT, 1, 6, MPI_COMM_WORLD);
        receive(1, 7);
    }
    if (rank == 1) {
        MPI_Recv(values, 2, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: too_long_and_fatal */
        send(0, 7);
    }
}

/* finding count_below_zero 2 call-failed ranks 1 dies says was given count -1 (MPI_ERR_COUNT), and did not return */
static void count_below_zero(void)
{
    if (rank == 1)
        MPI_Send(&rank, -1, MPI_INT, 0, 3, MPI_COMM_WORLD); /* here: count_below_zero */
    else
        receive(1, 3);
}

/* finding operation_not_for_the_type 2 call-failed ranks 1 dies says failed with MPI_ERR_OP, and did not return */
static void operation_not_for_the_type(void)
{
    float in = 1, out;
    if (rank == 1)
        MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_SELF); /* here: operation_not_for_the_type */
    else
        receive(1, 3);
}

/* finding started_while_active 2 call-failed ranks 0 dies without openmpi-4.1 says MPI_Start at */
static void started_while_active(void)
{
    static int value;
    MPI_Request request;
    if (rank == 1)
        receive(0, 3);
    MPI_Recv_init(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Start(&request); /* here: started_while_active */
}

/* finding completed_request_waited_for 2 call-failed ranks 0 dies without openmpi-4.1,openmpi-5.0 says was given a request that MPI_Wait at */
static void completed_request_waited_for(void)
{
    int value = 1;
    MPI_Request request, copy;
    if (rank == 1) {
        send(0, 3);
        receive(0, 3);
    } else {
        MPI_Irecv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &request);
        copy = request;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&copy, MPI_STATUS_IGNORE); /* here: completed_request_waited_for */
        send(1, 3);
    }
}

/* finding size_of_no_communicator 2 call-failed ranks 1 dies says MPI_Comm_size at */
static void size_of_no_communicator(void)
{
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? 0 : MPI_UNDEFINED, 0, &part);
    if (rank == 0)
        receive(1, 3);
    MPI_Comm_size(part, &size); /* here: size_of_no_communicator */
}

static void give_up(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    (void)comm;
    MPI_Error_string(*code, text, &length);
    exit(length > 0 ? 3 : 4);
}

/* finding ended_by_its_own_handler 2 call-failed ranks 1 dies says failed with MPI_ERR_OP, and did not return */
static void ended_by_its_own_handler(void)
{
    MPI_Errhandler handler;
    float in = 1, out;
    MPI_Comm_create_errhandler(give_up, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    if (rank == 1)
        MPI_Allreduce(&in, &out, 1, MPI_FLOAT, MPI_BAND, MPI_COMM_SELF); /* here: ended_by_its_own_handler */
    else
        receive(1, 3);
}

/* finding put_without_an_epoch 2 call-failed ranks 0 dies says without an epoch in which it may access the memory of others (MPI_ERR_RMA_SYNC) */
static void put_without_an_epoch(void)
{
    int value = 1, memory[2];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0)
        MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* here: put_without_an_epoch */
    MPI_Win_free(&win);
}

/* finding request_between_fences 2 rma-synchronization ranks 0 says MPI_Rput at */
static void request_between_fences(void)
{
    /* Operations with a request are allowed only under a lock. */
    static int memory[2];
    int value = 1;
    MPI_Win win;
    MPI_Request request;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Rput(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request); /* here: request_between_fences */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

/* finding put_beside_its_lock 3 rma-synchronization ranks 0 dies without openmpi-4.1,openmpi-5.0,intel,intel-abi says was called on a window without a lock on the memory of rank 2, which the library did not report */
static void put_beside_its_lock(void)
{
    int value = 1, memory[2];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Put(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, win); /* here: put_beside_its_lock */
        MPI_Win_unlock(1, win);
    }
    MPI_Win_free(&win);
}

/* finding locked_twice 2 rma-synchronization ranks 1 dies without mpich-4.0,mpich-5.0,mpich-5.0-abi,intel,intel-abi says while it already holds a lock on the memory of rank 0 */
static void locked_twice(void)
{
    int memory[2];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win); /* here: locked_twice */
        MPI_Win_unlock(0, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Win_free(&win);
}

/* finding freed_before_the_unlock 2 rma-synchronization ranks 1 without mpich-4.0,mpich-5.0,mpich-5.0-abi,intel,intel-abi says before it has ended what MPI_Win_lock began */
static void freed_before_the_unlock(void)
{
    int memory[2];
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Win_free(&win); /* here: freed_before_the_unlock */
}

/* finding get_of_another_size 2 type-mismatch ranks 1 check says specifies 8 bytes at the origin and 4 bytes at the target */
static void get_of_another_size(void)
{
    int values[2], memory[2] = {0};
    MPI_Datatype pair;
    MPI_Win win;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Get(values, 1, pair, 1, 0, 2, MPI_INT, win);
    if (rank == 1)
        MPI_Get(values, 2, MPI_INT, 0, 0, 1, MPI_INT, win); /* here: get_of_another_size */
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Type_free(&pair);
}

/* finding other_type_in_a_receive 2 type-mismatch ranks [0-1] check says rank 0 sent 2 x MPI_INT at */
static void other_type_in_a_receive(void)
{
    double value = 0;
    int values[2] = {1, 2};
    if (rank == 0)
        MPI_Send(values, 2, MPI_INT, 1, 9, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(&value, 1, MPI_DOUBLE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: other_type_in_a_receive */
}

/* finding other_structure_in_a_request 3 type-mismatch ranks [0,2] check says rank 2 received */
static void other_structure_in_a_request(void)
{
    struct pair { float f; int i; } pairs[3] = {{0, 0}};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, sizeof(float)};
    MPI_Datatype types[2] = {MPI_FLOAT, MPI_INT}, turned[2] = {MPI_INT, MPI_FLOAT}, pair;
    MPI_Request request;
    MPI_Type_create_struct(2, lengths, places, rank == 0 ? types : turned, &pair);
    MPI_Type_commit(&pair);
    if (rank == 0) {
        for (int i = 0; i < 5; i++) {
            MPI_Isend(pairs, 3, pair, 2, 9, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 2) {
        for (int i = 0; i < 5; i++) {
            MPI_Irecv(pairs, 3, pair, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request); /* here: other_structure_in_a_request */
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    MPI_Type_free(&pair);
}

/* finding freed_receive 2 request-freed-active ranks 1 says MPI_Request_free */
static void freed_receive(void)
{
    static int value;
    MPI_Request request;
    if (rank == 1) {
        MPI_Irecv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request); /* here: freed_receive */
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        send(1, 3);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding matched_and_left 2 finalize-with-work-pending ranks 1 says called MPI_Finalize with a message that a probe */
static void matched_and_left(void)
{
    MPI_Message message;
    if (rank == 0)
        send(1, 3);
    if (rank == 1)
        MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE); /* here: matched_and_left */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding sent_with_a_wrong_tag 2 call-failed ranks 0 without intel-abi says MPI_Send at */
static void sent_with_a_wrong_tag(void)
{
    int value = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; rank == 0 && i < 3; i++)
        MPI_Send(&value, 1, MPI_INT, 1, -7, MPI_COMM_WORLD); /* here: sent_with_a_wrong_tag */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding received_and_not_waited_for 2 request-never-completed ranks 1 says never completed: 1 request */
/* The sender of the message has made no mistake. */
static void received_and_not_waited_for(void)
{
    static int value;
    MPI_Request request;
    if (rank == 0)
        send(1, 3);
    else
        MPI_Irecv(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request); /* here: received_and_not_waited_for */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* finding broadcast_left_out 4 collective-not-entered ranks 3 says rank 3 called MPI_Finalize without entering MPI_Bcast (collective 3 on MPI_COMM_WORLD), which ranks [0-2] had entered */
/* The root need not wait, and no rank gets the data from the last rank. */
static void broadcast_left_out(void)
{
    int value = 0;
    for (int i = 0; i < 3; i++)
        if (i < 2 || rank != 3)
            MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* here: broadcast_left_out */
}

/* finding both_send_first 2 relies-on-buffering ranks [0-1] check says rank 0 would wait in MPI_Send at */
static void both_send_first(void)
{
    int value = 0;
    MPI_Send(&value, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD); /* here: both_send_first */
    receive(1 - rank, 5);
}

/* finding sent_across_a_barrier 3 relies-on-buffering ranks [0-1] check says until rank 1 enters it */
static void sent_across_a_barrier(void)
{
    int value = 0;
    if (rank == 1)
        MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD); /* here: sent_across_a_barrier */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        receive(1, 5);
}

/* finding sent_in_a_ring 4 relies-on-buffering ranks [0-3] check says in MPI_Send at */
/* The calls before the ring complete with every library: requests, a buffered send, any rank's message. */
static void sent_in_a_ring(void)
{
    static char buffer[1000 + MPI_BSEND_OVERHEAD];
    int value = 0, other, next = (rank + 1) % size, before = (rank + size - 1) % size, bytes;
    void *detached;
    MPI_Request request;
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Ibsend(&value, 1, MPI_INT, next, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    receive(before, 1);
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Irecv(&other, 1, MPI_INT, before, 2, MPI_COMM_WORLD, &request);
    send(next, 2);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, next, 3, MPI_COMM_WORLD); /* here: sent_in_a_ring */
    receive(before, 3);
}

/* finding partitioned_ends_differ_in_size 2 truncated ranks [0-1] check dies without openmpi-4.1 says rank 0 sends 400 bytes at */
static void partitioned_ends_differ_in_size(void)
{
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    static char data[400];
    MPI_Request request;
    if (rank == 0) {
        MPI_Psend_init(data, 4, 100, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready_range(0, 3, request);
    } else {
        MPI_Precv_init(data, 2, 100, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_Start(&request); /* here: partitioned_ends_differ_in_size */
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
#endif
}

/* finding freed_partitioned_send 2 request-freed-active ranks 0 without openmpi-4.1 says MPI_Request_free */
static void freed_partitioned_send(void)
{
#if MPI_VERSION >= 4 || defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5
    static char data[4];
    MPI_Request request;
    if (rank == 0) {
        MPI_Psend_init(data, 4, 1, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready_range(0, 3, request);
    } else {
        MPI_Precv_init(data, 4, 1, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    /* Libraries may send nothing more after the request has been freed. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request_free(&request); /* here: freed_partitioned_send */
#endif
}

/* finding whoever_comes_first 3 message-race ranks 0 check says received from any rank at */
static void whoever_comes_first(void)
{
    int value = 0;
    if (rank > 0)
        send(0, 4);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; rank == 0 && i < size; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: whoever_comes_first */
}

/* finding first_come_by_chance 3 message-race ranks 0 check says received from any rank at */
static void first_come_by_chance(void)
{
    /* Rank 2 sends later, but nothing makes it wait for the first receive. */
    int value = 0;
    if (rank == 2)
        usleep(200 * 1000);
    if (rank > 0)
        send(0, 4);
    for (int i = 1; rank == 0 && i < size; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: first_come_by_chance */
}

/* finding waited_for_before_a_barrier 2 relies-on-buffering ranks [0-1] check says in MPI_Waitall at */
static void waited_for_before_a_barrier(void)
{
    int values[2] = {0, 0};
    MPI_Request requests[2];
    if (rank == 0) {
        for (int i = 0; i < 2; i++)
            MPI_Isend(&values[i], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* here: waited_for_before_a_barrier */
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < 2; i++)
        receive(0, 5);
}

/* finding send_never_waited_for 2 request-never-completed ranks 0 says never completed: 1 request */
static void send_never_waited_for(void)
{
    static int value;
    MPI_Request request;
    if (rank == 0)
        MPI_Isend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request); /* here: send_never_waited_for */
    else
        receive(0, 5);
}

/* finding two_receives_into_one_buffer 2 buffer-overlap ranks [0-1] check says were active at once in the same memory */
static void two_receives_into_one_buffer(void)
{
    int values[6] = {0}, all[4] = {0};
    MPI_Request requests[2];
    MPI_Irecv(&values[0], 4, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&values[2], 4, MPI_INT, 1 - rank, 6, MPI_COMM_WORLD, &requests[1]); /* here: two_receives_into_one_buffer */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(all, 4, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
    MPI_Send(all, 4, MPI_INT, 1 - rank, 6, MPI_COMM_WORLD);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* finding matched_into_a_pending_receive 2 buffer-overlap ranks 1 check says were active at once in the same memory */
static void matched_into_a_pending_receive(void)
{
    int values[4] = {0};
    MPI_Request request;
    MPI_Message message;
    if (rank == 0) {
        send(1, 6);
        MPI_Barrier(MPI_COMM_WORLD);
        send(1, 5);
    } else {
        MPI_Irecv(values, 4, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        MPI_Mprobe(0, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(values, 4, MPI_INT, &message, MPI_STATUS_IGNORE); /* here: matched_into_a_pending_receive */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* finding sent_and_received_in_one_buffer 2 buffer-overlap ranks 0 check dies says the send of 4 x MPI_INT at */
static void sent_and_received_in_one_buffer(void)
{
    int values[4] = {0};
    if (rank == 0)
        MPI_Sendrecv(values, 4, MPI_INT, 1, 5, values, 4, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* here: sent_and_received_in_one_buffer */
    else
        MPI_Sendrecv_replace(values, 4, MPI_INT, 0, 5, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* finding other_type_from_a_member 2 collective-mismatch ranks [0-1] says type signature */
static void other_type_from_a_member(void)
{
    int value = 1, all[2], counts[2] = {1, 1}, places[2] = {0, 1};
    MPI_Datatype type = rank == 0 ? MPI_INT : MPI_FLOAT;
    MPI_Allgatherv(&value, 1, type, all, counts, places, type, MPI_COMM_WORLD); /* here: other_type_from_a_member */
}

/* finding sent_after_the_end 2 call-failed ranks 1 dies says after MPI_Finalize (MPI_ERR_OTHER) */
static void sent_after_the_end(void)
{
    MPI_Finalize();
    if (rank == 0)
        exit(0);
    MPI_Barrier(MPI_COMM_WORLD); /* here: sent_after_the_end */
}

/* finding communicator_freed_twice 2 freed-handle ranks 1 without mpich-4.0,mpich-5.0,mpich-5.0-abi,intel,intel-abi says was given the handle of a freed communicator */
static void communicator_freed_twice(void)
{
    MPI_Comm own, copy;
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    copy = own;
    MPI_Comm_free(&own);
    if (rank == 1)
        MPI_Comm_free(&copy); /* here: communicator_freed_twice */
}

/* finding sent_with_a_freed_datatype 2 freed-handle ranks 1 check dies says MPI_Send at */
static void sent_with_a_freed_datatype(void)
{
    int buffer[2] = {1, 2};
    MPI_Datatype pair, copy;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    copy = pair;
    MPI_Type_free(&pair);
    if (rank == 1)
        MPI_Send(buffer, 1, copy, 0, 5, MPI_COMM_WORLD); /* here: sent_with_a_freed_datatype */
    else
        MPI_Recv(buffer, 2, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* finding put_with_a_freed_datatype 2 freed-handle ranks 1 check dies without mpich-4.0,intel,intel-abi says MPI_Put at */
static void put_with_a_freed_datatype(void)
{
    int buffer[2] = {1, 2}, *memory;
    MPI_Datatype pair, copy;
    MPI_Win window;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    copy = pair;
    MPI_Win_allocate(sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Type_free(&pair);
    if (rank == 1)
        MPI_Put(buffer, 1, copy, 0, 0, 2, MPI_INT, window); /* here: put_with_a_freed_datatype */
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* finding broadcast_with_a_freed_datatype 2 freed-handle ranks 1 check dies says MPI_Bcast at */
static void broadcast_with_a_freed_datatype(void)
{
    int buffer[2] = {1, 2};
    MPI_Datatype pair, copy;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    copy = pair;
    MPI_Type_free(&pair);
    if (rank == 1)
        MPI_Bcast(buffer, 1, copy, 0, MPI_COMM_WORLD); /* here: broadcast_with_a_freed_datatype */
    else
        MPI_Bcast(buffer, 2, MPI_INT, 0, MPI_COMM_WORLD);
}

/* finding finalized_twice 2 call-failed ranks 1 dies says was called after MPI_Finalize (MPI_ERR_OTHER), and did not return */
static void finalized_twice(void)
{
    MPI_Finalize();
    if (rank == 0)
        exit(0);
    MPI_Finalize(); /* here: finalized_twice */
}

/* finding never_finalized 2 not-finalized ranks [0-1] dies says ended with exit status 0 but without MPI_Finalize, last call MPI_Barrier at broken.c: */
static void never_finalized(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
}

FINDINGS(MPI_Init, F(received_and_not_waited_for), F(broadcast_left_out), F(both_send_first),
         F(sent_across_a_barrier), F(sent_in_a_ring), F(whoever_comes_first), F(sent_with_a_wrong_tag),
         F(other_operation), F(other_types), F(scattered_from_another_root), F(nobody_receives),
         F(receive_left_open), F(request_written_over), F(one_of_many_left), F(restarted_and_left),
         F(duplicate_left), F(too_long_for_a_receive), F(too_long_for_a_request), F(too_long_and_fatal),
         F(count_below_zero), F(operation_not_for_the_type), F(started_while_active), F(completed_request_waited_for),
         F(size_of_no_communicator), F(ended_by_its_own_handler),
         F(put_without_an_epoch), F(get_of_another_size), F(request_between_fences),
         F(put_beside_its_lock), F(locked_twice), F(freed_before_the_unlock), F(other_type_in_a_receive),
         F(other_structure_in_a_request), F(freed_receive), F(matched_and_left),
         F(partitioned_ends_differ_in_size), F(freed_partitioned_send), F(first_come_by_chance),
         F(waited_for_before_a_barrier),
         F(send_never_waited_for), F(two_receives_into_one_buffer), F(matched_into_a_pending_receive), F(sent_and_received_in_one_buffer),
         F(other_type_from_a_member), F(sent_after_the_end), F(communicator_freed_twice),
         F(sent_with_a_freed_datatype), F(put_with_a_freed_datatype), F(broadcast_with_a_freed_datatype),
         F(finalized_twice), F(never_finalized))
