/* Erroneous one-sided communication that libraries let pass; `broken_rma NAME` runs one of the programs.
 *
 * The comments are those of broken.c. The correct twins are in ordered_rma.c.
 */
#include "broken.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int memory[64], value, values[64];
static MPI_Win win;

static void make_window(void)
{
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

static void free_window(void)
{
    MPI_Win_free(&win);
}

/* finding put_behind_the_end 2 rma-range ranks 0 check without openmpi-4.1,openmpi-5.0 says accesses bytes 252 to 259 of the memory of rank 1 in */
static void put_behind_the_end(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(values, 2, MPI_INT, 1, 63, 2, MPI_INT, win); /* here: put_behind_the_end */
    MPI_Win_fence(0, win);
    free_window();
}

/* finding get_before_the_beginning 2 rma-range ranks 1 check without openmpi-4.1,openmpi-5.0 says accesses bytes -8 to 3 of the memory of rank 0 in */
static void get_before_the_beginning(void)
{
    /* The second element lies before the first one. */
    int lengths[2] = {1, 1}, displacements[2] = {0, -2};
    MPI_Datatype backward;
    MPI_Type_indexed(2, lengths, displacements, MPI_INT, &backward);
    MPI_Type_commit(&backward);
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 1)
        MPI_Get(values, 2, MPI_INT, 0, 0, 1, backward, win); /* here: get_before_the_beginning */
    MPI_Win_fence(0, win);
    free_window();
    MPI_Type_free(&backward);
}

/* finding add_beside_attached_memory 2 rma-range ranks 0 check without openmpi-4.1,openmpi-5.0 says which is not attached */
static void add_beside_attached_memory(void)
{
    MPI_Aint address, other;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, 8 * sizeof(int));
    MPI_Get_address(memory + 6, &address);
    MPI_Sendrecv(&address, 1, MPI_AINT, !rank, 0, &other, 1, MPI_AINT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock_all(0, win);
    if (rank == 0)
        MPI_Accumulate(values, 4, MPI_INT, 1, other, 4, MPI_INT, MPI_SUM, win); /* here: add_beside_attached_memory */
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, memory);
    free_window();
}

/* finding two_puts_between_fences 3 rma-conflict ranks [0-1] check says accessed the same bytes of the memory of rank 2 in */
static void two_puts_between_fences(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank < 2)
        MPI_Put(values, 2, MPI_INT, 2, rank, 2, MPI_INT, win); /* here: two_puts_between_fences */
    MPI_Win_fence(0, win);
    free_window();
}

/* finding put_and_get_between_fences 3 rma-conflict ranks [0,2] check says rank 0 by MPI_Get at */
static void put_and_get_between_fences(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Get(&value, 1, MPI_INT, 1, 3, 1, MPI_INT, win);
    if (rank == 2)
        MPI_Put(values, 4, MPI_INT, 1, 0, 4, MPI_INT, win); /* here: put_and_get_between_fences */
    MPI_Win_fence(0, win);
    free_window();
}

/* finding accumulations_that_differ 3 rma-conflict ranks [1-2] check says with MPI_SUM accessed the same bytes of the memory of rank 0 in */
static void accumulations_that_differ(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 1)
        MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_PROD, win);
    if (rank == 2)
        MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win); /* here: accumulations_that_differ */
    MPI_Win_fence(0, win);
    free_window();
}

/* finding puts_under_shared_locks 3 rma-conflict ranks [0,2] check says and nothing ordered them */
static void puts_under_shared_locks(void)
{
    /* Not before all have left the call that made the window. */
    make_window();
    usleep(rank == 2 ? 400000 : 200000);
    if (rank != 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Put(&value, 1, MPI_INT, 1, 5, 1, MPI_INT, win); /* here: puts_under_shared_locks */
        MPI_Win_unlock(1, win);
    }
    free_window();
}

/* finding ordered_too_early 3 rma-conflict ranks [0,2] check says and nothing ordered them */
static void ordered_too_early(void)
{
    /* The barrier comes before the operation is complete. */
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Put(&value, 1, MPI_INT, 1, 5, 1, MPI_INT, win);
        MPI_Win_flush_local(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2)
        MPI_Put(&value, 1, MPI_INT, 1, 5, 1, MPI_INT, win); /* here: ordered_too_early */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding puts_after_one_post 3 rma-conflict ranks [1-2] check says accessed the same bytes of the memory of rank 0 in */
static void puts_after_one_post(void)
{
    MPI_Group world, others;
    int target = 0;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    make_window();
    if (rank == 0) {
        MPI_Group_excl(world, 1, &target, &others);
        MPI_Win_post(others, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Group_incl(world, 1, &target, &others);
        MPI_Win_start(others, 0, win);
        MPI_Put(&value, 1, MPI_INT, 0, 7, 1, MPI_INT, win); /* here: puts_after_one_post */
        MPI_Win_complete(win);
    }
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    free_window();
}

/* finding put_then_get 2 rma-conflict ranks 0 check says and nothing completed the first operation before the second */
static void put_then_get(void)
{
    make_window();
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(&values[0], 1, MPI_INT, 1, 5, 1, MPI_INT, win);
        MPI_Win_flush_local(1, win);
        MPI_Get(&values[1], 1, MPI_INT, 1, 5, 1, MPI_INT, win); /* here: put_then_get */
        MPI_Win_unlock(1, win);
    }
    free_window();
}

/* finding put_into_own_memory 2 rma-conflict ranks [0-1] check says accessed the same bytes of the memory of rank 1 in */
static void put_into_own_memory(void)
{
    make_window();
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, 1, 2, 1, MPI_INT, win); /* here: put_into_own_memory */
    MPI_Win_fence(0, win);
    free_window();
}

