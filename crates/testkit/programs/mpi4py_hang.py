"""mpi4py programs that hang: see hang.c, whose comments have the same format."""

import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
buffer = bytearray(8)


# scenario python_two_receives 2 deadlock says 0 -> 1 -> 0
def python_two_receives():
    world.Recv(buffer, 1 - rank, 0)  # here: python_two_receives


# scenario python_other_tag 2 message-never-sent culprit 0 says tag 42
def python_other_tag():
    if rank == 0:
        world.Send(buffer, 1, 41)
    else:
        world.Recv(buffer, 0, 42)  # here: python_other_tag
    world.Barrier()


# scenario python_barrier_missing 3 collective-not-entered culprit 1 says never entered MPI_Barrier
def python_barrier_missing():
    if rank != 1:
        world.Barrier()  # here: python_barrier_missing


# scenario python_objects_in_a_ring 3 deadlock says ->
def python_objects_in_a_ring():
    world.recv(source=(rank + 1) % size, tag=5)  # here: python_objects_in_a_ring


# scenario python_computes 3 slow culprit 1 says in steps at mpi4py_hang.py
def python_computes():
    def steps():
        while True: pass  # here: python_computes

    if rank == 1:
        steps()
    world.Barrier()


# scenario python_sleeps 3 slow culprit 1 says sleeping
def python_sleeps():
    if rank == 1:
        time.sleep(1000)  # here: python_sleeps
    world.Barrier()


# scenario python_sums_left_early 3 message-never-sent culprit 2 says that was never sent: rank 2 is in MPI_Finalize
def python_sums_left_early():
    for step in range(6):
        if rank == 2 and step == 3:
            break
        world.allreduce(step)  # here: python_sums_left_early


# scenario python_loop_left_early 4 deadlock culprit 2 says , which rank 2 has left
def python_loop_left_early():
    for step in range(6):
        total = world.allreduce(step, op=MPI.MAX)  # here: python_loop_left_early
        if rank == 2 and step == 3:
            break
    world.Gather([bytearray(4), MPI.INT], [bytearray(4 * size), MPI.INT])
    print(total)


globals()[sys.argv[1]]()
