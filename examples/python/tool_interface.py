"""Uses the MPI tool information interface in an mpi4py program, with or without mpiscope:
`mpiscope run mpirun -n 4 python tool_interface.py`."""

from __future__ import annotations

from mpi4py import MPI

from mpiscope import mpit


def control_variables(tool: mpit.Tool) -> None:
    ours = [one for one in tool.cvars if one.name.startswith("mpiscope_")]
    print(f"{len(tool.cvars)} control variables, {len(ours)} of them the layer's")
    for variable in ours[:2]:
        print(f"  {variable.name} = {variable.read()} ({variable.scope}): {variable.desc}")


def performance_variables(tool: mpit.Tool, world: MPI.Intracomm) -> None:
    print(f"{len(tool.pvars)} performance variables in {len(tool.categories)} categories")
    if "MPI_T_UMQ_LENGTH" not in tool.pvars:
        return
    with tool.session() as session, session.handle("MPI_T_UMQ_LENGTH", world) as waiting:
        request = world.isend("unexpected", dest=world.rank, tag=1)
        world.probe(source=world.rank, tag=1)
        before = waiting.read()
        world.recv(source=world.rank, tag=1)
        request.wait()
        print(f"  unexpected messages: {before}, then {waiting.read()}")


def events(tool: mpit.Tool, world: MPI.Intracomm) -> None:
    if world.rank == 0:
        print(f"{len(tool.events)} event types, {len(tool.sources)} sources")
    if "mpiscope.send_posted" not in tool.events:
        return

    def sent(event: mpit.Event) -> None:
        seconds = event.timestamp / tool.sources[event.source].ticks_per_second
        print(f"  rank {world.rank} sends to {event.elements['peer']} with tag {event.elements['tag']} at {seconds:.6f} s")

    with tool.listen("mpiscope.send_posted", sent, object=world) as registration:
        right, left = (world.rank + 1) % world.size, (world.rank - 1) % world.size
        world.sendrecv("round", dest=right, sendtag=7, source=left, recvtag=7)
    if registration.errors or registration.dropped:
        print(f"  errors {registration.errors}, {registration.dropped} not delivered")


def main() -> None:
    world = MPI.COMM_WORLD
    with mpit.Tool() as tool:
        if world.rank == 0:
            control_variables(tool)
            performance_variables(tool, world)
        world.Barrier()
        events(tool, world)


if __name__ == "__main__":
    main()