/* finding request_of_another_type 2 type-mismatch ranks 0 check says specifies elements of other types at the origin than at the target (4 bytes each) */
static void request_of_another_type(void)
{
    MPI_Request request;
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Rget(values, 1, MPI_INT, 1, 0, 1, MPI_FLOAT, win, &request); /* here: request_of_another_type */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding origin_changed_before_the_fence 2 buffer-changed ranks 0 check says was changed before MPI_Win_fence at */
static void origin_changed_before_the_fence(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Put(values, 64, MPI_INT, 1, 0, 64, MPI_INT, win); /* here: origin_changed_before_the_fence */
        values[63] = 1;
    }
    MPI_Win_fence(0, win);
    free_window();
}

/* finding origin_changed_before_the_unlock 2 buffer-changed ranks 1 check says (2 times) */
static void origin_changed_before_the_unlock(void)
{
    make_window();
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        for (int i = 0; i < 3; i++) {
            MPI_Accumulate(&values[i], 1, MPI_INT, 0, i, 1, MPI_INT, MPI_SUM, win); /* here: origin_changed_before_the_unlock */
            values[i] = i;
        }
        MPI_Win_unlock(0, win);
    }
    free_window();
}

/* finding origin_changed_before_the_wait 2 buffer-changed ranks 0 check says the buffer of MPI_Rput at */
static void origin_changed_before_the_wait(void)
{
    MPI_Request request;
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Rput(values, 64, MPI_INT, 1, 0, 64, MPI_INT, win, &request); /* here: origin_changed_before_the_wait */
        values[63] = 1;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding request_flushed_after_a_change 2 buffer-changed ranks 0 check says the buffer of MPI_Raccumulate at */
static void request_flushed_after_a_change(void)
{
    MPI_Request request;
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Raccumulate(values, 64, MPI_INT, 1, 0, 64, MPI_INT, MPI_SUM, win, &request); /* here: request_flushed_after_a_change */
        values[0] = 1;
        MPI_Win_flush_local(1, win);
        values[0] = 2;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding got_and_put_at_once 2 buffer-overlap ranks 0 check says MPI_Get at */
static void got_and_put_at_once(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Put(&value, 1, MPI_INT, 1, 1, 1, MPI_INT, win); /* here: got_and_put_at_once */
    }
    MPI_Win_fence(0, win);
    free_window();
}

/* finding two_gets_into_one_variable 2 buffer-overlap ranks [0-1] check says were active at once in the same memory (2 times) */
static void two_gets_into_one_variable(void)
{
    make_window();
    MPI_Win_lock(MPI_LOCK_SHARED, !rank, 0, win);
    for (int i = 0; i < 2; i++)
        MPI_Get(values, 4, MPI_INT, !rank, 4 * i, 4, MPI_INT, win); /* here: two_gets_into_one_variable */
    MPI_Win_unlock(!rank, win);
    free_window();
}

/* finding fetched_over_what_is_added 2 buffer-overlap ranks 1 check without mpich-4.0,mpich-5.0,mpich-5.0-abi,intel,intel-abi says two buffers of MPI_Get_accumulate at */
static void fetched_over_what_is_added(void)
{
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 1)
        MPI_Get_accumulate(values, 4, MPI_INT, values + 2, 4, MPI_INT, 0, 0, 4, MPI_INT, MPI_SUM, win); /* here: fetched_over_what_is_added */
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding sent_before_it_was_fetched 2 buffer-overlap ranks 0 check says and the send of 1 x MPI_INT at */
static void sent_before_it_was_fetched(void)
{
    int one = 1;
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Fetch_and_op(&one, &value, MPI_INT, 1, 0, MPI_SUM, win);
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); /* here: sent_before_it_was_fetched */
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding reduced_before_the_fence 2 buffer-overlap ranks 0 check says and MPI_Allreduce of 1 x MPI_INT at */
static void reduced_before_the_fence(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Allreduce(&value, values, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* here: reduced_before_the_fence */
    MPI_Win_fence(0, win);
    free_window();
}

/* finding sent_before_the_request_was_complete 2 buffer-overlap ranks 0 check without openmpi-4.1,openmpi-5.0 says MPI_Rget at */
static void sent_before_the_request_was_complete(void)
{
    MPI_Request request;
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Rget(values, 16, MPI_INT, 1, 0, 16, MPI_INT, win, &request);
        MPI_Send(values + 8, 1, MPI_INT, 1, 0, MPI_COMM_WORLD); /* here: sent_before_the_request_was_complete */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding got_into_elements_that_overlap 2 buffer-overlap ranks 1 check says writes the same bytes twice: elements of its datatype overlap */
static void got_into_elements_that_overlap(void)
{
    MPI_Datatype crowded;
    MPI_Type_create_hvector(4, 1, 2, MPI_INT, &crowded);
    MPI_Type_commit(&crowded);
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 1)
        MPI_Get(values, 1, crowded, 0, 0, 4, MPI_INT, win); /* here: got_into_elements_that_overlap */
    MPI_Win_fence(0, win);
    free_window();
    MPI_Type_free(&crowded);
}

/* finding received_where_others_put 3 rma-conflict ranks [0-1] check says and rank 1 by the receive of 2 x MPI_INT at */
static void received_where_others_put(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(values, 4, MPI_INT, 1, 4, 4, MPI_INT, win); /* here: received_where_others_put */
    if (rank == 1)
        MPI_Recv(memory + 6, 2, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2)
        MPI_Send(values, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Win_fence(0, win);
    free_window();
}

/* finding broadcast_where_others_read 3 rma-conflict ranks [1-2] check says and rank 1 by MPI_Bcast of 4 x MPI_INT at */
static void broadcast_where_others_read(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 2)
        MPI_Get(values, 1, MPI_INT, 1, 3, 1, MPI_INT, win); /* here: broadcast_where_others_read */
    MPI_Bcast(rank == 1 ? memory : values + 8, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Win_fence(0, win);
    free_window();
}

/* finding got_where_others_put 3 rma-conflict ranks [0,2] check says and rank 2 by MPI_Get at */
static void got_where_others_put(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(values, 1, MPI_INT, 2, 0, 1, MPI_INT, win); /* here: got_where_others_put */
    if (rank == 2)
        MPI_Get(memory, 1, MPI_INT, 1, 8, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    free_window();
}

/* finding received_without_a_lock 3 rma-conflict ranks [0-1] check says and rank 1 by the receive of 1 x MPI_INT at */
static void received_without_a_lock(void)
{
    make_window();
    if (rank == 0) {
        usleep(200000);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Put(values, 1, MPI_INT, 1, 0, 1, MPI_INT, win); /* here: received_without_a_lock */
        MPI_Win_unlock(1, win);
    } else if (rank == 1) {
        MPI_Recv(memory, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        usleep(400000);
        MPI_Send(values, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    free_window();
}

/* finding sent_before_own_put_was_complete 2 rma-conflict ranks 1 check says of its own memory in */
static void sent_before_own_put_was_complete(void)
{
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 1) {
        MPI_Put(values, 1, MPI_INT, 1, 5, 1, MPI_INT, win); /* here: sent_before_own_put_was_complete */
        MPI_Send(memory + 5, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding added_to_elements_of_another_type 2 rma-conflict ranks 0 check says and nothing completed the first operation before the second */
static void added_to_elements_of_another_type(void)
{
    make_window();
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        MPI_Accumulate(values, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Accumulate(values, 1, MPI_FLOAT, 1, 0, 1, MPI_FLOAT, MPI_SUM, win); /* here: added_to_elements_of_another_type */
    }
    MPI_Win_unlock_all(win);
    free_window();
}

/* finding fence_that_completes_what_it_denies 2 rma-synchronization ranks 0 says with MPI_MODE_NOPRECEDE, although operations since the last fence */
static void fence_that_completes_what_it_denies(void)
{
    make_window();
    MPI_Win_fence(0, win);
    if (rank == 0)
        MPI_Put(values, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win); /* here: fence_that_completes_what_it_denies */
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    free_window();
}

FINDINGS(MPI_Init, F(put_behind_the_end), F(get_before_the_beginning), F(add_beside_attached_memory),
         F(two_puts_between_fences), F(put_and_get_between_fences), F(accumulations_that_differ),
         F(puts_under_shared_locks), F(ordered_too_early), F(puts_after_one_post), F(put_then_get),
         F(put_into_own_memory), F(request_of_another_type), F(origin_changed_before_the_fence),
         F(origin_changed_before_the_unlock), F(origin_changed_before_the_wait), F(request_flushed_after_a_change),
         F(got_and_put_at_once), F(two_gets_into_one_variable), F(fetched_over_what_is_added),
         F(sent_before_it_was_fetched), F(reduced_before_the_fence), F(sent_before_the_request_was_complete),
         F(got_into_elements_that_overlap), F(received_where_others_put), F(broadcast_where_others_read),
         F(got_where_others_put), F(received_without_a_lock), F(sent_before_own_put_was_complete),
         F(added_to_elements_of_another_type), F(fence_that_completes_what_it_denies))
