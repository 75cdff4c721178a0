"""mpi4py from its wheel. It decides itself which variant of a call it uses (with MPI_Count or without)."""
import os

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
peer = rank ^ 1
total = 0
out, got = bytearray([rank + 1] * 8), bytearray(8)
for _ in range(5):
    requests = [world.Irecv([got, MPI.BYTE], peer, 1), world.Isend([out, MPI.BYTE], peer, 1)]
    MPI.Request.Waitall(requests)
    total += got[0]
for _ in range(3):
    world.Barrier()
world.Sendrecv([out, MPI.BYTE], peer, 2, [got, MPI.BYTE], peer, 2)
total += world.allreduce(rank)
if rank == 0:
    print("mpi4py: %d ranks, total %d" % (size, total), flush=True)

directory = os.environ.get("MPISCOPE_EXPECT_DIR")
if directory:
    with open(os.path.join(directory, "rank%d.expect" % rank), "w") as file:
        file.write("PID %d\nRANK %d\nSUBSET\n" % (os.getpid(), rank))
        for name, count in [("Irecv", 5), ("Isend", 5), ("Waitall", 5), ("Barrier", 3), ("Sendrecv", 1)]:
            file.write("EXPECT MPI_%s|MPI_%s_c %d\n" % (name, name, count))
        file.write("EXPECT MPI_Finalize 1\n")
