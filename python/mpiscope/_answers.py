"""The objects of all answers, with the types of their fields. Made by `python/generate.py` from `share/`, not by hand."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ._record import Record, Rows


class Core(Record):
    """What the core files of a job show together."""

    #: The command that was started.
    command: str
    #: The processes that left core files, by world and rank.
    deaths: Rows[CoreDeath]
    #: Files that could not be read, and why.
    errors: List[str]
    #: The process that failed first, if any failed.
    first: Optional[CoreFirstFailure]
    #: Names of the jobs the files belong to: one, unless files of several jobs were given.
    jobs: List[str]
    #: The MPI library's description of itself.
    library: str
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str
    #: Size of the world.
    size: Optional[int]
    #: Why the ranks could not go on: the verdict of ``mpiscope why`` on the same files.
    why: CoreVerdict


class CoreCallSite(Record):
    """A call that created or freed an object."""

    #: Return address of the call.
    address: str
    #: The MPI function.
    function: Optional[str]
    #: Source line of the call, if known.
    place: Optional[str]
    #: Time of the call, in seconds since the image was created.
    seconds: float


class CoreCallStatus(Record):
    """An open call, or one that has returned. A field is ``None`` if the function has no such argument."""

    #: Number of elements or requests.
    count: Optional[int]
    #: Datatype.
    datatype: Optional[CoreReference]
    #: Name in the C binding.
    function: str
    #: Number of outer calls: greater than zero if it was made by a user callback.
    nested: int
    #: Communicator, window, file or session.
    object: Optional[CoreReference]
    #: The other rank, or the root.
    peer: Optional[CorePeerRank]
    #: Source line, or function (otherwise module) and offset.
    place: Optional[str]
    #: Return address of the call in the program.
    return_address: int
    #: Source of a combined send and receive.
    source: Optional[CorePeerRank]
    #: Tag: a number, or ``MPI_ANY_TAG``.
    tag: Optional[str]
    #: Whether the record changed while it was copied, so that parts may belong to different calls.
    torn: bool


class CoreCulprit(Record):
    """Ranks that hold up others."""

    #: Source line in user code, if known.
    place: Optional[str]
    #: The ranks.
    ranks: str
    #: What they do, as text for users.
    what: str


class CoreDeath(Record):
    """A process that left a core file."""

    #: Error code passed to ``MPI_Abort``.
    abort_code: Optional[int]
    #: What the main thread is doing: the value of ``mpiscope_state``.
    activity: str
    #: Whether the process is alive.
    alive: bool
    #: Number of completed MPI calls.
    calls: int
    #: The original fault, if a signal handler caught it and raised ``signal``.
    cause: Optional[CoreSignal]
    #: The command that was started.
    command: str
    #: When it died, in seconds since 1970, according to the core file's times.
    died_s: Optional[float]
    #: The core file.
    file: str
    #: Host name.
    host: str
    #: Name of the job.
    job: str
    #: If no thread is in MPI, the number of the one whose call returned last.
    last_thread: Optional[int]
    #: The MPI library's description of itself.
    library: str
    #: Number of lost records, by kind.
    losses: Optional[Dict[str, int]]
    #: The most recent messages, newest first; only if messages were recorded.
    messages: Rows[CoreLastMessage]
    #: Number of bytes missing at the end of the core file.
    missing_bytes: Optional[int]
    #: What could not be seen.
    notes: List[str]
    #: Requests that were started and not complete, oldest first.
    pending: Rows[CorePendingRequest]
    #: Process id.
    pid: int
    #: The innermost frame in the program itself.
    place: Optional[CoreFrameText]
    #: Whether something is wrong: it ended without ``MPI_Finalize``, or called ``MPI_Abort``.
    problem: bool
    #: Rank in ``MPI_COMM_WORLD``, if known.
    rank: Optional[int]
    #: What killed it; ``None`` for a core file of a process that survived.
    signal: Optional[CoreSignal]
    #: Size of the world, if known.
    size: Optional[int]
    #: That thread's stack, innermost frame first, starting at the fault.
    stack: Rows[CoreFrameText]
    #: How far the process has come, in words.
    state: str
    #: Live threads that have called MPI, and one that has ended if it made the rank's last call.
    threads: Rows[CoreThreadStatus]
    #: The thread that received the signal.
    tid: Optional[int]
    #: Name of the world.
    world: str
    #: Number of the world in the job, by ``Worlds``; 0 before worlds are numbered.
    world_number: int


class CoreEvidence(Record):
    """Ranks that do the same."""

    #: The function they are in.
    function: Optional[str]
    #: Source line in user code.
    place: Optional[str]
    #: The ranks.
    ranks: str
    #: How long they have been there, in seconds: minimum and maximum.
    since_s: Optional[List[float]]
    #: Whether they can never be released.
    stuck: bool
    #: What they do, in one line.
    what: str


class CoreFirstFailure(Record):
    """The process that failed first."""

    #: Seconds until the next process died of its own failure; ``None`` if there was no other.
    before_s: Optional[float]
    #: Processes that failed by themselves, rather than being terminated from outside.
    failed: str
    #: Its index in ``Postmortem::deaths``.
    index: int
    #: Rank in the world, if known.
    rank: Optional[int]
    #: Whether another process may have failed first because the times are too close or unknown.
    unsure: bool


class CoreFrameText(Record):
    """A resolved stack frame."""

    #: The function, if known.
    function: Optional[str]
    #: The program or library.
    module: str
    #: ``file:line``, ``function+0xoffset in module`` or ``module+0xoffset``.
    place: str


class CoreLastMessage(Record):
    """A message from the ledger."""

    #: Size in bytes, if known.
    bytes: Optional[int]
    #: The communicator, if it still exists.
    comm: Optional[str]
    #: Whether the program had learned of its completion.
    complete: bool
    #: Rank of the other side in the communicator.
    peer: int
    #: When it was sent or its receive posted, in seconds after the start of the image.
    seconds: float
    #: Whether it was sent; otherwise it was received.
    sent: bool
    #: Tag.
    tag: int


class CorePeerRank(Record):
    """A rank that a call names."""

    #: ``MPI_ANY_SOURCE``, ``MPI_PROC_NULL`` or ``MPI_ROOT``.
    name: Optional[str]
    #: Rank in the call's communicator, as passed by the program.
    rank: int
    #: Whether it is the root of a collective.
    root: bool
    #: Rank in ``MPI_COMM_WORLD``, if the communicator's members are known and differ from those of the world.
    world_rank: Optional[int]


class CorePendingRequest(Record):
    """A request that was started and not complete."""

    #: Whether it was started and has not been observed to complete.
    active: bool
    #: Time from its start to the death of the process, in seconds.
    age_s: Optional[float]
    #: Address of the buffer.
    buffer: str
    #: Bytes of the message: those sent, or those received once complete; none if the library did not report the
    #: number received.
    bytes: Optional[int]
    #: Whether ``MPI_Cancel`` was called on it.
    cancelled: bool
    #: Its class: point-to-point, file, …
    class_: str
    #: Whether its completion was observed.
    complete: bool
    #: The call that observed its completion.
    completion: Optional[CoreWhen]
    #: Number of elements.
    count: int
    #: The call that created it.
    created: Optional[CoreCallSite]
    #: The datatype.
    datatype: Optional[CoreReference]
    #: Error code of the operation.
    error: int
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[CoreCallSite]
    #: Its C handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: Its kind.
    kind: str
    #: Whether the program freed it while it was active.
    marked: bool
    #: The names of these flags.
    marks: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: Its communicator, file or window.
    object: Optional[CoreReference]
    #: The operation that it stands for.
    operation: Optional[str]
    #: For a handle shared by several requests: the number that the program has not completed.
    outstanding: int
    #: The object that it was created from.
    parent: Optional[CoreReference]
    #: Number of partitions of a partitioned request.
    partitions: int
    #: Source, destination, root or target as passed by the program; none if the operation has no such rank.
    peer: Optional[CoreRank]
    #: Whether it is persistent.
    persistent: bool
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Source and tag of the message, for a complete receive.
    received: Optional[List[int]]
    #: The operation of a reduction or accumulate.
    reduction: Optional[CoreReference]
    #: Whether the peer is the root of a collective.
    root: bool
    #: For a combined send and receive: destination and tag of the send.
    send: Optional[List[int]]
    #: Whether the handle has stood for several requests, all complete at creation. Peer, count and similar fields
    #: differed between them and are not shown.
    several: bool
    #: Its state.
    standing: str
    #: The call that last started it.
    start: Optional[CoreWhen]
    #: Whether it was started (if persistent, at least once).
    started: bool
    #: Number of times it was started.
    starts: int
    #: The tag as passed by the program; none for any tag.
    tag: Optional[int]
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class CoreProblem(Record):
    """A problem other than the one the verdict is about."""

    #: The ranks concerned: where to look.
    culprits: Rows[CoreCulprit]
    #: Ranks that wait for each other; empty if there is no such ring.
    cycle: List[str]
    #: Kind of problem.
    kind: str
    #: What to try next.
    next: str
    #: What is wrong, in one sentence.
    verdict: str


class CoreRank(Record):
    """A rank, or a constant in place of one."""

    #: ``MPI_ANY_SOURCE``, ``MPI_PROC_NULL``, ``MPI_ROOT``.
    name: Optional[str]
    #: The value passed by the program.
    value: int


class CoreReference(Record):
    """A reference to an object."""

    #: Its handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: Optional[str]
    #: Its kind.
    kind: str
    #: The standard's name of a predefined object, otherwise the name set by the program; for a file, its path.
    name: Optional[str]
    #: Whether it is predefined.
    predefined: Optional[bool]
    #: Number of processes in the (local) group of a communicator.
    size: Optional[int]
    #: Its uid; zero if it has no record.
    uid: int


class CoreSignal(Record):
    """The signal that killed a process."""

    #: ``si_code``: why it was sent; zero or less when a process sent it.
    code: int
    #: The address whose use caused the fault.
    fault_address: Optional[int]
    #: Human-readable meaning.
    meaning: str
    #: Its name (``SIGSEGV``).
    name: str
    #: Its number.
    number: int
    #: The process itself is the cause: a fault, or it sent the signal to itself (``abort``).
    own: bool
    #: The process that sent it.
    sender: Optional[int]


class CoreThreadStatus(Record):
    """The current state of a thread."""

    #: Seconds since the call began or, outside of MPI, since the last one ended.
    age_s: Optional[float]
    #: The open call, if any.
    call: Optional[CoreCallStatus]
    #: If outside of MPI in a running process: what the operating system reports: ``computing``, ``sleeping in the
    #: system call read``, ``stopped by a signal``; ``polling`` for a loop that polls and pauses.
    doing: Optional[str]
    #: The call that returned last, if the thread is outside of MPI and before ``MPI_Finalize``. Objects that it used
    #: may no longer exist.
    last_call: Optional[CoreCallStatus]
    #: If outside of MPI: source line, or function (otherwise module) and offset, of the call that ended last.
    last_place: Optional[str]
    #: Whether it is the main thread: the one that called ``MPI_Init``, otherwise the first that called MPI.
    main: bool
    #: Seconds since it began to poll, if it repeatedly calls a function that does not wait.
    polling_s: Optional[float]
    #: Number of the thread, from zero in the order of first MPI calls.
    thread: int
    #: The kernel's id.
    tid: int


class CoreVerdict(Record):
    """The verdict on a job."""

    #: Other, independent problems: fixing what the verdict is about does not resolve these.
    also: Rows[CoreProblem]
    #: The ranks that hold up the others: where to look.
    culprits: Rows[CoreCulprit]
    #: Ranks that wait for each other, each for the next and the last for the first; empty if there is no such ring.
    cycle: List[str]
    #: What was observed, with ranks that do the same in one entry.
    evidence: Rows[CoreEvidence]
    #: Kind of verdict.
    kind: str
    #: Seconds between the two looks; 0 if only one was possible.
    looked_s: float
    #: What to try next.
    next: str
    #: What could not be observed and so is not part of the verdict, as text for users.
    not_seen: List[str]
    #: Whether a host, process or file of the job could not be read; ``not_seen`` says which. Something may be wrong
    #: there.
    partial: bool
    #: Whether something is wrong and will not resolve itself.
    problem: bool
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str
    #: Ranks that can never be released.
    stuck: str
    #: Ranks that could not be observed.
    unseen: str
    #: The answer in one sentence.
    verdict: str


class CoreWhen(Record):
    """Time and place of a call."""

    #: Return address of the call.
    address: str
    #: Source line of the call, if known.
    place: Optional[str]
    #: Time in seconds since the image was created.
    seconds: float


class Diff(Record):
    """A comparison of two sides."""

    after: DiffRuns
    before: DiffRuns
    #: Seconds that other ranks waited because of what a rank did, mean over the ranks; largest difference first.
    causes: Rows[DiffQuantity]
    #: The probability above which a difference counts as noise; see ``--chance``.
    chance: float
    #: Seconds in each function and outside MPI, mean over the ranks; largest difference first.
    functions: Rows[DiffQuantity]
    #: Useful seconds (outside MPI) of each rank; largest difference first.
    ranks: Rows[DiffQuantity]
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str
    #: Seconds at each call site, mean over the ranks; largest difference first.
    sites: Rows[DiffQuantity]
    #: Whether B takes longer, by more than chance.
    slower: bool
    #: Differences between the sides other than their times.
    unlike: List[str]
    wall: DiffQuantity
    #: The run as a whole: shares and efficiencies.
    whole: Rows[DiffQuantity]


class DiffQuantity(Record):
    """A quantity on both sides."""

    after: float
    after_deviation: Optional[float]
    before: float
    #: Standard deviations; null for a single run.
    before_deviation: Optional[float]
    #: Probability that chance alone causes such a difference, corrected for the number of comparisons; null for
    #: single runs.
    chance: Optional[float]
    difference: float
    #: The rank whose own difference is the largest, and that difference.
    most: Optional[List[Any]]
    name: str


class DiffRuns(Record):
    """The runs of a side."""

    command: str
    name: str
    ranks: int
    runs: int


class Inspect(Record):
    """The output of ``mpiscope inspect --json``: the objects behind handles."""

    #: Similar objects, each of one rank, which the text output shows in one line. At most 1000 are compared.
    alike: Rows[InspectAlikeForm]
    #: What could not be read.
    errors: List[str]
    #: Name of the job.
    job: str
    leaks: Optional[Rows[InspectLeak]]
    #: The processes that were examined.
    ranks: Rows[InspectRank]
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str
    #: Objects that several ranks share.
    shared: Rows[InspectSharedForm]


class InspectAccess(Record):
    """Data access of one process to a file, as requested by calls that succeeded: a split collective counts when
    it begins, a nonblocking call when it starts."""

    #: Bytes requested by them: counts times datatype sizes, including data past the end of the file.
    read_bytes: int
    #: Number of calls that read.
    reads: int
    #: Time in all of these calls, in the ends of split collectives and in ``MPI_File_sync``; none if times are not
    #: recorded.
    seconds: Optional[float]
    #: Number of calls that write.
    writes: int
    #: Bytes requested by them.
    written_bytes: int


class InspectAlikeForm(Record):
    """Similar objects, each of one rank."""

    #: One-line description.
    brief: str
    kind: str
    #: The objects' properties, merged.
    merged: InspectMerged
    ranks: str


class InspectArguments(Record):
    """The arguments of a constructor."""

    #: Named arrays, in the same order: ``blocklengths``, ``displacements``.
    arrays: List[List[Any]]
    #: The datatypes, in the same order.
    datatypes: Rows[InspectReference]
    #: Numbers of elements omitted from arrays, from ``datatypes`` and from the type's ``constituents`` in a list of
    #: many datatypes.
    left_out: Optional[List[List[Any]]]
    #: Named numbers, in the order of the constructor: ``count``, ``blocklength``, ``stride``.
    numbers: List[List[Any]]
    #: Names of constants among the numbers and arrays: ``order = MPI_ORDER_C``.
    words: Optional[List[List[str]]]


class InspectAttribute(Record):
    """An attribute of a communicator, datatype or window."""

    #: Whether the library copied it from another object.
    copied: bool
    #: The key.
    keyval: int
    #: Uid of the key's record; zero if it is predefined.
    keyval_uid: int
    #: Name of the key, if it is predefined.
    name: Optional[str]
    #: The value: a pointer, or an integer in its place.
    value: str


class InspectCallSite(Record):
    """A call that created or freed an object."""

    #: Return address of the call.
    address: str
    #: The MPI function.
    function: Optional[str]
    #: Source line of the call, if known.
    place: Optional[str]
    #: Time of the call, in seconds since the image was created.
    seconds: float


class InspectCommunicator(Record):
    """A communicator."""

    #: Its attributes.
    attributes: Rows[InspectAttribute]
    #: Calls on it that threads are currently in.
    calls: Rows[InspectOpenCall]
    #: Number of collectives entered on it.
    collectives: int
    #: What distinguishes it from its siblings: color, split type or tag (sign-extended).
    colour: int
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: The error handler in force; if none was attached, the parent's.
    errhandler: Optional[InspectReference]
    #: Files opened with it.
    files: Rows[InspectReference]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Groups obtained from it.
    groups: Rows[InspectReference]
    #: Its C handle.
    handle: str
    #: The pairs of that info at that time.
    hints: Optional[List[List[str]]]
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: The info last passed to it.
    info: Optional[InspectReference]
    #: Whether it is an intercommunicator.
    inter: bool
    #: Its kind.
    kind: str
    #: The names of these flags.
    marks: List[str]
    #: Ranks in ``MPI_COMM_WORLD`` of the (local) group, in order; −1 for a process outside of it. None if unknown.
    members: Optional[List[int]]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The second communicator that it was created from: the peer communicator of ``MPI_Intercomm_create``.
    other_parent: Optional[InspectReference]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: This process's rank in the (local) group.
    rank: Optional[int]
    #: The same for the remote group.
    remote: Optional[List[int]]
    #: Number of processes in the remote group.
    remote_size: int
    #: Requests on it that still exist.
    requests: Rows[InspectReference]
    #: Number of processes in the (local) group.
    size: int
    #: Its state.
    standing: str
    #: Its topology.
    topology: Optional[InspectTopology]
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int
    #: Windows created with it.
    windows: Rows[InspectReference]


class InspectCount(Record):
    """Number of objects of one kind in a process."""

    #: Freed but still recorded.
    freed: int
    #: Created by the program and not freed.
    live: int
    #: Freed by the program but still held by MPI.
    marked: int
    #: Predefined objects the program has used.
    predefined: int


class InspectDatatype(Record):
    """A datatype."""

    #: Its arguments.
    arguments: InspectArguments
    #: Its attributes.
    attributes: Rows[InspectAttribute]
    #: Whether the bounds were reported by the library rather than computed from the constructors.
    bounds_stated: bool
    #: Calls with it that threads are currently in.
    calls: Rows[InspectOpenCall]
    #: The constructor, as ``MPI_COMBINER_…`` names it: ``vector``.
    combiner: str
    #: Whether it is committed.
    committed: bool
    #: The types it was created from, each once, in order.
    constituents: Rows[InspectReference]
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: Extent in bytes.
    extent: Optional[int]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its C handle.
    handle: str
    #: Number of handles of it that the program must free.
    handles: int
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: Its kind.
    kind: str
    #: Lower bound in bytes.
    lower_bound: Optional[int]
    #: The names of these flags.
    marks: List[str]
    #: The corresponding type in C or Fortran, for a predefined datatype.
    meaning: Optional[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Requests with it that still exist.
    requests: Rows[InspectReference]
    #: Size in bytes, without gaps; none if unknown.
    size: Optional[int]
    #: Its state.
    standing: str
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: The type map, in basic types.
    type_map: InspectTypeMap
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int
    #: Datatypes created from it.
    used_by: Rows[InspectReference]


class InspectDiffering(Record):
    """A value that some of the ranks have."""

    #: The ranks that have it.
    ranks: str
    #: The value.
    value: Any


class InspectErrhandler(Record):
    """An error handler."""

    #: The objects that it is attached to.
    attached: Rows[InspectReference]
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: Whether the function is written in Fortran.
    fortran_function: bool
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Address of the program's function; zero for a predefined one.
    function: str
    #: Its C handle.
    handle: str
    #: Number of handles of it that the program must free.
    handles: int
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: Its kind.
    kind: str
    #: The names of these flags.
    marks: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The kind of object that it may be attached to; none if it may be attached to all kinds.
    of: Optional[str]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Its state.
    standing: str
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class InspectFile(Record):
    """A file."""

    #: Data access by this process.
    access: InspectAccess
    #: Access mode, as bits defined by the ABI.
    amode: int
    #: Whether atomic mode is on.
    atomic: bool
    #: Calls on it that threads are currently in.
    calls: Rows[InspectOpenCall]
    #: The communicator it was opened with.
    communicator: Optional[InspectReference]
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: The error handler last attached.
    errhandler: Optional[InspectReference]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: Whether it has no Fortran handle because none was requested from this library: ROMIO assigns one only on
    #: request.
    fortran_unasked: bool
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its C handle.
    handle: str
    #: The pairs of that info at that time.
    hints: List[List[str]]
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: The info last passed to it.
    info: Optional[InspectReference]
    #: Its kind.
    kind: str
    #: The names of these flags.
    marks: List[str]
    #: Access mode, as names: ``MPI_MODE_RDWR``.
    mode: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Its name as passed by the program.
    path: Optional[str]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Requests on it.
    requests: Rows[InspectReference]
    #: Its state.
    standing: str
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int
    #: The view: displacement, elementary type, file type, data representation.
    view: InspectView


class InspectGroup(Record):
    """A group."""

    #: Communicators created from it, and the one that it was obtained from.
    communicators: Rows[InspectReference]
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its C handle.
    handle: str
    #: Number of handles of it that the program must free.
    handles: int
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: Its kind.
    kind: str
    #: The names of these flags.
    marks: List[str]
    #: The members' ranks in ``MPI_COMM_WORLD``, in order; −1 for a process outside of it.
    members: Optional[List[int]]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The second group of a union, intersection or difference.
    other_parent: Optional[InspectReference]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: This process's rank in it; none if it is not a member.
    rank: Optional[int]
    #: Number of members.
    size: int
    #: Its state.
    standing: str
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class InspectHole(Record):
    """A gap: bytes within the bounds that are not part of the data."""

    #: Displacement of the first byte.
    displacement: int
    #: Length in bytes.
    length: int


class InspectInfo(Record):
    """An info object."""

    #: The call that created it.
    created: Optional[InspectCallSite]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its C handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: Its kind.
    kind: str
    #: Number of pairs for which the image had no room.
    lost: int
    #: The names of these flags.
    marks: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: Keys and values, in order.
    pairs: List[List[str]]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Its state.
    standing: str
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int
    #: The objects that it was passed to and that still use it.
    used_by: Rows[InspectReference]


class InspectKeyval(Record):
    """A key for attributes."""

    #: Address of the copy function.
    copy: str
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: Address of the delete function.
    delete: str
    #: The extra state.
    extra_state: str
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its C handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: The key as the program sees it.
    keyval: int
    #: Its kind.
    kind: str
    #: The names of these flags.
    marks: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The kind of objects that it applies to.
    of: Optional[str]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Its state.
    standing: str
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class InspectLeak(Record):
    """The same place across all ranks."""

    #: Whether they are requests whose operation was started and not completed.
    active: Optional[bool]
    #: Number of objects on all ranks together.
    count: int
    #: The function that created them.
    function: str
    #: Kind of the objects.
    kind: str
    #: ``file:line``, or function (otherwise module) and offset.
    place: str
    #: Ranks that created them.
    ranks: str


class InspectLock(Record):
    """A lock that is held."""

    exclusive: bool
    target: int


class InspectMerged(Record):
    """What the processes that have an object report about it. Field names are those of the object, with dots for
    nested structures."""

    #: Fields with one value everywhere.
    agreed: Dict[str, Any]
    #: Fields that differ, or that some processes lack: each value with the ranks that have it.
    differs: Dict[str, Rows[InspectDiffering]]
    #: Moments that differ, in seconds: the first and the last.
    spans: Dict[str, List[float]]


class InspectMessage(Record):
    """A message that was matched by a probe but not yet received."""

    #: Its size in bytes.
    bytes: int
    #: The communicator.
    communicator: Optional[InspectReference]
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its C handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: Its kind.
    kind: str
    #: The names of these flags.
    marks: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Rank of the sender.
    source: int
    #: Its state.
    standing: str
    #: Its tag.
    tag: int
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class InspectOne(Record):
    """An object."""

    #: Data access by this process.
    access: Optional[InspectAccess]
    #: Whether it was started and has not been observed to complete.
    active: Optional[bool]
    #: Access mode, as bits defined by the ABI.
    amode: Optional[int]
    #: Its arguments.
    arguments: Optional[InspectArguments]
    #: Whether atomic mode is on.
    atomic: Optional[bool]
    #: The objects that it is attached to.
    attached: Any
    #: Its attributes.
    attributes: Optional[Rows[InspectAttribute]]
    #: Address of this process's memory.
    base: Optional[str]
    #: Whether the bounds were reported by the library rather than computed from the constructors.
    bounds_stated: Optional[bool]
    #: One-line description.
    brief: str
    #: Address of the buffer.
    buffer: Optional[str]
    #: Bytes of the message: those sent, or those received once complete; none if the library did not report the
    #: number received.
    bytes: Any
    #: Calls on it that threads are currently in.
    calls: Optional[Rows[InspectOpenCall]]
    #: Whether ``MPI_Cancel`` was called on it.
    cancelled: Optional[bool]
    #: Its class: point-to-point, file, …
    class_: Optional[str]
    #: Number of collectives entered on it.
    collectives: Optional[int]
    #: What distinguishes it from its siblings: color, split type or tag (sign-extended).
    colour: Optional[int]
    #: The constructor, as ``MPI_COMBINER_…`` names it: ``vector``.
    combiner: Optional[str]
    #: Whether it is committed.
    committed: Optional[bool]
    #: The communicator.
    communicator: Optional[InspectReference]
    #: Communicators created from it, and the one that it was obtained from.
    communicators: Optional[Rows[InspectReference]]
    #: Whether it is commutative; none if unknown.
    commutative: Optional[bool]
    #: Whether its completion was observed.
    complete: Optional[bool]
    #: The call that observed its completion.
    completion: Optional[InspectWhen]
    #: The types it was created from, each once, in order.
    constituents: Optional[Rows[InspectReference]]
    #: Address of the copy function.
    copy: Optional[str]
    #: Number of elements.
    count: Optional[int]
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: The datatype.
    datatype: Optional[InspectReference]
    #: Address of the delete function.
    delete: Optional[str]
    #: Displacement unit.
    displacement_unit: Optional[int]
    #: Epochs open in this process.
    epochs: Optional[List[str]]
    #: The error handler in force; if none was attached, the parent's.
    errhandler: Optional[InspectReference]
    #: Error code of the operation.
    error: Optional[int]
    #: Extent in bytes.
    extent: Optional[int]
    #: The extra state.
    extra_state: Optional[str]
    #: Files opened with it.
    files: Optional[Rows[InspectReference]]
    #: How it obtained its memory (the create flavor).
    flavour: Optional[str]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: Whether the function is written in Fortran.
    fortran_function: Optional[bool]
    #: Whether it has no Fortran handle because none was requested from this library: ROMIO assigns one only on
    #: request.
    fortran_unasked: Optional[bool]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Address of the program's function; zero for a predefined operation.
    function: Optional[str]
    #: Groups obtained from it.
    groups: Optional[Rows[InspectReference]]
    #: Its C handle.
    handle: str
    #: Number of handles of it that the program must free.
    handles: Optional[int]
    #: The pairs of that info at that time.
    hints: Optional[List[List[str]]]
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: The info last passed to it.
    info: Optional[InspectReference]
    #: Whether it is an intercommunicator.
    inter: Optional[bool]
    #: The key as the program sees it.
    keyval: Optional[int]
    #: Its kind.
    kind: str
    #: The last synchronizing call.
    last_synchronisation: Optional[InspectCallSite]
    #: Locks held: target, and whether exclusive.
    locks: Optional[Rows[InspectLock]]
    #: Number of pairs for which the image had no room.
    lost: Optional[int]
    #: Lower bound in bytes.
    lower_bound: Optional[int]
    #: Whether the program freed it while it was active.
    marked: Optional[bool]
    #: The names of these flags.
    marks: List[str]
    #: The corresponding type in C or Fortran, for a predefined datatype.
    meaning: Optional[str]
    #: Ranks in ``MPI_COMM_WORLD`` of the (local) group, in order; −1 for a process outside of it. None if unknown.
    members: Optional[List[int]]
    #: Access mode, as names: ``MPI_MODE_RDWR``.
    mode: Optional[List[str]]
    #: Memory model.
    model: Optional[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: Its communicator, file or window.
    object: Optional[InspectReference]
    #: The kind of object that it may be attached to; none if it may be attached to all kinds.
    of: Optional[str]
    #: The operation that it stands for.
    operation: Optional[str]
    #: One-sided operations so far.
    operations: Optional[InspectOperations]
    #: The second communicator that it was created from: the peer communicator of ``MPI_Intercomm_create``.
    other_parent: Optional[InspectReference]
    #: For a handle shared by several requests: the number that the program has not completed.
    outstanding: Optional[int]
    #: Keys and values, in order.
    pairs: Optional[List[List[str]]]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Number of partitions of a partitioned request.
    partitions: Optional[int]
    #: Its name as passed by the program.
    path: Optional[str]
    #: Source, destination, root or target as passed by the program; none if the operation has no such rank.
    peer: Optional[InspectRank2]
    #: Whether it is persistent.
    persistent: Optional[bool]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Origins of the open ``MPI_Win_post``, as ranks of the world.
    post_group: Optional[List[int]]
    #: Whether it is predefined.
    predefined: bool
    #: This process's rank in the (local) group.
    rank: Optional[int]
    #: Source and tag of the message, for a complete receive.
    received: Optional[List[int]]
    #: The operation of a reduction or accumulate.
    reduction: Optional[InspectReference]
    #: The same for the remote group.
    remote: Optional[List[int]]
    #: Number of processes in the remote group.
    remote_size: Optional[int]
    #: Requests on it that still exist.
    requests: Optional[Rows[InspectReference]]
    #: Whether the peer is the root of a collective.
    root: Optional[bool]
    #: For a combined send and receive: destination and tag of the send.
    send: Optional[List[int]]
    #: Whether the handle has stood for several requests, all complete at creation. Peer, count and similar fields
    #: differed between them and are not shown.
    several: Optional[bool]
    #: Number of processes in the (local) group.
    size: Any
    #: Rank of the sender.
    source: Optional[int]
    #: Its state.
    standing: str
    #: The call that last started it.
    start: Optional[InspectWhen]
    #: Targets of the open ``MPI_Win_start``, as ranks of the world.
    start_group: Optional[List[int]]
    #: Whether it was started (if persistent, at least once).
    started: Optional[bool]
    #: Number of times it was started.
    starts: Optional[int]
    #: The tag as passed by the program; none for any tag.
    tag: Any
    #: Full description as text, if a single object was requested.
    text: Optional[List[str]]
    #: Its topology.
    topology: Optional[InspectTopology]
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: The type map, in basic types.
    type_map: Optional[InspectTypeMap]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int
    #: Datatypes created from it.
    used_by: Optional[Rows[InspectReference]]
    #: The view: displacement, elementary type, file type, data representation.
    view: Optional[InspectView]
    #: Windows created with it.
    windows: Optional[Rows[InspectReference]]


class InspectOp(Record):
    """A reduction operation."""

    #: Calls with it that threads are currently in.
    calls: Rows[InspectOpenCall]
    #: Whether it is commutative; none if unknown.
    commutative: Optional[bool]
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: Whether the function is written in Fortran.
    fortran_function: bool
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Address of the program's function; zero for a predefined operation.
    function: str
    #: Its C handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: Its kind.
    kind: str
    #: The names of these flags.
    marks: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Requests of collective and one-sided operations with it that still exist.
    requests: Rows[InspectReference]
    #: Its state.
    standing: str
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class InspectOpenCall(Record):
    """A call that a thread is currently in."""

    #: Return address of the call.
    address: str
    #: The MPI function.
    function: str
    #: Source line of the call, if known.
    place: Optional[str]
    #: When it began, in seconds since the image was created.
    seconds: float
    #: The kernel's id of the thread.
    tid: int


class InspectOperations(Record):
    """One-sided operations of this process on a window."""

    accumulates: int
    gets: int
    #: Operations since the last call that completed all of them.
    pending: int
    #: The same per target, by rank; empty for large groups.
    pending_by_target: List[int]
    puts: int


class InspectRank(Record):
    """A process."""

    abi: str
    #: Whether the process is alive; null for a file.
    alive: Optional[bool]
    #: Why nothing can be seen; if set, the other fields are empty and meaningless.
    cannot_see: Optional[str]
    counts: Dict[str, InspectCount]
    host: str
    lost: Dict[str, int]
    #: Why the requested object does not exist.
    missing: Optional[str]
    objects: Rows[InspectOne]
    pid: int
    #: Rank in ``MPI_COMM_WORLD``.
    rank: Optional[int]
    #: Size of ``MPI_COMM_WORLD``.
    size: Optional[int]
    state: str
    #: Name of the world: the set of processes that share one ``MPI_COMM_WORLD``.
    world: str


class InspectRank2(Record):
    """A rank, or a constant in place of one."""

    #: ``MPI_ANY_SOURCE``, ``MPI_PROC_NULL``, ``MPI_ROOT``.
    name: Optional[str]
    #: The value passed by the program.
    value: int


class InspectReference(Record):
    """A reference to an object."""

    #: Its handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: Optional[str]
    #: Its kind.
    kind: str
    #: The standard's name of a predefined object, otherwise the name set by the program; for a file, its path.
    name: Optional[str]
    #: Whether it is predefined.
    predefined: Optional[bool]
    #: Number of processes in the (local) group of a communicator.
    size: Optional[int]
    #: Its uid; zero if it has no record.
    uid: int


class InspectRequest(Record):
    """A request."""

    #: Whether it was started and has not been observed to complete.
    active: bool
    #: Address of the buffer.
    buffer: str
    #: Bytes of the message: those sent, or those received once complete; none if the library did not report the
    #: number received.
    bytes: Optional[int]
    #: Whether ``MPI_Cancel`` was called on it.
    cancelled: bool
    #: Its class: point-to-point, file, …
    class_: str
    #: Whether its completion was observed.
    complete: bool
    #: The call that observed its completion.
    completion: Optional[InspectWhen]
    #: Number of elements.
    count: int
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: The datatype.
    datatype: Optional[InspectReference]
    #: Error code of the operation.
    error: int
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its C handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: Its kind.
    kind: str
    #: Whether the program freed it while it was active.
    marked: bool
    #: The names of these flags.
    marks: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: Its communicator, file or window.
    object: Optional[InspectReference]
    #: The operation that it stands for.
    operation: Optional[str]
    #: For a handle shared by several requests: the number that the program has not completed.
    outstanding: int
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Number of partitions of a partitioned request.
    partitions: int
    #: Source, destination, root or target as passed by the program; none if the operation has no such rank.
    peer: Optional[InspectRank2]
    #: Whether it is persistent.
    persistent: bool
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Source and tag of the message, for a complete receive.
    received: Optional[List[int]]
    #: The operation of a reduction or accumulate.
    reduction: Optional[InspectReference]
    #: Whether the peer is the root of a collective.
    root: bool
    #: For a combined send and receive: destination and tag of the send.
    send: Optional[List[int]]
    #: Whether the handle has stood for several requests, all complete at creation. Peer, count and similar fields
    #: differed between them and are not shown.
    several: bool
    #: Its state.
    standing: str
    #: The call that last started it.
    start: Optional[InspectWhen]
    #: Whether it was started (if persistent, at least once).
    started: bool
    #: Number of times it was started.
    starts: int
    #: The tag as passed by the program; none for any tag.
    tag: Optional[int]
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class InspectRun(Record):
    """Contiguous elements of one basic type."""

    #: Number of elements.
    count: int
    #: The basic type.
    datatype: str
    #: Displacement of the first element from the buffer address, in bytes.
    displacement: int
    #: Size of one element in bytes.
    size: int


class InspectSession(Record):
    """A session."""

    #: The call that created it.
    created: Optional[InspectCallSite]
    #: The error handler last attached.
    errhandler: Optional[InspectReference]
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Groups created from it.
    groups: Rows[InspectReference]
    #: Its C handle.
    handle: str
    #: The pairs of that info at that time.
    hints: List[List[str]]
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: The info passed to it.
    info: Optional[InspectReference]
    #: Its kind.
    kind: str
    #: The names of these flags.
    marks: List[str]
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Its state.
    standing: str
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class InspectSharedForm(Record):
    """An object that several ranks share."""

    identity: str
    kind: str
    #: The ranks' views of it, merged.
    merged: InspectMerged
    name: Optional[str]
    ranks: str


class InspectTopology(Record):
    """The topology of a communicator."""

    #: Coordinates of this process.
    coords: Optional[List[int]]
    destination_weights: Optional[List[int]]
    destinations: Optional[List[int]]
    dims: Optional[List[int]]
    edges: Optional[List[int]]
    index: Optional[List[int]]
    periods: Optional[List[bool]]
    source_weights: Optional[List[int]]
    sources: Optional[List[int]]
    type: str


class InspectTypeMap(Record):
    """A type map."""

    #: Whether there are more runs than are listed, so that gaps are unknown.
    cut: bool
    #: Gaps between lower and upper bound, in ascending order.
    holes: Rows[InspectHole]
    #: Number of gaps omitted in such a list.
    holes_left_out: Optional[int]
    #: Whether a part is unknown because its construction was not seen.
    incomplete: bool
    #: In the order in which the elements are sent.
    runs: Rows[InspectRun]
    #: Number of runs omitted in a list of many datatypes.
    runs_left_out: Optional[int]


class InspectView(Record):
    """The view of a file."""

    #: In bytes.
    displacement: int
    #: None for the default view, bytes.
    etype: Optional[InspectReference]
    #: None for the default view.
    filetype: Optional[InspectReference]
    representation: str


class InspectWhen(Record):
    """Time and place of a call."""

    #: Return address of the call.
    address: str
    #: Source line of the call, if known.
    place: Optional[str]
    #: Time in seconds since the image was created.
    seconds: float


class InspectWindow(Record):
    """A window."""

    #: Memory attached to a dynamic window: address and size in bytes.
    attached: List[List[Any]]
    #: Its attributes.
    attributes: Rows[InspectAttribute]
    #: Address of this process's memory.
    base: str
    #: Calls on it that threads are currently in.
    calls: Rows[InspectOpenCall]
    #: The communicator it was created with.
    communicator: Optional[InspectReference]
    #: The call that created it.
    created: Optional[InspectCallSite]
    #: Displacement unit.
    displacement_unit: int
    #: Epochs open in this process.
    epochs: List[str]
    #: The error handler last attached.
    errhandler: Optional[InspectReference]
    #: How it obtained its memory (the create flavor).
    flavour: str
    #: Its Fortran handle, if known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its C handle.
    handle: str
    #: The pairs of that info at that time.
    hints: List[List[str]]
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: str
    #: The info last passed to it.
    info: Optional[InspectReference]
    #: Its kind.
    kind: str
    #: The last synchronizing call.
    last_synchronisation: Optional[InspectCallSite]
    #: Locks held: target, and whether exclusive.
    locks: Rows[InspectLock]
    #: The names of these flags.
    marks: List[str]
    #: Memory model.
    model: str
    #: The standard's name of a predefined object, otherwise the name set by the program.
    name: Optional[str]
    #: One-sided operations so far.
    operations: InspectOperations
    #: The object that it was created from.
    parent: Optional[InspectReference]
    #: Address of two bytes in the process, for a debugger to set to 1 or 0 while the process is stopped: whether the
    #: record is kept when the object is freed. None for predefined objects and for kinds whose freed objects are not
    #: kept.
    pin_at: Optional[str]
    #: Origins of the open ``MPI_Win_post``, as ranks of the world.
    post_group: Optional[List[int]]
    #: Whether it is predefined.
    predefined: bool
    #: Requests on it that still exist.
    requests: Rows[InspectReference]
    #: Size of that memory in bytes.
    size: int
    #: Its state.
    standing: str
    #: Targets of the open ``MPI_Win_start``, as ranks of the world.
    start_group: Optional[List[int]]
    #: Whether the record kept changing while it was read, so that parts may be inconsistent.
    torn: Optional[bool]
    #: Unique id within its process, never reused; zero for an object that was not seen.
    uid: int


class Jobs(Record):
    """The output of ``--json`` if there are several jobs to choose from."""

    jobs: Rows[JobsJobLine]
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str


class JobsJobLine(Record):
    """An object of the answer."""

    command: str
    host: str
    job: str
    ranks: str
    size: Optional[int]
    #: Numeric user id.
    user: int


class Procs(Record):
    """The output of ``--json``."""

    #: The other jobs that the processes are connected with.
    connected: Optional[Rows[ProcsConnected]]
    #: Processes on other hosts that were not asked.
    elsewhere: Rows[ProcsProcessLocation]
    #: The answering host's own name: processes under that name are its own, whatever other hosts call it.
    host: Optional[str]
    #: Messages about what could not be read.
    problems: List[str]
    #: The processes, by world (in the order in which they were spawned) and rank.
    processes: Rows[ProcsEntry]
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str


class ProcsConnected(Record):
    """One connection, equal on all participants of the call on one side, and on both sides if they have found each
    other."""

    #: The call that created it.
    by: str
    #: Whether the other side is a job on the same host, which can be asked there.
    found: bool
    #: The intercommunicator's identity.
    identity: int
    #: Number of processes on the other side.
    processes: int


class ProcsEntry(Record):
    """One process of a job."""

    #: Path of its program.
    executable: str
    #: Whether the process ended before the job did.
    gone: bool
    #: Name or address of the host.
    host: str
    #: Process id on that host.
    pid: int
    #: Rank in it.
    rank: Optional[int]
    #: Whether it has not called MPI: the rank is the one that the launcher assigned, the world is unknown.
    silent: Optional[bool]
    #: The spawn that created its world; ``None`` if a launcher started it.
    spawned: Optional[ProcsSpawned]
    #: Name of its world, equal on all ranks of the world. Empty if only MPIR knows the process.
    world: str


class ProcsProcessLocation(Record):
    """Where a process runs."""

    #: Name or address of the host.
    host: str
    #: Process id on that host.
    pid: int


class ProcsSpawned(Record):
    """The spawn that created a world."""

    #: Rank of the spawn's root in that world.
    rank: int
    #: Number of the spawn among those of that root, from 0.
    sequence: int
    #: Name of the parent's world.
    world: str


class Ps(Record):
    """The output of ``--json``."""

    #: Images that could not be read.
    errors: List[str]
    job: str
    ranks: Rows[PsRankStatus]
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str
    #: Number of processes that run under the layer but have not called MPI.
    silent: int
    #: Merged stacks, if requested.
    stacks: Optional[PsStacks]


class PsCallStatus(Record):
    """An open call, or one that has returned. A field is ``None`` if the function has no such argument."""

    #: Number of elements or requests.
    count: Optional[int]
    #: Datatype.
    datatype: Optional[PsReference]
    #: Name in the C binding.
    function: str
    #: Number of outer calls: greater than zero if it was made by a user callback.
    nested: int
    #: Communicator, window, file or session.
    object: Optional[PsReference]
    #: The other rank, or the root.
    peer: Optional[PsPeerRank]
    #: Source line, or function (otherwise module) and offset.
    place: Optional[str]
    #: Return address of the call in the program.
    return_address: int
    #: Source of a combined send and receive.
    source: Optional[PsPeerRank]
    #: Tag: a number, or ``MPI_ANY_TAG``.
    tag: Optional[str]
    #: Whether the record changed while it was copied, so that parts may belong to different calls.
    torn: bool


class PsNode(Record):
    """A frame shared by several threads."""

    #: The frames called from it.
    calls: Optional[Rows[PsNode]]
    #: ``function at file:line``; a leaf describes what the threads do there.
    frame: str
    #: Ranks that have this frame.
    ranks: str


class PsPeerRank(Record):
    """A rank that a call names."""

    #: ``MPI_ANY_SOURCE``, ``MPI_PROC_NULL`` or ``MPI_ROOT``.
    name: Optional[str]
    #: Rank in the call's communicator, as passed by the program.
    rank: int
    #: Whether it is the root of a collective.
    root: bool
    #: Rank in ``MPI_COMM_WORLD``, if the communicator's members are known and differ from those of the world.
    world_rank: Optional[int]


class PsRankStatus(Record):
    """The current state of a rank."""

    #: What the main thread is doing: the value of ``mpiscope_state``.
    activity: str
    #: Whether the process is alive.
    alive: bool
    #: Host name.
    host: str
    #: If no thread is in MPI, the number of the one whose call returned last.
    last_thread: Optional[int]
    #: Number of lost records, by kind.
    losses: Optional[Dict[str, int]]
    #: Process id.
    pid: int
    #: Whether something is wrong: it ended without ``MPI_Finalize``, or called ``MPI_Abort``.
    problem: bool
    #: Rank in ``MPI_COMM_WORLD``, if known.
    rank: Optional[int]
    #: Size of the world, if known.
    size: Optional[int]
    #: How far the process has come, in words.
    state: str
    #: Live threads that have called MPI, and one that has ended if it made the rank's last call.
    threads: Rows[PsThreadStatus]
    #: Name of the world.
    world: str
    #: Number of the world in the job, by ``Worlds``; 0 before worlds are numbered.
    world_number: int


class PsReference(Record):
    """A reference to an object."""

    #: Its handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: Optional[str]
    #: Its kind.
    kind: str
    #: The standard's name of a predefined object, otherwise the name set by the program; for a file, its path.
    name: Optional[str]
    #: Whether it is predefined.
    predefined: Optional[bool]
    #: Number of processes in the (local) group of a communicator.
    size: Optional[int]
    #: Its uid; zero if it has no record.
    uid: int


class PsStacks(Record):
    """The stacks of a job."""

    #: Why parts are unknown, as text for users, without duplicates.
    notes: Optional[List[str]]
    #: The outermost frames.
    tree: Rows[PsNode]


class PsThreadStatus(Record):
    """The current state of a thread."""

    #: Seconds since the call began or, outside of MPI, since the last one ended.
    age_s: Optional[float]
    #: The open call, if any.
    call: Optional[PsCallStatus]
    #: If outside of MPI in a running process: what the operating system reports: ``computing``, ``sleeping in the
    #: system call read``, ``stopped by a signal``; ``polling`` for a loop that polls and pauses.
    doing: Optional[str]
    #: The call that returned last, if the thread is outside of MPI and before ``MPI_Finalize``. Objects that it used
    #: may no longer exist.
    last_call: Optional[PsCallStatus]
    #: If outside of MPI: source line, or function (otherwise module) and offset, of the call that ended last.
    last_place: Optional[str]
    #: Whether it is the main thread: the one that called ``MPI_Init``, otherwise the first that called MPI.
    main: bool
    #: Seconds since it began to poll, if it repeatedly calls a function that does not wait.
    polling_s: Optional[float]
    #: Number of the thread, from zero in the order of first MPI calls.
    thread: int
    #: The kernel's id.
    tid: int


class Queues(Record):
    """The queues of a job."""

    #: Communicators with entries in their queues.
    communicators: Rows[QueuesQueue]
    #: What is not known, as text for users.
    not_seen: List[str]
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str


class QueuesEntry(Record):
    """A message, a receive, or both."""

    #: Size of the message in bytes, if there is one.
    bytes: Optional[int]
    #: Rank of the sender; ``None`` for a receive from any source.
    from_: Optional[str]
    #: Where the receive was posted, if known.
    posted_at: Optional[str]
    #: Size of the receive buffer in bytes, if known.
    room: Optional[int]
    #: Where the message was sent, if known.
    sent_at: Optional[str]
    #: State of the entry.
    state: str
    #: Tag; ``None`` for a receive with any tag.
    tag: Optional[int]
    #: Rank of the receiver in its world, prefixed with ``world.`` if there are several worlds.
    to: str


class QueuesQueue(Record):
    """The queues of one communicator across all its members."""

    #: Its name, or otherwise its identity.
    communicator: str
    #: Grouped by receiver, oldest first: posted receives, then messages that match none of them.
    entries: Rows[QueuesEntry]


class Report(Record):
    """A job."""

    #: ``mpich``, ``openmpi``, ``standard`` or ``unknown``.
    abi: str
    #: Bytes moved by all calls.
    bytes: int
    #: The command that was started.
    command: str
    #: Maximum useful time divided by run time.
    communication_efficiency: Optional[float]
    #: What went wrong in the run.
    findings: Rows[ReportFinding]
    #: The first rank that ended abnormally, if several did and their order was observed.
    first_end: Optional[ReportFirstEnd]
    #: The functions by time (by count if times were not recorded), in descending order.
    functions: Rows[ReportFunctionReport]
    #: Hosts of the observed ranks.
    hosts: Rows[ReportHostReport]
    #: Objects not freed when ``MPI_Finalize`` returned, by the place that created them, in descending order of
    #: number.
    leaks: Rows[ReportLeak]
    #: The MPI library's description of itself; empty if no process called MPI.
    library: str
    #: Mean divided by maximum of the ranks' useful times; a rank's useful time is its wall time multiplied by the
    #: share that is neither MPI nor polling.
    load_balance: Optional[float]
    #: Number of records dropped by all ranks.
    lost: int
    #: MPI time as a fraction of that, 0 to 1.
    mpi_share: Optional[float]
    #: Version of the MPI standard.
    mpi_version: str
    #: For a running job: why some or all of its ranks were not monitored from the beginning, so that waits are
    #: limited to what the ranks still remember.
    not_followed: Optional[str]
    #: Problems of the layers: a sentence and the ranks that reported it.
    notes: List[List[str]]
    #: Calls that belong to no site, by function.
    other_calls: Rows[ReportJobRest]
    #: The product of both.
    parallel_efficiency: Optional[float]
    #: Polling time as a fraction of that.
    polling_share: Optional[float]
    #: The ranks, ordered by world and rank.
    ranks: Rows[ReportRankReport]
    #: The part of them that entered a process.
    received: int
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str
    #: Communication between ranks, collectives, messages, files, memory.
    sections: ReportSections
    #: The part of them that left a process.
    sent: int
    #: Maximum useful time divided by the maximum sum of useful time and time waiting for others; none if the job was
    #: not monitored while running.
    serialisation_efficiency: Optional[float]
    #: Processes that were started under the layer and never called MPI.
    silent: Rows[ReportSilent]
    sites: Rows[ReportJobSite]
    #: Size of the (first) ``MPI_COMM_WORLD``.
    size: int
    #: Time of all threads that called MPI, over all ranks.
    thread_s: float
    #: Whether the ranks recorded times.
    times: bool
    #: Maximum sum of useful time and time waiting for others, divided by run time; none if the job was not monitored
    #: while running.
    transfer_efficiency: Optional[float]
    #: Version of mpiscope.
    version: str
    #: Which ranks waited for which, as far as observed.
    waits: ReportWaits
    #: Longest wall time of a rank.
    wall_s: float
    #: The run divided into time windows, if it was monitored.
    windows: Optional[ReportWindows]
    #: Worlds in the order in which they started: one, unless the program spawned processes or several programs ran
    #: in succession.
    worlds: Rows[ReportWorldReport]


class ReportBegan(Record):
    """A part of a wait that began with a rank that was not waited for directly but made others late."""

    culprit: str
    #: What it did.
    doing: str
    seconds: float


class ReportCalls(Record):
    """Calls of one function on one rank."""

    #: Bytes moved by them.
    bytes: int
    #: Number of completed calls.
    count: int
    #: Number of calls whose time is estimated: of short calls that start a message, only one in sixteen is timed.
    estimated: int
    #: The part that entered the process. Bytes of collectives count in neither part.
    received: int
    #: The part that left the process: messages, and data written to windows and files.
    sent: int
    #: Seconds in them; none if they were not timed.
    time_s: Optional[float]


class ReportCause(Record):
    """A rank at a place that made others wait, directly or through ranks it made late."""

    culprit: str
    #: What it did: ``computing after MPI_Send at heat.c:40``.
    doing: str
    #: The part of these seconds spent waiting for other ranks that were late because of this one.
    handed_on_s: float
    #: Ranks that waited.
    ranks: str
    #: Total seconds of the observed waits of all of these ranks.
    seconds: float
    #: The same as a fraction of the time of all threads of the job.
    share: float


class ReportCollectives(Record):
    """Collectives on one communicator."""

    #: The members that entered the fewest, unless all entered the same number.
    behind: Optional[str]
    #: Bytes of all collectives on all members: each rank's part, as for call sites.
    bytes: int
    #: The communicator, as text for users.
    communicator: str
    #: Number of collectives entered on it by the member that entered the most.
    entered: int
    #: By function, in descending order of time, then of calls. Not included here and in ``bytes``: calls at a place
    #: that uses too many communicators to distinguish, and calls that free the communicator.
    functions: Rows[ReportOfFunction]
    #: Its identity, the same on all its ranks.
    identity: str
    #: The most recent collectives still recorded, each kind once, in descending order of frequency.
    last: Rows[ReportRecent]
    #: Number of collectives entered on it by the member that entered the fewest.
    least: int
    #: Number of members.
    size: int


class ReportCrowd(Record):
    """A group of ranks with fewer processors than ranks."""

    cpus: str
    host: str
    ranks: str


class ReportDuration(Record):
    """Calls of similar duration."""

    #: Upper bound of their durations in seconds, which are at least half of this.
    below_s: float
    #: Number of calls.
    calls: int


class ReportEnding(Record):
    """How a process ended, if that was observed."""

    exit: Optional[int]
    signal: Optional[int]


class ReportEstimated(Record):
    """An estimate."""

    #: Two standard errors, plus a fifth of what was not observed.
    error_s: float
    seconds: float


class ReportExchange(Record):
    """Messages between the members of one communicator."""

    #: Bytes sent on it.
    bytes: int
    #: The communicator, as text for users.
    communicator: str
    #: Its identity, the same on all its ranks.
    identity: str
    #: Number of messages sent on it.
    messages: int
    #: Number of pairs not listed.
    more_pairs: int
    #: Pairs of ranks with messages, in descending order of bytes.
    pairs: Rows[ReportPair]
    #: Number of processes; for an intercommunicator in both groups.
    size: int


class ReportExtreme(Record):
    """The time spent by one rank."""

    #: Rank in that world, if known.
    rank: Optional[int]
    #: Seconds; none if the calls were not timed.
    time_s: Optional[float]
    #: Index in ``worlds``.
    world: int


class ReportFileUse(Record):
    """A file, across all ranks and openings."""

    #: Number of times it was opened, counting each rank separately.
    opened: int
    path: str
    ranks: str
    read_bytes: int
    reads: int
    #: Time inside the calls, over all ranks.
    seconds: float
    #: The rank that took longest.
    slowest: str
    #: The time of that rank.
    slowest_s: float
    writes: int
    written_bytes: int


class ReportFinding(Record):
    """Something that went wrong in a run."""

    #: Kind of finding.
    kind: str
    #: Source line in user code, if known.
    line: Optional[str]
    #: Ranks concerned.
    ranks: str
    #: Description, as text for users.
    sentence: str


class ReportFirstEnd(Record):
    """The first of several ranks that ended prematurely."""

    #: Seconds until the next one ended; none if the others were killed.
    before_s: Optional[float]
    #: Its rank, if known.
    rank: Optional[int]


class ReportFunctionReport(Record):
    """One function across all ranks."""

    #: The rank with the most time.
    max: ReportExtreme
    #: The rank with the least time.
    min: ReportExtreme
    #: Name of the function.
    name: str
    #: Sums over the ranks; the time includes calls that were open at the end.
    total: ReportCalls


class ReportGrowth(Record):
    """A rank whose resident memory grows."""

    #: Rate of growth.
    bytes_per_minute: float
    #: Level in the first of these windows; ``until_bytes`` is that in the last.
    from_bytes: int
    #: Index among the ranks of the windows.
    rank: int
    until_bytes: int
    #: Number of windows since it began or was first observed.
    windows: int


class ReportHostReport(Record):
    """The ranks on one host."""

    #: Maximum error of that offset.
    clock_error_s: Optional[float]
    #: Offset of the reporting host's clock from this host's clock at the end, in seconds (positive if the former is
    #: ahead); none for the reporting host itself and if unknown.
    clock_later_s: Optional[float]
    #: Name of the host.
    host: str
    #: Ranks on this host.
    ranks: str


class ReportIterations(Record):
    """The iterations of a run."""

    #: Number of collectives in each; zero if the program marked its iterations.
    collectives: int
    #: Approximate number of iterations.
    count: int
    #: Their distinct functions, in order; ``MPI_Pcontrol`` if the program marked its iterations.
    functions: List[str]
    #: Mean duration in seconds.
    mean_s: float


class ReportJobRest(Record):
    """Calls of a function from places that no record was left for, on all ranks."""

    #: Number of completed calls.
    calls: int
    #: Bytes moved by collectives, which do both.
    collective: int
    #: Number of calls whose time is estimated: of short calls that start a message, only one in sixteen is timed.
    estimated: int
    #: The function.
    function: str
    #: Ranks that made such calls.
    ranks: str
    #: Bytes that entered the process.
    received: int
    #: Bytes that left the process.
    sent: int
    #: Seconds in them; zero if times are not recorded, none if these calls were not timed.
    time_s: Optional[float]


class ReportJobSite(Record):
    """Calls of one function from one place on one object, on all ranks."""

    #: Number of completed calls.
    calls: int
    #: Bytes moved by collectives, which do both.
    collective: int
    #: The calls by duration, shortest first.
    durations: Rows[ReportDuration]
    #: Number of calls whose time is estimated: of short calls that start a message, only one in sixteen is timed.
    estimated: int
    #: The function.
    function: str
    #: Duration of the longest call.
    greatest_s: Optional[float]
    #: Duration of the shortest call, in seconds; none without times.
    least_s: Optional[float]
    #: The rank with the most time in them.
    max: ReportExtreme
    #: The rank with the least time in them.
    min: ReportExtreme
    #: The communicator, window or file; ``others`` for objects beyond those distinguished at one place; empty for a
    #: function without one, and for one that frees it.
    object: str
    #: ``file:line``, or function (otherwise module) and offset; empty if unknown.
    place: str
    #: Ranks that made such calls.
    ranks: str
    #: Bytes that entered the process.
    received: int
    #: Bytes that left the process.
    sent: int
    #: Seconds in them; zero if times are not recorded, none if these calls were not timed.
    time_s: Optional[float]


class ReportLeak(Record):
    """The same place across all ranks."""

    #: Whether they are requests whose operation was started and not completed.
    active: Optional[bool]
    #: Number of objects on all ranks together.
    count: int
    #: The function that created them.
    function: str
    #: Kind of the objects.
    kind: str
    #: ``file:line``, or function (otherwise module) and offset.
    place: str
    #: Ranks that created them.
    ranks: str


class ReportLost(Record):
    """Waits of one kind, in one place, for one rank doing the same thing in the meantime."""

    #: Parts that began with other ranks, for which the culprit had waited; in descending order of time.
    began: Optional[Rows[ReportBegan]]
    #: The rank waited for.
    culprit: str
    #: An estimate for the whole run, if not all waits were observed.
    estimated_s: Optional[float]
    #: The function they waited in.
    function: str
    kind: str
    #: The source line it was called from.
    line: Optional[str]
    #: What that rank did in the meantime: ``computing after MPI_Send at heat.c:40``.
    meanwhile: str
    #: Ranks that waited.
    ranks: str
    #: Total seconds of the observed waits of all of these ranks.
    seconds: float
    #: The observed seconds as a fraction of the time of all threads of the job.
    share: float
    #: Number of waits.
    times: int


class ReportMemory(Record):
    """Memory and placement of one rank."""

    #: Processors that its main thread may use: ``[0-3]``.
    cpus: Optional[str]
    #: The variables that select GPUs, as ``NAME=VALUE``: no other part of its environment is kept.
    gpus: Optional[List[str]]
    #: Host name.
    host: str
    #: Size of the layer's records in bytes.
    image: int
    #: The processor on which its main thread last ran.
    last_cpu: Optional[int]
    #: NUMA nodes of the processors that it may use.
    nodes: Optional[str]
    #: Number of processors of the host that are online.
    online: Optional[int]
    #: Peak resident memory, in bytes.
    peak: Optional[int]
    #: Rank in that world.
    rank: Optional[int]
    #: Resident memory, in bytes.
    resident: Optional[int]
    #: Number of its world.
    world: int


class ReportMessages(Record):
    """Messages between ranks."""

    #: Number of messages matched by a probe and not received.
    matched: int
    #: Maximum number of active operations of one rank, and the ranks that reached it.
    most_pending: ReportMost
    #: Maximum number of posted receives of one rank, and the ranks that reached it.
    most_posted: ReportMost
    #: Number of operations active when the report was made.
    pending: int
    #: Number of receives posted and not complete.
    posted: int
    #: Number of messages received.
    received: int
    #: The part of these whose size is unknown because the library does not report it; they are not included in any
    #: number of bytes.
    received_unsized: int
    #: Number of messages sent.
    sent: int
    #: Messages by size.
    sizes: Rows[ReportSizeClass]


class ReportMost(Record):
    """The maximum of a value, and the ranks that reached it."""

    ranks: str
    value: int


class ReportOfCollectives(Record):
    """Waits in the collectives of one function on one communicator."""

    #: The function entered, also if its waits were in the calls that completed what it started.
    function: str
    #: The communicator's identity; for collectives on a window or file that object's.
    identity: str
    #: Total seconds of all members, including an estimate for what was not observed.
    seconds: float


class ReportOfFunction(Record):
    """Collectives of one function on one communicator, over all members."""

    #: Bytes: each rank's part.
    bytes: int
    #: Number of completed calls.
    calls: int
    #: The function; for persistent collectives the one that creates the request, which stands for all its starts.
    function: str
    #: Seconds in them; none if times were not recorded.
    time_s: Optional[float]
    #: Seconds for which members waited for others, as in ``waits.of_collectives``: in these calls or, if they only
    #: start the operation, in the calls that complete it. None if unknown.
    wait_s: Optional[float]


class ReportOfMessages(Record):
    """Waits for messages from one rank to another on one communicator."""

    #: The sender: its rank in ``MPI_COMM_WORLD``, written ``world.rank`` for other worlds than the first.
    from_: str
    #: The communicator's identity.
    identity: str
    #: Total seconds for which the receiver waited, including an estimate for what was not observed.
    receiver_s: float
    #: Total seconds for which the sender waited, including an estimate for what was not observed.
    sender_s: float
    #: The receiver.
    to: str


class ReportPair(Record):
    """Messages from one rank to another."""

    #: Bytes sent, as recorded by the sender.
    bytes: int
    #: The sender: its rank in ``MPI_COMM_WORLD``, written ``world.rank`` for other worlds than the first.
    from_: str
    #: Number of messages sent, as recorded by the sender.
    messages: int
    #: Number of messages received, as recorded by the receiver.
    received: int
    #: Bytes received, as recorded by the receiver.
    received_bytes: int
    #: Seconds for which the receiver waited for the sender.
    receiver_wait_s: Optional[float]
    #: Seconds for which the sender waited for the receiver, as in ``waits.of_messages``; none if unknown.
    sender_wait_s: Optional[float]
    #: The receiver. An unobserved process of another world is written as its rank in the communicator, ``?.3``.
    to: str


class ReportRankReport(Record):
    """One rank."""

    #: Error code passed to ``MPI_Abort``.
    abort_code: Optional[int]
    #: Whether the process still existed when the report was made.
    alive: bool
    #: The individual threads.
    by_thread: Rows[ReportThreadReport]
    #: Bytes moved by all calls.
    bytes: int
    #: Source line of that call.
    call_place: Optional[str]
    #: Completed calls by function name.
    calls: Dict[str, ReportCalls]
    #: The core file it left, if found.
    core: Optional[str]
    #: How the process ended, if observed.
    ending: Optional[ReportEnding]
    #: Whether ``MPI_Finalize`` returned.
    finalized: bool
    #: Host name.
    host: str
    #: The call that was open at the end: the main thread's, otherwise that of the first thread that was in one.
    in_call: Optional[str]
    #: Seconds in the open call; included in ``mpi_s`` but not in ``calls``, which covers completed calls.
    in_call_s: float
    #: If no call was open, the last one that had returned; none after ``MPI_Finalize``.
    last_call: Optional[str]
    #: Dropped records by kind; also how many freed objects are no longer recorded.
    losses: Dict[str, int]
    #: Total number of dropped records.
    lost: int
    #: MPI time of the thread with the most.
    main_mpi_s: float
    #: Time in outermost calls of all threads, including calls still open at the end.
    mpi_s: float
    #: MPI time as a fraction of that.
    mpi_share: float
    #: Problems of the layer.
    notes: List[str]
    #: Process id.
    pid: int
    #: Time between the calls of polling loops, as a fraction of that.
    polling_share: float
    #: Rank in ``MPI_COMM_WORLD``; ``None`` if it never became known.
    rank: Optional[int]
    #: The part of them that entered the process.
    received: int
    #: The part of them that left the process.
    sent: int
    #: How far the process got.
    state: str
    #: Time of all threads that called MPI, each from its first call on.
    thread_s: float
    #: Number of threads that called MPI.
    threads: int
    #: The remaining time, as a fraction of that.
    useful_share: float
    #: Time from entering ``MPI_Init`` to leaving ``MPI_Finalize``, or to the end of the process, or to the last
    #: known moment.
    wall_s: float
    #: Name of its world.
    world: str


class ReportRecent(Record):
    """Arguments of some of the most recent collectives."""

    #: Size of the data in bytes.
    bytes: Optional[int]
    #: Number of such calls among the most recent ones, over all members.
    count: int
    #: Count and datatype, if all members must specify the same.
    data: Optional[str]
    #: The function.
    function: str
    #: Source line of the program.
    place: Optional[str]
    #: Ranks that made them.
    ranks: str


class ReportSampled(Record):
    """Waits found by sampling the ranks while they ran."""

    #: Two standard errors of that.
    error_s: float
    #: In descending order of time; ``times`` is how often each was found.
    list: Rows[ReportLost]
    #: Number of samples.
    looks: int
    #: Total seconds of waits.
    seconds: float
    #: Seconds not in the list because they may be due to chance. Efficiencies include them, as these average over
    #: many waits.
    unsure_s: float


class ReportSections(Record):
    """The sections of a report."""

    #: By communicator, in descending order of collectives.
    collectives: Rows[ReportCollectives]
    #: Groups of ranks with fewer processors than ranks.
    crowded: Rows[ReportCrowd]
    #: By name, in descending order of time.
    files: Rows[ReportFileUse]
    #: By world and rank. All but the image size only for processes that existed when the report was made.
    memory: Rows[ReportMemory]
    #: Messages between ranks on all communicators.
    messages: ReportMessages
    #: By communicator, in descending order of bytes.
    peers: Rows[ReportExchange]


class ReportSilent(Record):
    """A process that never called MPI."""

    #: How it ended, if observed.
    ending: Optional[ReportEnding]
    #: Its host, if other than the reporting host.
    host: Optional[str]
    #: Process id.
    pid: int
    #: Rank assigned by the launcher.
    rank: Optional[int]


class ReportSizeClass(Record):
    """Messages of similar size."""

    #: Minimum size in bytes.
    from_: int
    #: Number of messages received.
    received: int
    #: Number of messages sent.
    sent: int
    #: Maximum size in bytes.
    to: int


class ReportThreadReport(Record):
    """A thread that called MPI."""

    #: Source line of that call.
    call_place: Optional[str]
    #: Number of completed calls.
    calls: int
    #: The call that was open at the end.
    in_call: Optional[str]
    #: Seconds in that call.
    in_call_s: float
    #: If no call was open, the last one that had returned.
    last_call: Optional[str]
    #: Whether it is the main thread.
    main: bool
    #: Time in MPI as a fraction of that.
    mpi_share: float
    #: Time between the calls of polling loops, as a fraction of that.
    polling_share: float
    #: Number of the thread, counted from zero in the order of first MPI calls. Threads that exist one after the
    #: other may share a number.
    thread: int
    #: Thread id; zero if it has ended.
    tid: int
    #: Time since its first call.
    time_s: float


class ReportWaits(Record):
    """The waits of a job."""

    #: Where all this waiting began, in descending order of time.
    causes: Rows[ReportCause]
    #: Maximum error between the times of two hosts, in seconds; none on one host or if unknown.
    clocks_error_s: Optional[float]
    #: Number of collectives entered on communicators, windows and files with more than one process.
    collectives: int
    #: Number of these observed on all members.
    collectives_seen: int
    #: Estimated total seconds of waits over the whole run; none if all were observed, or too little is known.
    estimated: Optional[ReportEstimated]
    #: The waits, in descending order of time.
    list: Rows[ReportLost]
    #: Number of window locks requested.
    locks: int
    #: Number of these observed along with everything that could have delayed them.
    locks_seen: int
    #: Number of times the ranks were observed while running, including the last time; 1 if only then.
    looks: int
    #: Whether individual messages were recorded; otherwise only collectives were examined.
    messages: bool
    #: Number of messages received, if messages were recorded individually.
    messages_received: int
    #: Number of these of which both ends were observed.
    messages_seen: int
    #: The same waits by communicator and function, for those in collectives; in descending order of time.
    of_collectives: Rows[ReportOfCollectives]
    #: The same waits by communicator and pair of ranks, for those for messages; in descending order of time.
    of_messages: Rows[ReportOfMessages]
    #: Whether the ranks could be compared: they were on one host, or the clocks of their hosts are known.
    one_clock: bool
    #: Waits that no record shows, found by sampling the ranks while they ran: window epochs between some of the
    #: members, persistent collectives, collectives between groups of two worlds, and messages if these were not
    #: recorded individually.
    sampled: Optional[ReportSampled]
    #: Total seconds of the observed waits.
    seconds: float
    #: Seconds in the calls examined.
    seen_s: float
    #: The same as a fraction of the time in all calls that can wait; 0 to 1.
    seen_share: float


class ReportWindow(Record):
    """A time window."""

    communication_efficiency: Optional[float]
    #: Start, in seconds since the first rank entered ``MPI_Init``.
    from_s: float
    #: Number of iterations completed when the window began.
    iterations_over: Optional[float]
    #: Defined by the POP project, as for the whole run; ``None`` if no rank did useful work.
    load_balance: Optional[float]
    #: The share of each rank's time spent in MPI; ``None`` for absent ranks.
    mpi: List[Optional[float]]
    #: That rank's useful time divided by the mean.
    over_mean: Optional[float]
    parallel_efficiency: Optional[float]
    #: The mean observed resident memory of each rank, in bytes.
    resident: Optional[List[Optional[int]]]
    #: What the communication efficiency would be if waiting for others inside MPI were the only loss; ``None`` if
    #: waits were not measured.
    serialisation_efficiency: Optional[float]
    #: Index in ``Windows::ranks`` of the rank with the most useful time.
    slowest: Optional[int]
    #: What it would be if the rest of the time in MPI were the only loss: the product of both is the communication
    #: efficiency.
    transfer_efficiency: Optional[float]


class ReportWindows(Record):
    """The run divided into time windows."""

    #: Ranks whose resident memory grows, fastest first.
    growing: Optional[Rows[ReportGrowth]]
    #: The iterations of the program, if it was observed to repeat.
    iterations: Optional[ReportIterations]
    #: The windows in order of time.
    list: Rows[ReportWindow]
    #: The ranks, in the order of ``Window::mpi``.
    ranks: List[str]
    #: The same in few rows, for a table: several consecutive windows are combined. Their efficiencies are computed
    #: from the combined times, since averages of efficiencies are meaningless.
    rows: Optional[Rows[ReportWindow]]
    #: Sentences on the stretches in which the run was uniform, and on what the ranks did in them.
    said: List[str]
    #: Length of each window; the last one may be incomplete.
    seconds: float
    #: Seconds each rank waited for others inside MPI, including estimates; empty if waits were not measured.
    waited_s: Optional[List[float]]


class ReportWorldReport(Record):
    """A world: ranks that started together."""

    #: Name of the world, unique across all jobs.
    name: str
    #: Observed ranks of this world.
    ranks: str
    #: Size of its ``MPI_COMM_WORLD``.
    size: int


class TraceCallLine(Record):
    """A completed call."""

    #: When it began.
    begin_ns: int
    #: Bytes moved by the process in this call.
    bytes: int
    #: Number of a collective on its communicator, modulo 2^32; the same on all members.
    collective: Optional[int]
    #: When it ended.
    end_ns: int
    #: The function, such as ``MPI_Send``.
    function: str
    #: Number of enclosing open calls, if a user callback made this call; otherwise omitted.
    nested: Optional[int]
    #: The communicator, window or file.
    object: Optional[str]
    #: Destination, source, root or target, as rank of the communicator; none if it is a constant.
    peer: Optional[int]
    #: The name of that constant, such as ``MPI_ANY_SOURCE``.
    peer_name: Optional[str]
    #: ``file:line`` of the program, or function (otherwise module) and offset.
    place: Optional[str]
    #: Rank in ``MPI_COMM_WORLD``, if known.
    rank: Optional[int]
    #: The tag passed by the program; none for ``MPI_ANY_TAG``.
    tag: Optional[int]
    #: Number of the thread.
    thread: int
    #: Number of the world.
    world: int


class TraceHead(Record):
    """The trace. Times on all lines are nanoseconds since its first call."""

    #: Number of call lines.
    calls: int
    #: Number of older calls that are no longer recorded.
    gone: int
    #: Number of hosts, each of which has its own clock.
    hosts: int
    #: Number of message lines.
    messages: int
    #: Number of messages with a missing end: sent before the start of the trace (their ``begin_ns`` is ``null``), or
    #: the call that sent or received them is no longer recorded.
    messages_cut: int
    #: A note on the times.
    note: Optional[str]
    #: Number of processes.
    ranks: int
    #: ``mpiscope.trace/1``.
    schema: str
    #: When the first call began, in nanoseconds since 1970.
    start_unix_ns: int


class TraceMessageLine(Record):
    """A message."""

    #: When it was sent; ``null`` if that was before the start of the trace.
    begin_ns: Optional[int]
    #: Size in bytes.
    bytes: int
    #: When the receiver had it; none if unknown.
    end_ns: Optional[int]
    #: The communicator.
    object: str
    #: When its receive was posted; ``null`` if that was before the start of the trace.
    posted_ns: Optional[int]
    #: Rank of the sender.
    rank: Optional[int]
    #: The tag.
    tag: int
    #: Rank of the receiver.
    to_rank: Optional[int]
    #: World of the receiver.
    to_world: int
    #: World of the sender.
    world: int


class TraceThread(Record):
    """A thread."""

    #: Number of calls that follow.
    calls: int
    #: Number of older calls of this thread that are no longer recorded.
    gone: int
    #: Name of the host.
    host: str
    #: Whether the oldest messages of the process are no longer recorded.
    messages_gone: bool
    #: Process id on that host.
    pid: int
    #: Rank in ``MPI_COMM_WORLD``, if known.
    rank: Optional[int]
    #: Number of the thread, counted from zero in the order of first calls.
    thread: int
    #: Thread id; zero if it has ended.
    tid: int
    #: Number of the world, counted from zero in the order in which they started.
    world: int


class Vars(Record):
    """The output of ``--json``."""

    items: Rows[VarsItem]
    job: Optional[str]
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str


class VarsHeld(Record):
    """A value with its origin and the ranks that hold it."""

    #: ``default``, ``environment``, ``written`` or ``other``; empty for performance variables.
    from_: Optional[str]
    #: The value's name in the variable's enumeration.
    named: Optional[str]
    #: The object whose value this is, if the variable is bound to objects.
    object: Optional[VarsObject]
    #: The ranks that hold the value; absent outside of a job.
    ranks: Optional[str]
    #: The value; elements are separated by spaces.
    value: str


class VarsItem(Record):
    """An item. The layer describes it as a line of JSON with one value; in a job there may be several values."""

    bind: Optional[str]
    categories: Optional[List[int]]
    class_: Optional[str]
    #: Number of elements of the value.
    count: Optional[int]
    #: Indices of a category's members.
    cvars: Optional[List[int]]
    desc: str
    #: Index of the enumeration that names its values.
    enumeration: Optional[int]
    environment: Optional[str]
    events: Optional[List[int]]
    flags: Optional[str]
    index: Optional[int]
    #: Values and names of an enumeration.
    items: Optional[List[List[Any]]]
    #: ``cvar``, ``pvar``, ``event``, ``enumeration`` or ``category``.
    kind: str
    name: str
    #: What a tool needs to read it: an object of this kind, ``MPI_Init``, or to run inside the process.
    needs: Optional[str]
    #: Why it could not be read.
    problem: Optional[str]
    pvars: Optional[List[int]]
    scope: Optional[str]
    type: Optional[str]
    #: The values, with the ranks that hold them.
    values: Optional[Rows[VarsHeld]]
    verbosity: Optional[str]


class VarsObject(Record):
    """The object that a variable is bound to."""

    #: Its handle.
    handle: str
    #: Equal on all processes that share the object; zero if it is local to this process.
    identity: Optional[str]
    #: Its kind.
    kind: str
    #: The standard's name of a predefined object, otherwise the name set by the program; for a file, its path.
    name: Optional[str]
    #: Whether it is predefined.
    predefined: Optional[bool]
    #: Number of processes in the (local) group of a communicator.
    size: Optional[int]
    #: Its uid; zero if it has no record.
    uid: int


class Why(Record):
    """The output of ``--json``."""

    #: Other, independent problems: fixing what the verdict is about does not resolve these.
    also: Rows[WhyProblem]
    #: The ranks that hold up the others: where to look.
    culprits: Rows[WhyCulprit]
    #: Ranks that wait for each other, each for the next and the last for the first; empty if there is no such ring.
    cycle: List[str]
    #: What was observed, with ranks that do the same in one entry.
    evidence: Rows[WhyEvidence]
    #: Kind of verdict.
    kind: str
    #: Seconds between the two looks; 0 if only one was possible.
    looked_s: float
    #: What to try next.
    next: str
    #: What could not be observed and so is not part of the verdict, as text for users.
    not_seen: List[str]
    #: Whether a host, process or file of the job could not be read; ``not_seen`` says which. Something may be wrong
    #: there.
    partial: bool
    #: Whether something is wrong and will not resolve itself.
    problem: bool
    #: Name and version of this schema. Fields may be added; existing ones never change their meaning.
    schema: str
    stacks: Optional[WhyStacks]
    #: Ranks that can never be released.
    stuck: str
    #: Ranks that could not be observed.
    unseen: str
    #: The answer in one sentence.
    verdict: str


class WhyCulprit(Record):
    """Ranks that hold up others."""

    #: Source line in user code, if known.
    place: Optional[str]
    #: The ranks.
    ranks: str
    #: What they do, as text for users.
    what: str


class WhyEvidence(Record):
    """Ranks that do the same."""

    #: The function they are in.
    function: Optional[str]
    #: Source line in user code.
    place: Optional[str]
    #: The ranks.
    ranks: str
    #: How long they have been there, in seconds: minimum and maximum.
    since_s: Optional[List[float]]
    #: Whether they can never be released.
    stuck: bool
    #: What they do, in one line.
    what: str


class WhyNode(Record):
    """A frame shared by several threads."""

    #: The frames called from it.
    calls: Optional[Rows[WhyNode]]
    #: ``function at file:line``; a leaf describes what the threads do there.
    frame: str
    #: Ranks that have this frame.
    ranks: str


class WhyProblem(Record):
    """A problem other than the one the verdict is about."""

    #: The ranks concerned: where to look.
    culprits: Rows[WhyCulprit]
    #: Ranks that wait for each other; empty if there is no such ring.
    cycle: List[str]
    #: Kind of problem.
    kind: str
    #: What to try next.
    next: str
    #: What is wrong, in one sentence.
    verdict: str


class WhyStacks(Record):
    """The stacks of a job."""

    #: Why parts are unknown, as text for users, without duplicates.
    notes: Optional[List[str]]
    #: The outermost frames.
    tree: Rows[WhyNode]


Core._classes = {"deaths": CoreDeath, "first": CoreFirstFailure, "why": CoreVerdict}
CoreCallStatus._classes = {"datatype": CoreReference, "object": CoreReference, "peer": CorePeerRank, "source": CorePeerRank}
CoreDeath._classes = {"cause": CoreSignal, "messages": CoreLastMessage, "pending": CorePendingRequest, "place": CoreFrameText, "signal": CoreSignal, "stack": CoreFrameText, "threads": CoreThreadStatus}
CoreDeath._maps = frozenset(["losses"])
CorePendingRequest._classes = {"completion": CoreWhen, "created": CoreCallSite, "datatype": CoreReference, "freed": CoreCallSite, "object": CoreReference, "parent": CoreReference, "peer": CoreRank, "reduction": CoreReference, "start": CoreWhen}
CoreProblem._classes = {"culprits": CoreCulprit}
CoreThreadStatus._classes = {"call": CoreCallStatus, "last_call": CoreCallStatus}
CoreVerdict._classes = {"also": CoreProblem, "culprits": CoreCulprit, "evidence": CoreEvidence}
Diff._classes = {"after": DiffRuns, "before": DiffRuns, "causes": DiffQuantity, "functions": DiffQuantity, "ranks": DiffQuantity, "sites": DiffQuantity, "wall": DiffQuantity, "whole": DiffQuantity}
Inspect._classes = {"alike": InspectAlikeForm, "leaks": InspectLeak, "ranks": InspectRank, "shared": InspectSharedForm}
InspectAlikeForm._classes = {"merged": InspectMerged}
InspectArguments._classes = {"datatypes": InspectReference}
InspectCommunicator._classes = {"attributes": InspectAttribute, "calls": InspectOpenCall, "created": InspectCallSite, "errhandler": InspectReference, "files": InspectReference, "freed": InspectCallSite, "groups": InspectReference, "info": InspectReference, "other_parent": InspectReference, "parent": InspectReference, "requests": InspectReference, "topology": InspectTopology, "windows": InspectReference}
InspectDatatype._classes = {"arguments": InspectArguments, "attributes": InspectAttribute, "calls": InspectOpenCall, "constituents": InspectReference, "created": InspectCallSite, "freed": InspectCallSite, "parent": InspectReference, "requests": InspectReference, "type_map": InspectTypeMap, "used_by": InspectReference}
InspectErrhandler._classes = {"attached": InspectReference, "created": InspectCallSite, "freed": InspectCallSite, "parent": InspectReference}
InspectFile._classes = {"access": InspectAccess, "calls": InspectOpenCall, "communicator": InspectReference, "created": InspectCallSite, "errhandler": InspectReference, "freed": InspectCallSite, "info": InspectReference, "parent": InspectReference, "requests": InspectReference, "view": InspectView}
InspectGroup._classes = {"communicators": InspectReference, "created": InspectCallSite, "freed": InspectCallSite, "other_parent": InspectReference, "parent": InspectReference}
InspectInfo._classes = {"created": InspectCallSite, "freed": InspectCallSite, "parent": InspectReference, "used_by": InspectReference}
InspectKeyval._classes = {"created": InspectCallSite, "freed": InspectCallSite, "parent": InspectReference}
InspectMerged._classes = {"differs": InspectDiffering}
InspectMerged._maps = frozenset(["agreed", "differs", "spans"])
InspectMessage._classes = {"communicator": InspectReference, "created": InspectCallSite, "freed": InspectCallSite, "parent": InspectReference}
InspectOne._classes = {"access": InspectAccess, "arguments": InspectArguments, "attributes": InspectAttribute, "calls": InspectOpenCall, "communicator": InspectReference, "communicators": InspectReference, "completion": InspectWhen, "constituents": InspectReference, "created": InspectCallSite, "datatype": InspectReference, "errhandler": InspectReference, "files": InspectReference, "freed": InspectCallSite, "groups": InspectReference, "info": InspectReference, "last_synchronisation": InspectCallSite, "locks": InspectLock, "object": InspectReference, "operations": InspectOperations, "other_parent": InspectReference, "parent": InspectReference, "peer": InspectRank2, "reduction": InspectReference, "requests": InspectReference, "start": InspectWhen, "topology": InspectTopology, "type_map": InspectTypeMap, "used_by": InspectReference, "view": InspectView, "windows": InspectReference}
InspectOp._classes = {"calls": InspectOpenCall, "created": InspectCallSite, "freed": InspectCallSite, "parent": InspectReference, "requests": InspectReference}
InspectRank._classes = {"counts": InspectCount, "objects": InspectOne}
InspectRank._maps = frozenset(["counts", "lost"])
InspectRequest._classes = {"completion": InspectWhen, "created": InspectCallSite, "datatype": InspectReference, "freed": InspectCallSite, "object": InspectReference, "parent": InspectReference, "peer": InspectRank2, "reduction": InspectReference, "start": InspectWhen}
InspectSession._classes = {"created": InspectCallSite, "errhandler": InspectReference, "freed": InspectCallSite, "groups": InspectReference, "info": InspectReference, "parent": InspectReference}
InspectSharedForm._classes = {"merged": InspectMerged}
InspectTypeMap._classes = {"holes": InspectHole, "runs": InspectRun}
InspectView._classes = {"etype": InspectReference, "filetype": InspectReference}
InspectWindow._classes = {"attributes": InspectAttribute, "calls": InspectOpenCall, "communicator": InspectReference, "created": InspectCallSite, "errhandler": InspectReference, "freed": InspectCallSite, "info": InspectReference, "last_synchronisation": InspectCallSite, "locks": InspectLock, "operations": InspectOperations, "parent": InspectReference, "requests": InspectReference}
Jobs._classes = {"jobs": JobsJobLine}
Procs._classes = {"connected": ProcsConnected, "elsewhere": ProcsProcessLocation, "processes": ProcsEntry}
ProcsEntry._classes = {"spawned": ProcsSpawned}
Ps._classes = {"ranks": PsRankStatus, "stacks": PsStacks}
PsCallStatus._classes = {"datatype": PsReference, "object": PsReference, "peer": PsPeerRank, "source": PsPeerRank}
PsNode._classes = {"calls": PsNode}
PsRankStatus._classes = {"threads": PsThreadStatus}
PsRankStatus._maps = frozenset(["losses"])
PsStacks._classes = {"tree": PsNode}
PsThreadStatus._classes = {"call": PsCallStatus, "last_call": PsCallStatus}
Queues._classes = {"communicators": QueuesQueue}
QueuesQueue._classes = {"entries": QueuesEntry}
Report._classes = {"findings": ReportFinding, "first_end": ReportFirstEnd, "functions": ReportFunctionReport, "hosts": ReportHostReport, "leaks": ReportLeak, "other_calls": ReportJobRest, "ranks": ReportRankReport, "sections": ReportSections, "silent": ReportSilent, "sites": ReportJobSite, "waits": ReportWaits, "windows": ReportWindows, "worlds": ReportWorldReport}
ReportCollectives._classes = {"functions": ReportOfFunction, "last": ReportRecent}
ReportExchange._classes = {"pairs": ReportPair}
ReportFunctionReport._classes = {"max": ReportExtreme, "min": ReportExtreme, "total": ReportCalls}
ReportJobSite._classes = {"durations": ReportDuration, "max": ReportExtreme, "min": ReportExtreme}
ReportLost._classes = {"began": ReportBegan}
ReportMessages._classes = {"most_pending": ReportMost, "most_posted": ReportMost, "sizes": ReportSizeClass}
ReportRankReport._classes = {"by_thread": ReportThreadReport, "calls": ReportCalls, "ending": ReportEnding}
ReportRankReport._maps = frozenset(["calls", "losses"])
ReportSampled._classes = {"list": ReportLost}
ReportSections._classes = {"collectives": ReportCollectives, "crowded": ReportCrowd, "files": ReportFileUse, "memory": ReportMemory, "messages": ReportMessages, "peers": ReportExchange}
ReportSilent._classes = {"ending": ReportEnding}
ReportWaits._classes = {"causes": ReportCause, "estimated": ReportEstimated, "list": ReportLost, "of_collectives": ReportOfCollectives, "of_messages": ReportOfMessages, "sampled": ReportSampled}
ReportWindows._classes = {"growing": ReportGrowth, "iterations": ReportIterations, "list": ReportWindow, "rows": ReportWindow}
Vars._classes = {"items": VarsItem}
VarsHeld._classes = {"object": VarsObject}
VarsItem._classes = {"values": VarsHeld}
Why._classes = {"also": WhyProblem, "culprits": WhyCulprit, "evidence": WhyEvidence, "stacks": WhyStacks}
WhyNode._classes = {"calls": WhyNode}
WhyProblem._classes = {"culprits": WhyCulprit}
WhyStacks._classes = {"tree": WhyNode}
