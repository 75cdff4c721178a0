"""Calls from lines of all kinds. A comment at the end of a line has a function and the number of its calls there per rank."""
import threading

from mpi4py import MPI
from mpi4py.util import pkl5

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()  # MPI_Comm_size 1
peer = rank ^ 1
data, room = bytearray(8), bytearray(8)


def exchange():
    world.Sendrecv(  # MPI_Sendrecv 5
        data,
        peer,
        1,
        room,
        peer,
        1)


def several():
    for _ in range(2):
        yield world.Barrier()  # MPI_Barrier 2


class Deep:
    def __init__(self, levels):
        if levels:
            Deep(levels - 1)
        else:
            world.Barrier()  # MPI_Barrier 1


for _ in range(5):
    exchange()
[world.Get_attr(MPI.TAG_UB) for _ in range(4)]  # MPI_Comm_get_attr 4
(lambda: world.Get_topology())()  # MPI_Topo_test 1
list(several())
Deep(20)


# Lines of code that has been freed must not be attributed to code at the same address.
for line in range(6):
    exec(compile("\n" * line + "world.Is_inter()", "made.py", "exec"))

# Calls made by a package are attributed to the user's line that called the package.
pkl5.Intracomm(world).barrier()  # MPI_Barrier 1


def of_a_thread():
    for _ in range(7):
        world.Get_group().Free()  # MPI_Comm_group 7


threads = [threading.Thread(target=of_a_thread)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
part = world.Split(0)  # MPI_Comm_split 1
print("rank %d of %d is done" % (rank, size), flush=True)
