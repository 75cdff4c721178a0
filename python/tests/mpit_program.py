"""Tests `mpiscope.mpit` on every rank of an MPI job; each ends with the line `rank N: passed`."""

import sys

from mpi4py import MPI

from mpiscope import mpit


def variables(tool):
    assert len(tool.cvars) > 0
    for variable in list(tool.cvars)[:200]:
        assert variable.name and variable.bind and variable.scope, variable.to_dict()
        if variable.bind == "NO_OBJECT" and variable.type:
            variable.read()
    names = tool.cvars.names()
    assert len(names) == len(set(names)) or not tool.library.has_layer
    for variable in tool.pvars:
        assert variable.name and variable.var_class.isupper(), variable.to_dict()
    for category in tool.categories:
        assert category.name
        for one in [*category.cvars, *category.pvars, *category.categories, *category.events]:
            assert one.name
    number = len(tool.cvars)
    assert tool.cvars[-1].name == tool.cvars[number - 1].name and tool.cvars[-number].name == tool.cvars[0].name
    assert [one.name for one in tool.cvars[:3]] == [one.name for one in tool.cvars.present(range(3))]
    assert [one.name for one in tool.cvars[-2:]] == [one.name for one in tool.cvars.present([number - 2, number - 1])]
    for key, error in ((10**6, IndexError), (-number - 1, IndexError), (1.0, TypeError), ("no such", KeyError)):
        try:
            tool.cvars[key]
        except error:
            pass
        else:
            raise AssertionError(f"there is no variable {key!r}")


def the_layers_variables(tool):
    world = MPI.COMM_WORLD
    recording = tool.cvars["mpiscope_record_calls"]
    assert recording.read() == 1 and recording.enum.items[1] == "on", recording.enum
    recording.write(1)
    with tool.session() as session:
        with session.handle("mpiscope_calls") as calls:
            before = calls.read()
            world.Barrier()
            after = calls.read()
        changed = [b - a for a, b in zip(before, after)] if isinstance(before, list) else [after - before]
        assert sum(changed) == 1, changed
        # An unexpected message, from this rank to itself.
        queue = session.handle("MPI_T_UMQ_LENGTH", MPI.COMM_SELF)
        request = MPI.COMM_SELF.isend("x", dest=0, tag=5)
        MPI.COMM_SELF.probe(source=0, tag=5)
        length = queue.read()
        MPI.COMM_SELF.recv(source=0, tag=5)
        request.wait()
        assert length >= 0 and queue.read() == 0, length
        queue.free()


def refused(error, write, *arguments, **options):
    try:
        write(*arguments, **options)
    except error:
        return
    raise AssertionError(f"{arguments} {options} was accepted")


def values_that_are_written(tool):
    kept = tool.cvars["mpiscope_tombstones"]
    # Nothing is cut off to fit.
    for value in (2**40, 2**32 + 7, -(2**40)):
        refused(OverflowError, kept.write, value)
    refused(ValueError, kept.write, [1, 2])
    refused(TypeError, kept.write, b"1")
    with tool.session() as session:
        calls = session.handle("mpiscope_calls")
        calls.write(range(calls.count))
        assert calls.read()[:3] == [0, 1, 2]
        refused(OverflowError, session.handle("mpiscope_calls_total").write, -1)


def registrations(tool):
    refused(ValueError, tool.listen, "mpiscope.call_started", safety="any")
    refused(TypeError, tool.listen, "mpiscope.call_started", 5)
    # Closed with the tool, however it was made.
    with mpit.Tool() as other:
        kept = other.events["mpiscope.call_started"].register()
    MPI.COMM_SELF.Barrier()
    assert not kept.events, kept.events


def live_at_the_end():
    """Registrations that nobody frees: MPI is finalized after the interpreter has ended."""
    tool = mpit.Tool()
    if tool.library.has_layer:
        for name in ("mpiscope.call_started", "mpiscope.call_ended", "mpiscope.object_freed"):
            tool.listen(name, lambda event: None)
        MPI.COMM_SELF.Barrier()


def events(tool):
    names = tool.events.names()
    assert names and len(tool.sources) > 0
    source = tool.sources[0]
    assert source.name and source.ticks_per_second > 0 and source.timestamp() <= source.timestamp()
    name = "mpiscope.send_posted"
    assert name in names, names
    heard = []
    other = MPI.COMM_WORLD.Dup()
    with tool.listen(name, heard.append, object=other) as registration:
        right = (other.rank + 1) % other.size
        other.sendrecv("hello", dest=right, sendtag=11, source=(other.rank - 1) % other.size, recvtag=11)
    assert not registration.errors, registration.errors
    assert len(heard) == 1, heard
    assert heard[0].elements["tag"] == 11 and heard[0].type == name, heard
    assert heard[0].timestamp <= tool.sources[heard[0].source].timestamp()
    # Without a callback, events are kept. A callback that fails does no harm.
    with tool.listen(name, object=other) as kept, tool.listen(name, lambda event: 1 / 0, object=other) as failing:
        other.sendrecv(b"x", dest=other.rank, sendtag=12, source=other.rank, recvtag=12)
    assert [one.elements["tag"] for one in kept.events] == [12], kept.events
    assert isinstance(failing.errors[0], ZeroDivisionError), failing.errors
    other.sendrecv(b"x", dest=other.rank, sendtag=13, source=other.rank, recvtag=13)
    assert len(kept.events) == 1, "a registration that was freed hears no more"
    other.Free()


def main():
    with mpit.Tool() as tool:
        assert tool.library.has_layer == ("layer" in sys.argv[1:]), tool.library.path
        variables(tool)
        if tool.library.has_layer:
            the_layers_variables(tool)
            values_that_are_written(tool)
            events(tool)
            registrations(tool)
        else:
            with tool.session() as session:
                for variable in list(tool.pvars)[:50]:
                    # Open MPI 4.1 itself crashes on variables of a network that the machine does not have.
                    if variable.bind == "NO_OBJECT" and variable.type and not variable.name.startswith("mtl_"):
                        with session.handle(variable) as handle:
                            handle.read()
    try:
        tool.cvars[0].read()
    except mpit.MpitError as error:
        assert error.name == "MPI_T_ERR_NOT_INITIALIZED", error
    else:
        raise AssertionError("the interface was closed")
    live_at_the_end()
    print(f"rank {MPI.COMM_WORLD.rank}: passed", flush=True)


main()
