"""The objects of all answers, with the types of their fields. Made by `python/generate.py` from `share/`, not by hand."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ._record import Record, Rows


class Core(Record):
    """What the core files of a job tell together."""

    #: What was started.
    command: str
    #: By world and rank.
    deaths: Rows[CoreDeath]
    #: Files that could not be read, and why.
    errors: List[str]
    #: Who failed first, if anybody failed.
    first: Optional[CoreFirstFailure]
    #: Names of the jobs that the files belong to: one, unless files of several were given.
    jobs: List[str]
    #: What the MPI library says about itself.
    library: str
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str
    #: Size of the world.
    size: Optional[int]
    #: Why the ranks could not go on: what ``mpiscope why`` says of the same files.
    why: CoreVerdict


class CoreCallSite(Record):
    """A call that did something to an object."""

    #: The address behind the call.
    address: str
    #: The MPI function.
    function: Optional[str]
    #: Source line of the call, where it is known.
    place: Optional[str]
    #: When, in seconds after the begin of the image.
    seconds: float


class CoreCallStatus(Record):
    """An open call, or one that has returned. A field is ``None`` when the function has no such argument."""

    #: Elements, or requests.
    count: Optional[int]
    #: Datatype.
    datatype: Optional[CoreReference]
    #: Name in the C binding.
    function: str
    #: Calls below this one: it is made by a user callback.
    nested: int
    #: Communicator, window, file or session.
    object: Optional[CoreReference]
    #: Other rank or root.
    peer: Optional[CorePeerRank]
    #: Source line, or function (else module) and offset.
    place: Optional[str]
    #: Address behind the call in the program.
    return_address: int
    #: Where a send-receive receives from.
    source: Optional[CorePeerRank]
    #: Tag: a number, or ``MPI_ANY_TAG``.
    tag: Optional[str]
    #: The description changed while it was copied: parts of it may belong to different calls.
    torn: bool


class CoreCulprit(Record):
    """Ranks that hold up others."""

    #: Line of the user's code, if known.
    place: Optional[str]
    #: Who.
    ranks: str
    #: What they do, for people.
    what: str


class CoreDeath(Record):
    """A process that left a core file."""

    #: Error code given to ``MPI_Abort``.
    abort_code: Optional[int]
    #: What the main thread is doing: the value of ``mpiscope_state``.
    activity: str
    #: Whether the process is there.
    alive: bool
    #: Completed calls of MPI.
    calls: int
    #: The fault that a signal handler answered by raising ``signal``, if that was so.
    cause: Optional[CoreSignal]
    #: What was started.
    command: str
    #: When it died: seconds since 1970, by the times of the core file.
    died_s: Optional[float]
    #: The core file.
    file: str
    #: Host.
    host: str
    #: Name of the job.
    job: str
    #: If no thread is inside of MPI, the one whose call returned last, by its number.
    last_thread: Optional[int]
    #: What the MPI library says about itself.
    library: str
    #: Records that found no room, by kind.
    losses: Optional[Dict[str, int]]
    #: The newest messages, newest first; only if messages were recorded.
    messages: Rows[CoreLastMessage]
    #: Bytes that are missing at the end of the core file.
    missing_bytes: Optional[int]
    #: What could not be seen.
    notes: List[str]
    #: Requests that were started and not complete, oldest first.
    pending: Rows[CorePendingRequest]
    #: Process id.
    pid: int
    #: The innermost frame in the program itself.
    place: Optional[CoreFrameText]
    #: Something is wrong: it ended without ``MPI_Finalize``, or called ``MPI_Abort``.
    problem: bool
    #: Rank in ``MPI_COMM_WORLD``, if known.
    rank: Optional[int]
    #: What killed it; ``None`` for a core file of a process that lived on.
    signal: Optional[CoreSignal]
    #: Size of the world, if known.
    size: Optional[int]
    #: Where that thread was, innermost frame first, from the place of the fault on.
    stack: Rows[CoreFrameText]
    #: How far the process came, for people.
    state: str
    #: Threads that called MPI and live; also one that has ended, if its call was the last of the rank.
    threads: Rows[CoreThreadStatus]
    #: The thread that received the signal.
    tid: Optional[int]
    #: Name of the world.
    world: str
    #: Number of the world in the job, by ``Worlds``; 0 until somebody has numbered them.
    world_number: int


class CoreEvidence(Record):
    """Ranks that do the same."""

    #: The function that they are in.
    function: Optional[str]
    #: Line of the user's code.
    place: Optional[str]
    #: Who.
    ranks: str
    #: For how long, in seconds: the least and the greatest.
    since_s: Optional[List[float]]
    #: Nobody can release them.
    stuck: bool
    #: What they do, in one line.
    what: str


class CoreFirstFailure(Record):
    """Who failed first."""

    #: Seconds until the next process died of its own fault; ``None`` if there is no other.
    before_s: Optional[float]
    #: Processes that failed of themselves.
    failed: str
    #: Its place in ``Postmortem::deaths``.
    index: int
    #: Rank in the world, if it is known.
    rank: Optional[int]
    #: The times are too near, or not known: it may have been another.
    unsure: bool


class CoreFrameText(Record):
    """A frame in words."""

    #: The function, if its name is known.
    function: Optional[str]
    #: The program or library.
    module: str
    #: ``file:line``, ``function+0xoffset in module`` or ``module+0xoffset``.
    place: str


class CoreLastMessage(Record):
    """A message of the ledger."""

    #: Its bytes, if they are known.
    bytes: Optional[int]
    #: The communicator, if it still lives.
    comm: Optional[str]
    #: Whether the program knew of its completion.
    complete: bool
    #: The other side, in its communicator.
    peer: int
    #: When it was sent or its receive posted, in seconds after the begin of the image.
    seconds: float
    #: It was sent; else it was received.
    sent: bool
    #: Its tag.
    tag: int


class CorePeerRank(Record):
    """A rank that a call names."""

    #: ``MPI_ANY_SOURCE``, ``MPI_PROC_NULL``, ``MPI_ROOT``.
    name: Optional[str]
    #: Rank in the call's communicator, as the program gave it.
    rank: int
    #: It is the root of a collective.
    root: bool
    #: Rank in ``MPI_COMM_WORLD``, if the communicator's members are known and are not those of the world.
    world_rank: Optional[int]


class CorePendingRequest(Record):
    """A request that was started and not complete."""

    #: Started, and its completion not seen.
    active: bool
    #: How long before the death of the process it was started, in seconds.
    age_s: Optional[float]
    #: Address of the buffer.
    buffer: str
    #: Bytes of the message: sent, or received once complete; none if the library did not say how many it received.
    bytes: Optional[int]
    #: Whether ``MPI_Cancel`` was called for it.
    cancelled: bool
    #: Whether it is point-to-point, of a file, …
    class_: str
    #: Whether its completion was seen.
    complete: bool
    #: The call that saw its completion.
    completion: Optional[CoreWhen]
    #: Elements.
    count: int
    #: The call that made it.
    created: Optional[CoreCallSite]
    #: The datatype.
    datatype: Optional[CoreReference]
    #: Error code of the operation.
    error: int
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[CoreCallSite]
    #: Its handle in C.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: Its kind.
    kind: str
    #: The program has freed it while it was active.
    marked: bool
    #: The same as words.
    marks: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: Communicator, file or window.
    object: Optional[CoreReference]
    #: What it stands for.
    operation: Optional[str]
    #: Of a handle that stands for several requests: how many are not completed by the program.
    outstanding: int
    #: What it was made from.
    parent: Optional[CoreReference]
    #: Partitions, of a partitioned request.
    partitions: int
    #: Source, destination, root or target as the program gave it; none if the operation has no such rank.
    peer: Optional[CoreRank]
    #: Whether it can be started again.
    persistent: bool
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Of a complete receive: who sent and with which tag.
    received: Optional[List[int]]
    #: The reduction operation of a collective or one-sided one.
    reduction: Optional[CoreReference]
    #: The peer is the root of a collective.
    root: bool
    #: Send and receive: destination and tag of the send.
    send: Optional[List[int]]
    #: The handle has stood for several requests, all complete when they were made. Peer, count and the like were
    #: each one's own: they are not shown.
    several: bool
    #: How it stands.
    standing: str
    #: The call that started it last.
    start: Optional[CoreWhen]
    #: Whether it was started, a persistent one at least once.
    started: bool
    #: How often it was started.
    starts: int
    #: The tag as the program gave it; none if it named any.
    tag: Optional[int]
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class CoreProblem(Record):
    """Something that is wrong beside what the verdict is about."""

    #: Where to look.
    culprits: Rows[CoreCulprit]
    #: Ranks that wait for each other; empty if there is no such ring.
    cycle: List[str]
    #: What kind of problem it is.
    kind: str
    #: What to try.
    next: str
    #: What is wrong, in one sentence.
    verdict: str


class CoreRank(Record):
    """A rank, or a word for one."""

    #: ``MPI_ANY_SOURCE``, ``MPI_PROC_NULL``, ``MPI_ROOT``.
    name: Optional[str]
    #: As the program gave it.
    value: int


class CoreReference(Record):
    """Another object."""

    #: Its handle.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: Optional[str]
    #: Its kind.
    kind: str
    #: The standard's name of a predefined object, else the one that the program gave; of a file its path.
    name: Optional[str]
    #: Whether it is predefined.
    predefined: Optional[bool]
    #: Processes in the (local) group of a communicator.
    size: Optional[int]
    #: Its uid; zero if it has no record.
    uid: int


class CoreSignal(Record):
    """What killed a process."""

    #: ``si_code``: why it was sent; zero or less when a process sent it.
    code: int
    #: The address whose use was the fault.
    fault_address: Optional[int]
    #: What that means, for people.
    meaning: str
    #: Its name (``SIGSEGV``).
    name: str
    #: Its number.
    number: int
    #: The cause lies in the process itself: a fault, or it sent the signal to itself (``abort``).
    own: bool
    #: The process that sent it.
    sender: Optional[int]


class CoreThreadStatus(Record):
    """A thread at this moment."""

    #: Seconds since the call began or, outside of MPI, since the last one ended.
    age_s: Optional[float]
    #: The open call, if there is one.
    call: Optional[CoreCallStatus]
    #: Outside of MPI, of a process that runs: what the system says that it does: ``computing``, ``sleeping in the
    #: system call read``, ``stopped by a signal``; ``polling`` of a loop that asks and pauses.
    doing: Optional[str]
    #: Outside of MPI, before ``MPI_Finalize``: the call that returned last. What its handles stood for may be gone.
    last_call: Optional[CoreCallStatus]
    #: Outside of MPI: the source line, or function (else module) and offset, of the call that ended last.
    last_place: Optional[str]
    #: Whether it is the main thread: the one that called ``MPI_Init``, else the first that called MPI.
    main: bool
    #: Seconds since it began to call a function again and again that asks and does not wait, if it is doing so.
    polling_s: Optional[float]
    #: Number of the thread, from zero in the order of first MPI calls.
    thread: int
    #: The kernel's id.
    tid: int


class CoreVerdict(Record):
    """The verdict on a job."""

    #: What else is wrong, each of it by itself: to mend what the verdict is about does not help there.
    also: Rows[CoreProblem]
    #: Where to look: the ranks that hold up the others.
    culprits: Rows[CoreCulprit]
    #: Ranks that wait for each other, each for the next and the last for the first; empty if there is no such ring.
    cycle: List[str]
    #: What was seen, ranks that do the same in one entry.
    evidence: Rows[CoreEvidence]
    #: What kind of answer it is.
    kind: str
    #: Seconds between the two looks; 0 if there was only one to be had.
    looked_s: float
    #: What to try next.
    next: str
    #: What could not be seen, and so is not part of the verdict, for people.
    not_seen: List[str]
    #: A host, a process or a file of the job could not be read; ``not_seen`` says which. Something may be wrong
    #: there.
    partial: bool
    #: Something is wrong and will not mend itself.
    problem: bool
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str
    #: Ranks that nobody can release.
    stuck: str
    #: Ranks that could not be seen.
    unseen: str
    #: The answer in one sentence.
    verdict: str


class CoreWhen(Record):
    """A moment and a place."""

    #: The address behind the call.
    address: str
    #: Source line of the call, where it is known.
    place: Optional[str]
    #: In seconds after the begin of the image.
    seconds: float


class Diff(Record):
    """Two sides."""

    after: DiffRuns
    before: DiffRuns
    #: Seconds that others waited because of what a rank did, mean over the ranks: largest difference first.
    causes: Rows[DiffQuantity]
    #: What is called noise: see ``--chance``.
    chance: float
    #: Seconds in a function and outside of MPI, mean over the ranks: largest difference first.
    functions: Rows[DiffQuantity]
    #: Seconds outside of MPI (useful) of each rank: largest difference first.
    ranks: Rows[DiffQuantity]
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str
    #: Seconds at a place of the program, mean over the ranks: largest difference first.
    sites: Rows[DiffQuantity]
    #: B takes longer, by more than chance.
    slower: bool
    #: Why sides are not alike, beside their times.
    unlike: List[str]
    wall: DiffQuantity
    #: The run as a whole: shares and efficiencies.
    whole: Rows[DiffQuantity]


class DiffQuantity(Record):
    """A quantity on both sides."""

    after: float
    after_deviation: Optional[float]
    before: float
    #: Standard deviations; none of a single run.
    before_deviation: Optional[float]
    #: How likely chance alone makes such a difference, corrected for the number of comparisons; none of single runs.
    chance: Optional[float]
    difference: float
    #: The rank whose own difference is largest, and that difference.
    most: Optional[List[Any]]
    name: str


class DiffRuns(Record):
    """The runs of a side."""

    command: str
    name: str
    ranks: int
    runs: int


class Inspect(Record):
    """What is behind handles: the answer of ``mpiscope inspect --json``."""

    #: Objects of one rank each that look alike: the text has one line for them. At most 1000 are compared.
    alike: Rows[InspectAlikeForm]
    #: What could not be read.
    errors: List[str]
    #: Name of the job.
    job: str
    leaks: Optional[Rows[InspectLeak]]
    #: The processes that were looked at.
    ranks: Rows[InspectRank]
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str
    #: Objects that more than one rank has.
    shared: Rows[InspectSharedForm]


class InspectAccess(Record):
    """Data access of one process to a file, as asked for in calls that succeeded: a split collective counts at its
    begin, a nonblocking call at its start."""

    #: Bytes that they named: counts times sizes of datatypes, also of what lay behind the end of the file.
    read_bytes: int
    #: Calls that read.
    reads: int
    #: Time inside of all of them, of ends of split ones and of ``MPI_File_sync``; none if times are not recorded.
    seconds: Optional[float]
    #: Calls that write.
    writes: int
    #: Bytes that they named.
    written_bytes: int


class InspectAlikeForm(Record):
    """Objects of one rank each that look alike."""

    #: In one line.
    brief: str
    kind: str
    #: What is said about them, joined.
    merged: InspectMerged
    ranks: str


class InspectArguments(Record):
    """The arguments of a constructor."""

    #: Named arrays, in the same order: ``blocklengths``, ``displacements``.
    arrays: List[List[Any]]
    #: The datatypes, in the same order.
    datatypes: Rows[InspectReference]
    #: Further elements of arrays, of ``datatypes`` and of the type's ``constituents``, which a list of many
    #: datatypes leaves out.
    left_out: Optional[List[List[Any]]]
    #: Named numbers, in the order of the constructor: ``count``, ``blocklength``, ``stride``.
    numbers: List[List[Any]]
    #: Words for constants among the numbers and arrays: ``order = MPI_ORDER_C``.
    words: Optional[List[List[str]]]


class InspectAttribute(Record):
    """An attribute of a communicator, datatype or window."""

    #: It was copied from another object by the library.
    copied: bool
    #: The key.
    keyval: int
    #: Uid of the key's record; zero if it is predefined.
    keyval_uid: int
    #: Name of a predefined key.
    name: Optional[str]
    #: The value: a pointer, or an integer in its place.
    value: str


class InspectCallSite(Record):
    """A call that did something to an object."""

    #: The address behind the call.
    address: str
    #: The MPI function.
    function: Optional[str]
    #: Source line of the call, where it is known.
    place: Optional[str]
    #: When, in seconds after the begin of the image.
    seconds: float


class InspectCommunicator(Record):
    """A communicator."""

    #: Its attributes.
    attributes: Rows[InspectAttribute]
    #: Calls on it that threads are in.
    calls: Rows[InspectOpenCall]
    #: Collectives entered on it.
    collectives: int
    #: What sets it apart from its siblings: colour, split type, tag (sign-extended).
    colour: int
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: The error handler in force; the one of the parent while none was attached.
    errhandler: Optional[InspectReference]
    #: Files opened with it.
    files: Rows[InspectReference]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Groups that were got from it.
    groups: Rows[InspectReference]
    #: Its handle in C.
    handle: str
    #: Its pairs, as they were then.
    hints: Optional[List[List[str]]]
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: The info last given.
    info: Optional[InspectReference]
    #: Whether it has two groups.
    inter: bool
    #: Its kind.
    kind: str
    #: The same as words.
    marks: List[str]
    #: Ranks in ``MPI_COMM_WORLD`` of the (local) group, in order; −1 for a process outside of it. None where they
    #: are not known.
    members: Optional[List[int]]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: The second communicator that it was made from: the peer communicator of ``MPI_Intercomm_create``.
    other_parent: Optional[InspectReference]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: This process's rank in the (local) group.
    rank: Optional[int]
    #: The same for the remote group.
    remote: Optional[List[int]]
    #: Processes in the remote group.
    remote_size: int
    #: Requests on it that are not gone.
    requests: Rows[InspectReference]
    #: Processes in the (local) group.
    size: int
    #: How it stands.
    standing: str
    #: Its topology.
    topology: Optional[InspectTopology]
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int
    #: Windows made with it.
    windows: Rows[InspectReference]


class InspectCount(Record):
    """How many objects of a kind a process has."""

    #: Freed, and still known.
    freed: int
    #: Made by the program and not freed.
    live: int
    #: Freed by the program, and MPI still holds them.
    marked: int
    #: Predefined ones that the program has used.
    predefined: int


class InspectDatatype(Record):
    """A datatype."""

    #: Its arguments.
    arguments: InspectArguments
    #: Its attributes.
    attributes: Rows[InspectAttribute]
    #: Whether the library stated the bounds; else they were worked out from the constructors.
    bounds_stated: bool
    #: Calls with it that threads are in.
    calls: Rows[InspectOpenCall]
    #: The constructor, as ``MPI_COMBINER_…`` names it: ``vector``.
    combiner: str
    #: Whether it may be used in communication.
    committed: bool
    #: The types it was made from, each once, in order.
    constituents: Rows[InspectReference]
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: Extent in bytes.
    extent: Optional[int]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its handle in C.
    handle: str
    #: Handles of it that the program has to free.
    handles: int
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: Its kind.
    kind: str
    #: Lower bound in bytes.
    lower_bound: Optional[int]
    #: The same as words.
    marks: List[str]
    #: What its type in C or Fortran is, of a predefined one.
    meaning: Optional[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Requests with it that are not gone.
    requests: Rows[InspectReference]
    #: Size in bytes, without holes; none if it is not known.
    size: Optional[int]
    #: How it stands.
    standing: str
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: The type map in intrinsic types.
    type_map: InspectTypeMap
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int
    #: Datatypes made from it.
    used_by: Rows[InspectReference]


class InspectDiffering(Record):
    """A value of some of the ranks."""

    #: Who has it.
    ranks: str
    #: The value.
    value: Any


class InspectErrhandler(Record):
    """An error handler."""

    #: What it is attached to.
    attached: Rows[InspectReference]
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: Whether the function is Fortran's.
    fortran_function: bool
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Address of the program's function; zero for a predefined one.
    function: str
    #: Its handle in C.
    handle: str
    #: Handles of it that the program has to free.
    handles: int
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: Its kind.
    kind: str
    #: The same as words.
    marks: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: What it may be attached to; none if that is anything.
    of: Optional[str]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: How it stands.
    standing: str
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class InspectFile(Record):
    """A file."""

    #: What this process did with it.
    access: InspectAccess
    #: Access mode in the ABI's own bits.
    amode: int
    #: Whether atomic mode is on.
    atomic: bool
    #: Calls on it that threads are in.
    calls: Rows[InspectOpenCall]
    #: The communicator it was opened with.
    communicator: Optional[InspectReference]
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: The error handler last attached.
    errhandler: Optional[InspectReference]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: Nobody has asked this library for its number in Fortran, and so it has none: ROMIO gives one only when asked.
    fortran_unasked: bool
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its handle in C.
    handle: str
    #: Its pairs, as they were then.
    hints: List[List[str]]
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: The info last given.
    info: Optional[InspectReference]
    #: Its kind.
    kind: str
    #: The same as words.
    marks: List[str]
    #: The same as names: ``MPI_MODE_RDWR``.
    mode: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Its name as the program gave it.
    path: Optional[str]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Requests on it.
    requests: Rows[InspectReference]
    #: How it stands.
    standing: str
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int
    #: The view: displacement, elementary type, file type, data representation.
    view: InspectView


class InspectGroup(Record):
    """A group."""

    #: Communicators made from it.
    communicators: Rows[InspectReference]
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its handle in C.
    handle: str
    #: Handles of it that the program has to free.
    handles: int
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: Its kind.
    kind: str
    #: The same as words.
    marks: List[str]
    #: Ranks in ``MPI_COMM_WORLD``, in order; −1 for a process outside of it.
    members: Optional[List[int]]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: The second group of a union, intersection or difference.
    other_parent: Optional[InspectReference]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: This process's rank in it; none if it is not a member.
    rank: Optional[int]
    #: Its members.
    size: int
    #: How it stands.
    standing: str
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class InspectHole(Record):
    """A hole: bytes within the bounds that are not part of the data."""

    #: Place of the first byte.
    displacement: int
    #: Bytes.
    length: int


class InspectInfo(Record):
    """An info object."""

    #: The call that made it.
    created: Optional[InspectCallSite]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its handle in C.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: Its kind.
    kind: str
    #: Pairs that the image had no room for.
    lost: int
    #: The same as words.
    marks: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: Keys and values, in order.
    pairs: List[List[str]]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: How it stands.
    standing: str
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int
    #: Where it was given and is in use.
    used_by: Rows[InspectReference]


class InspectKeyval(Record):
    """A key for attributes."""

    #: Address of the copy function.
    copy: str
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: Address of the delete function.
    delete: str
    #: The extra state.
    extra_state: str
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its handle in C.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: The key as the program knows it.
    keyval: int
    #: Its kind.
    kind: str
    #: The same as words.
    marks: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: What it is for.
    of: Optional[str]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: How it stands.
    standing: str
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class InspectLeak(Record):
    """The same place on all ranks."""

    #: Requests whose operation was started and not completed.
    active: Optional[bool]
    #: How many on all ranks together.
    count: int
    #: The function that made them.
    function: str
    #: Kind of the objects.
    kind: str
    #: ``file:line``, or function (else module) and offset.
    place: str
    #: Ranks that made them.
    ranks: str


class InspectLock(Record):
    """A lock that is held."""

    exclusive: bool
    target: int


class InspectMerged(Record):
    """What the processes that have an object say about it. Names of fields are those of the object, with dots
    where it has structures."""

    #: Fields with one value everywhere.
    agreed: Dict[str, Any]
    #: Fields that differ, or that not all have: each value with the ranks that have it.
    differs: Dict[str, Rows[InspectDiffering]]
    #: Moments that differ, in seconds: the first and the last.
    spans: Dict[str, List[float]]


class InspectMessage(Record):
    """A message that a probe has matched and nobody has received."""

    #: Its bytes.
    bytes: int
    #: The communicator.
    communicator: Optional[InspectReference]
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its handle in C.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: Its kind.
    kind: str
    #: The same as words.
    marks: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Who sent it.
    source: int
    #: How it stands.
    standing: str
    #: Its tag.
    tag: int
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class InspectOne(Record):
    """An object."""

    #: What this process did with it.
    access: Optional[InspectAccess]
    #: Started, and its completion not seen.
    active: Optional[bool]
    #: Access mode in the ABI's own bits.
    amode: Optional[int]
    #: Its arguments.
    arguments: Optional[InspectArguments]
    #: Whether atomic mode is on.
    atomic: Optional[bool]
    #: What it is attached to.
    attached: Any
    #: Its attributes.
    attributes: Optional[Rows[InspectAttribute]]
    #: First byte of this process's memory.
    base: Optional[str]
    #: Whether the library stated the bounds; else they were worked out from the constructors.
    bounds_stated: Optional[bool]
    #: In one line.
    brief: str
    #: Address of the buffer.
    buffer: Optional[str]
    #: Bytes of the message: sent, or received once complete; none if the library did not say how many it received.
    bytes: Any
    #: Calls on it that threads are in.
    calls: Optional[Rows[InspectOpenCall]]
    #: Whether ``MPI_Cancel`` was called for it.
    cancelled: Optional[bool]
    #: Whether it is point-to-point, of a file, …
    class_: Optional[str]
    #: Collectives entered on it.
    collectives: Optional[int]
    #: What sets it apart from its siblings: colour, split type, tag (sign-extended).
    colour: Optional[int]
    #: The constructor, as ``MPI_COMBINER_…`` names it: ``vector``.
    combiner: Optional[str]
    #: Whether it may be used in communication.
    committed: Optional[bool]
    #: The communicator.
    communicator: Optional[InspectReference]
    #: Communicators made from it.
    communicators: Optional[Rows[InspectReference]]
    #: Whether it is commutative; none if that is not known.
    commutative: Optional[bool]
    #: Whether its completion was seen.
    complete: Optional[bool]
    #: The call that saw its completion.
    completion: Optional[InspectWhen]
    #: The types it was made from, each once, in order.
    constituents: Optional[Rows[InspectReference]]
    #: Address of the copy function.
    copy: Optional[str]
    #: Elements.
    count: Optional[int]
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: The datatype.
    datatype: Optional[InspectReference]
    #: Address of the delete function.
    delete: Optional[str]
    #: Displacement unit.
    displacement_unit: Optional[int]
    #: Epochs that are open in this process.
    epochs: Optional[List[str]]
    #: The error handler in force; the one of the parent while none was attached.
    errhandler: Optional[InspectReference]
    #: Error code of the operation.
    error: Optional[int]
    #: Extent in bytes.
    extent: Optional[int]
    #: The extra state.
    extra_state: Optional[str]
    #: Files opened with it.
    files: Optional[Rows[InspectReference]]
    #: How it got its memory.
    flavour: Optional[str]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: Whether the function is Fortran's.
    fortran_function: Optional[bool]
    #: Nobody has asked this library for its number in Fortran, and so it has none: ROMIO gives one only when asked.
    fortran_unasked: Optional[bool]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Address of the program's function; zero for a predefined operation.
    function: Optional[str]
    #: Groups that were got from it.
    groups: Optional[Rows[InspectReference]]
    #: Its handle in C.
    handle: str
    #: Handles of it that the program has to free.
    handles: Optional[int]
    #: Its pairs, as they were then.
    hints: Optional[List[List[str]]]
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: The info last given.
    info: Optional[InspectReference]
    #: Whether it has two groups.
    inter: Optional[bool]
    #: The key as the program knows it.
    keyval: Optional[int]
    #: Its kind.
    kind: str
    #: The last call that synchronised.
    last_synchronisation: Optional[InspectCallSite]
    #: Locks held: target, and whether exclusive.
    locks: Optional[Rows[InspectLock]]
    #: Pairs that the image had no room for.
    lost: Optional[int]
    #: Lower bound in bytes.
    lower_bound: Optional[int]
    #: The program has freed it while it was active.
    marked: Optional[bool]
    #: The same as words.
    marks: List[str]
    #: What its type in C or Fortran is, of a predefined one.
    meaning: Optional[str]
    #: Ranks in ``MPI_COMM_WORLD`` of the (local) group, in order; −1 for a process outside of it. None where they
    #: are not known.
    members: Optional[List[int]]
    #: The same as names: ``MPI_MODE_RDWR``.
    mode: Optional[List[str]]
    #: Memory model.
    model: Optional[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: Communicator, file or window.
    object: Optional[InspectReference]
    #: What it may be attached to; none if that is anything.
    of: Optional[str]
    #: What it stands for.
    operation: Optional[str]
    #: Operations so far.
    operations: Optional[InspectOperations]
    #: The second communicator that it was made from: the peer communicator of ``MPI_Intercomm_create``.
    other_parent: Optional[InspectReference]
    #: Of a handle that stands for several requests: how many are not completed by the program.
    outstanding: Optional[int]
    #: Keys and values, in order.
    pairs: Optional[List[List[str]]]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Partitions, of a partitioned request.
    partitions: Optional[int]
    #: Its name as the program gave it.
    path: Optional[str]
    #: Source, destination, root or target as the program gave it; none if the operation has no such rank.
    peer: Optional[InspectRank2]
    #: Whether it can be started again.
    persistent: Optional[bool]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Origins of the open ``MPI_Win_post``, as ranks of the world.
    post_group: Optional[List[int]]
    #: Whether it is predefined.
    predefined: bool
    #: This process's rank in the (local) group.
    rank: Optional[int]
    #: Of a complete receive: who sent and with which tag.
    received: Optional[List[int]]
    #: The reduction operation of a collective or one-sided one.
    reduction: Optional[InspectReference]
    #: The same for the remote group.
    remote: Optional[List[int]]
    #: Processes in the remote group.
    remote_size: Optional[int]
    #: Requests on it that are not gone.
    requests: Optional[Rows[InspectReference]]
    #: The peer is the root of a collective.
    root: Optional[bool]
    #: Send and receive: destination and tag of the send.
    send: Optional[List[int]]
    #: The handle has stood for several requests, all complete when they were made. Peer, count and the like were
    #: each one's own: they are not shown.
    several: Optional[bool]
    #: Processes in the (local) group.
    size: Any
    #: Who sent it.
    source: Optional[int]
    #: How it stands.
    standing: str
    #: The call that started it last.
    start: Optional[InspectWhen]
    #: Targets of the open ``MPI_Win_start``, as ranks of the world.
    start_group: Optional[List[int]]
    #: Whether it was started, a persistent one at least once.
    started: Optional[bool]
    #: How often it was started.
    starts: Optional[int]
    #: The tag as the program gave it; none if it named any.
    tag: Any
    #: For people, if one object was asked for.
    text: Optional[List[str]]
    #: Its topology.
    topology: Optional[InspectTopology]
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: The type map in intrinsic types.
    type_map: Optional[InspectTypeMap]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int
    #: Datatypes made from it.
    used_by: Optional[Rows[InspectReference]]
    #: The view: displacement, elementary type, file type, data representation.
    view: Optional[InspectView]
    #: Windows made with it.
    windows: Optional[Rows[InspectReference]]


class InspectOp(Record):
    """A reduction operation."""

    #: Calls with it that threads are in.
    calls: Rows[InspectOpenCall]
    #: Whether it is commutative; none if that is not known.
    commutative: Optional[bool]
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: Whether the function is Fortran's.
    fortran_function: bool
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Address of the program's function; zero for a predefined operation.
    function: str
    #: Its handle in C.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: Its kind.
    kind: str
    #: The same as words.
    marks: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Requests of collective and one-sided operations with it that are not gone.
    requests: Rows[InspectReference]
    #: How it stands.
    standing: str
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class InspectOpenCall(Record):
    """A call that a thread is in."""

    #: The address behind the call.
    address: str
    #: The MPI function.
    function: str
    #: Source line of the call, where it is known.
    place: Optional[str]
    #: When it began, in seconds after the begin of the image.
    seconds: float
    #: The kernel's id of the thread.
    tid: int


class InspectOperations(Record):
    """One-sided operations of this process on a window."""

    accumulates: int
    gets: int
    #: Since the last call that completed all of them.
    pending: int
    #: Those to each target, by rank; empty for large groups.
    pending_by_target: List[int]
    puts: int


class InspectRank(Record):
    """A process."""

    abi: str
    #: Whether the process is there; none for a file.
    alive: Optional[bool]
    #: Why nothing can be seen; the rest is then empty and means nothing.
    cannot_see: Optional[str]
    counts: Dict[str, InspectCount]
    host: str
    lost: Dict[str, int]
    #: Why there is no such object.
    missing: Optional[str]
    objects: Rows[InspectOne]
    pid: int
    #: Rank in ``MPI_COMM_WORLD``.
    rank: Optional[int]
    #: Size of ``MPI_COMM_WORLD``.
    size: Optional[int]
    state: str
    #: Name of the world: the processes with which it shares ``MPI_COMM_WORLD``.
    world: str


class InspectRank2(Record):
    """A rank, or a word for one."""

    #: ``MPI_ANY_SOURCE``, ``MPI_PROC_NULL``, ``MPI_ROOT``.
    name: Optional[str]
    #: As the program gave it.
    value: int


class InspectReference(Record):
    """Another object."""

    #: Its handle.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: Optional[str]
    #: Its kind.
    kind: str
    #: The standard's name of a predefined object, else the one that the program gave; of a file its path.
    name: Optional[str]
    #: Whether it is predefined.
    predefined: Optional[bool]
    #: Processes in the (local) group of a communicator.
    size: Optional[int]
    #: Its uid; zero if it has no record.
    uid: int


class InspectRequest(Record):
    """A request."""

    #: Started, and its completion not seen.
    active: bool
    #: Address of the buffer.
    buffer: str
    #: Bytes of the message: sent, or received once complete; none if the library did not say how many it received.
    bytes: Optional[int]
    #: Whether ``MPI_Cancel`` was called for it.
    cancelled: bool
    #: Whether it is point-to-point, of a file, …
    class_: str
    #: Whether its completion was seen.
    complete: bool
    #: The call that saw its completion.
    completion: Optional[InspectWhen]
    #: Elements.
    count: int
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: The datatype.
    datatype: Optional[InspectReference]
    #: Error code of the operation.
    error: int
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its handle in C.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: Its kind.
    kind: str
    #: The program has freed it while it was active.
    marked: bool
    #: The same as words.
    marks: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: Communicator, file or window.
    object: Optional[InspectReference]
    #: What it stands for.
    operation: Optional[str]
    #: Of a handle that stands for several requests: how many are not completed by the program.
    outstanding: int
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Partitions, of a partitioned request.
    partitions: int
    #: Source, destination, root or target as the program gave it; none if the operation has no such rank.
    peer: Optional[InspectRank2]
    #: Whether it can be started again.
    persistent: bool
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: Of a complete receive: who sent and with which tag.
    received: Optional[List[int]]
    #: The reduction operation of a collective or one-sided one.
    reduction: Optional[InspectReference]
    #: The peer is the root of a collective.
    root: bool
    #: Send and receive: destination and tag of the send.
    send: Optional[List[int]]
    #: The handle has stood for several requests, all complete when they were made. Peer, count and the like were
    #: each one's own: they are not shown.
    several: bool
    #: How it stands.
    standing: str
    #: The call that started it last.
    start: Optional[InspectWhen]
    #: Whether it was started, a persistent one at least once.
    started: bool
    #: How often it was started.
    starts: int
    #: The tag as the program gave it; none if it named any.
    tag: Optional[int]
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class InspectRun(Record):
    """Elements of one intrinsic type, one behind the other without a gap."""

    #: How many.
    count: int
    #: The intrinsic type.
    datatype: str
    #: Place of the first, in bytes from the address of the buffer.
    displacement: int
    #: Bytes of one.
    size: int


class InspectSession(Record):
    """A session."""

    #: The call that made it.
    created: Optional[InspectCallSite]
    #: The error handler last attached.
    errhandler: Optional[InspectReference]
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Groups made from it.
    groups: Rows[InspectReference]
    #: Its handle in C.
    handle: str
    #: Its pairs, as they were then.
    hints: List[List[str]]
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: The info given.
    info: Optional[InspectReference]
    #: Its kind.
    kind: str
    #: The same as words.
    marks: List[str]
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Whether it is predefined.
    predefined: bool
    #: How it stands.
    standing: str
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class InspectSharedForm(Record):
    """An object that several ranks have."""

    identity: str
    kind: str
    #: What they say about it, joined.
    merged: InspectMerged
    name: Optional[str]
    ranks: str


class InspectTopology(Record):
    """The topology of a communicator."""

    #: Of this process.
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

    #: There are more runs than are listed, so holes are not known.
    cut: bool
    #: Holes between lower and upper bound, ascending.
    holes: Rows[InspectHole]
    #: Further holes, likewise.
    holes_left_out: Optional[int]
    #: A part is not known: its making was not seen.
    incomplete: bool
    #: In the order in which the elements are sent.
    runs: Rows[InspectRun]
    #: Further runs, which a list of many datatypes leaves out.
    runs_left_out: Optional[int]


class InspectView(Record):
    """The view of a file."""

    #: In bytes.
    displacement: int
    #: None while the view is the default one, bytes.
    etype: Optional[InspectReference]
    #: None while the view is the default one.
    filetype: Optional[InspectReference]
    representation: str


class InspectWhen(Record):
    """A moment and a place."""

    #: The address behind the call.
    address: str
    #: Source line of the call, where it is known.
    place: Optional[str]
    #: In seconds after the begin of the image.
    seconds: float


class InspectWindow(Record):
    """A window."""

    #: Memory attached to a dynamic window: address and bytes.
    attached: List[List[Any]]
    #: Its attributes.
    attributes: Rows[InspectAttribute]
    #: First byte of this process's memory.
    base: str
    #: Calls on it that threads are in.
    calls: Rows[InspectOpenCall]
    #: The communicator it was made with.
    communicator: Optional[InspectReference]
    #: The call that made it.
    created: Optional[InspectCallSite]
    #: Displacement unit.
    displacement_unit: int
    #: Epochs that are open in this process.
    epochs: List[str]
    #: The error handler last attached.
    errhandler: Optional[InspectReference]
    #: How it got its memory.
    flavour: str
    #: Its handle in Fortran, if it is known.
    fortran: Optional[int]
    #: The call that freed it.
    freed: Optional[InspectCallSite]
    #: Its handle in C.
    handle: str
    #: Its pairs, as they were then.
    hints: List[List[str]]
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: str
    #: The info last given.
    info: Optional[InspectReference]
    #: Its kind.
    kind: str
    #: The last call that synchronised.
    last_synchronisation: Optional[InspectCallSite]
    #: Locks held: target, and whether exclusive.
    locks: Rows[InspectLock]
    #: The same as words.
    marks: List[str]
    #: Memory model.
    model: str
    #: The standard's name of a predefined object, else the one that the program gave.
    name: Optional[str]
    #: Operations so far.
    operations: InspectOperations
    #: What it was made from.
    parent: Optional[InspectReference]
    #: Where a debugger writes two bytes in the stopped process, 1 or 0: whether what is known of the object stays
    #: when it is freed. None for predefined objects, and kinds of which nothing freed is kept.
    pin_at: Optional[str]
    #: Origins of the open ``MPI_Win_post``, as ranks of the world.
    post_group: Optional[List[int]]
    #: Whether it is predefined.
    predefined: bool
    #: Requests on it that are not gone.
    requests: Rows[InspectReference]
    #: Its bytes.
    size: int
    #: How it stands.
    standing: str
    #: Targets of the open ``MPI_Win_start``, as ranks of the world.
    start_group: Optional[List[int]]
    #: The record kept changing while it was read: parts may not belong together.
    torn: Optional[bool]
    #: Names the object within its process; never used twice; zero for one that was not seen.
    uid: int


class Jobs(Record):
    """What ``--json`` prints when there are several jobs to choose from."""

    jobs: Rows[JobsJobLine]
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str


class JobsJobLine(Record):
    """An object of the answer."""

    command: str
    host: str
    job: str
    ranks: str
    size: Optional[int]
    #: Number of the user.
    user: int


class Procs(Record):
    """What ``--json`` prints."""

    #: The other jobs that the processes are connected with.
    connected: Optional[Rows[ProcsConnected]]
    #: Processes of other hosts that were not asked.
    elsewhere: Rows[ProcsProcessLocation]
    #: What the host that looked calls itself: processes there are its own, whatever others call it.
    host: Optional[str]
    #: What could not be looked at, in sentences.
    problems: List[str]
    #: The processes, by world (in the order in which they were spawned) and rank.
    processes: Rows[ProcsEntry]
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str


class ProcsConnected(Record):
    """One connection: the same on all who took part in the call on one side, and on both sides if they have found
    each other."""

    #: The call that made it.
    by: str
    #: Whether the other side is a job that runs on the same host, so that it can be asked there.
    found: bool
    #: The identity of the intercommunicator.
    identity: int
    #: Processes on the other side.
    processes: int


class ProcsEntry(Record):
    """One process of a job."""

    #: Path of its program.
    executable: str
    #: The process has ended without the job.
    gone: bool
    #: Name or address of the host.
    host: str
    #: Its number there.
    pid: int
    #: Rank in it.
    rank: Optional[int]
    #: It has not called MPI: the rank is what the launcher gave it, the world is not known.
    silent: Optional[bool]
    #: Who spawned its world; ``None`` if a launcher started it.
    spawned: Optional[ProcsSpawned]
    #: Name of its world: the same on all ranks of the world. Empty if only MPIR has the process.
    world: str


class ProcsProcessLocation(Record):
    """Where a process runs."""

    #: Name or address of the host.
    host: str
    #: Its number there.
    pid: int


class ProcsSpawned(Record):
    """Who spawned a world."""

    #: The root of the spawn in it.
    rank: int
    #: Number of the spawn among those of that root, from 0.
    sequence: int
    #: Name of the parent's world.
    world: str


class Ps(Record):
    """What ``--json`` prints."""

    #: Images that could not be read.
    errors: List[str]
    job: str
    ranks: Rows[PsRankStatus]
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str
    #: Processes that run under the layer and have not called MPI.
    silent: int
    #: If they were asked for.
    stacks: Optional[PsStacks]


class PsCallStatus(Record):
    """An open call, or one that has returned. A field is ``None`` when the function has no such argument."""

    #: Elements, or requests.
    count: Optional[int]
    #: Datatype.
    datatype: Optional[PsReference]
    #: Name in the C binding.
    function: str
    #: Calls below this one: it is made by a user callback.
    nested: int
    #: Communicator, window, file or session.
    object: Optional[PsReference]
    #: Other rank or root.
    peer: Optional[PsPeerRank]
    #: Source line, or function (else module) and offset.
    place: Optional[str]
    #: Address behind the call in the program.
    return_address: int
    #: Where a send-receive receives from.
    source: Optional[PsPeerRank]
    #: Tag: a number, or ``MPI_ANY_TAG``.
    tag: Optional[str]
    #: The description changed while it was copied: parts of it may belong to different calls.
    torn: bool


class PsNode(Record):
    """A frame that several threads have in common."""

    #: What it has called.
    calls: Optional[Rows[PsNode]]
    #: ``function at file:line``; at the end what the threads do there.
    frame: str
    #: Whose.
    ranks: str


class PsPeerRank(Record):
    """A rank that a call names."""

    #: ``MPI_ANY_SOURCE``, ``MPI_PROC_NULL``, ``MPI_ROOT``.
    name: Optional[str]
    #: Rank in the call's communicator, as the program gave it.
    rank: int
    #: It is the root of a collective.
    root: bool
    #: Rank in ``MPI_COMM_WORLD``, if the communicator's members are known and are not those of the world.
    world_rank: Optional[int]


class PsRankStatus(Record):
    """A rank at this moment."""

    #: What the main thread is doing: the value of ``mpiscope_state``.
    activity: str
    #: Whether the process is there.
    alive: bool
    #: Host.
    host: str
    #: If no thread is inside of MPI, the one whose call returned last, by its number.
    last_thread: Optional[int]
    #: Records that found no room, by kind.
    losses: Optional[Dict[str, int]]
    #: Process id.
    pid: int
    #: Something is wrong: it ended without ``MPI_Finalize``, or called ``MPI_Abort``.
    problem: bool
    #: Rank in ``MPI_COMM_WORLD``, if known.
    rank: Optional[int]
    #: Size of the world, if known.
    size: Optional[int]
    #: How far the process came, for people.
    state: str
    #: Threads that called MPI and live; also one that has ended, if its call was the last of the rank.
    threads: Rows[PsThreadStatus]
    #: Name of the world.
    world: str
    #: Number of the world in the job, by ``Worlds``; 0 until somebody has numbered them.
    world_number: int


class PsReference(Record):
    """Another object."""

    #: Its handle.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: Optional[str]
    #: Its kind.
    kind: str
    #: The standard's name of a predefined object, else the one that the program gave; of a file its path.
    name: Optional[str]
    #: Whether it is predefined.
    predefined: Optional[bool]
    #: Processes in the (local) group of a communicator.
    size: Optional[int]
    #: Its uid; zero if it has no record.
    uid: int


class PsStacks(Record):
    """The stacks of a job."""

    #: Why some of it is not known, for people, each once.
    notes: Optional[List[str]]
    #: The outermost frames.
    tree: Rows[PsNode]


class PsThreadStatus(Record):
    """A thread at this moment."""

    #: Seconds since the call began or, outside of MPI, since the last one ended.
    age_s: Optional[float]
    #: The open call, if there is one.
    call: Optional[PsCallStatus]
    #: Outside of MPI, of a process that runs: what the system says that it does: ``computing``, ``sleeping in the
    #: system call read``, ``stopped by a signal``; ``polling`` of a loop that asks and pauses.
    doing: Optional[str]
    #: Outside of MPI, before ``MPI_Finalize``: the call that returned last. What its handles stood for may be gone.
    last_call: Optional[PsCallStatus]
    #: Outside of MPI: the source line, or function (else module) and offset, of the call that ended last.
    last_place: Optional[str]
    #: Whether it is the main thread: the one that called ``MPI_Init``, else the first that called MPI.
    main: bool
    #: Seconds since it began to call a function again and again that asks and does not wait, if it is doing so.
    polling_s: Optional[float]
    #: Number of the thread, from zero in the order of first MPI calls.
    thread: int
    #: The kernel's id.
    tid: int


class Queues(Record):
    """The queues of a job."""

    #: The communicators with anything in their queues.
    communicators: Rows[QueuesQueue]
    #: What is not known, for people.
    not_seen: List[str]
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str


class QueuesEntry(Record):
    """A message, a receive, or both."""

    #: Bytes of the message, if there is one.
    bytes: Optional[int]
    #: The sender; ``None`` where the receive names nobody in particular.
    from_: Optional[str]
    #: Where the receive was posted, if that is known.
    posted_at: Optional[str]
    #: Room of the receive in bytes, if that is known.
    room: Optional[int]
    #: Where the message was sent, if that is known.
    sent_at: Optional[str]
    #: What it is.
    state: str
    #: The tag; ``None`` where the receive names none.
    tag: Optional[int]
    #: The receiver: its rank in the world, after ``world.`` if there are several.
    to: str


class QueuesQueue(Record):
    """The queues of a communicator over all its members."""

    #: Its name, or its identity.
    communicator: str
    #: By receiver and oldest first: posted receives, then messages that none of them fits.
    entries: Rows[QueuesEntry]


class Report(Record):
    """A job."""

    #: ``mpich``, ``openmpi``, ``standard`` or ``unknown``.
    abi: str
    #: Bytes that all calls moved.
    bytes: int
    #: What was started.
    command: str
    #: The greatest useful time over the run time.
    communication_efficiency: Optional[float]
    #: What was wrong with the run.
    findings: Rows[ReportFinding]
    #: Who ended badly first, if several did and the order was seen.
    first_end: Optional[ReportFirstEnd]
    #: By time (by count when times were not recorded), most first.
    functions: Rows[ReportFunctionReport]
    #: Where the ranks that were seen are.
    hosts: Rows[ReportHostReport]
    #: Objects that were not freed when ``MPI_Finalize`` returned, by the place that made them, most first.
    leaks: Rows[ReportLeak]
    #: What the library says about itself; empty if no process called MPI.
    library: str
    #: Mean over maximum of the useful times of ranks, each its wall time times the share that is neither MPI nor
    #: polling.
    load_balance: Optional[float]
    #: Lost records of all ranks.
    lost: int
    #: MPI time as a part of that, 0 to 1.
    mpi_share: Optional[float]
    #: Version of the MPI standard.
    mpi_version: str
    #: Of a running job: why its ranks, or some of them, were not looked at from the beginning, so that the waits are
    #: those that they still remember.
    not_followed: Optional[str]
    #: What the layers could not do: sentence and the ranks that said so.
    notes: List[List[str]]
    #: What belongs to no site; by function.
    other_calls: Rows[ReportJobRest]
    #: The product of both.
    parallel_efficiency: Optional[float]
    #: Polling time as a part of that.
    polling_share: Optional[float]
    #: By world and rank.
    ranks: Rows[ReportRankReport]
    #: Into one.
    received: int
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str
    #: Who talked to whom, collectives, messages, files, memory.
    sections: ReportSections
    #: Of these, out of a process.
    sent: int
    #: The greatest useful time over the greatest sum of it and waiting for others; none of a job that was not
    #: followed while it ran.
    serialisation_efficiency: Optional[float]
    #: Processes that were started under the layer and never called MPI.
    silent: Rows[ReportSilent]
    sites: Rows[ReportJobSite]
    #: Size of (the first) ``MPI_COMM_WORLD``.
    size: int
    #: Time of all threads that called MPI, over all ranks.
    thread_s: float
    #: Whether the ranks recorded times.
    times: bool
    #: The greatest sum of useful time and waiting for others over the run time; none of a job that was not followed
    #: while it ran.
    transfer_efficiency: Optional[float]
    #: Version of this program.
    version: str
    #: Who waited for whom, as far as it was seen.
    waits: ReportWaits
    #: Longest wall time of a rank.
    wall_s: float
    #: The run in windows of time, if it was followed.
    windows: Optional[ReportWindows]
    #: In the order in which they began: one, unless the program spawned or several ran one after the other.
    worlds: Rows[ReportWorldReport]


class ReportBegan(Record):
    """A part of a wait that began with somebody who was not waited for, but who made others late."""

    culprit: str
    #: What it did.
    doing: str
    seconds: float


class ReportCalls(Record):
    """Calls of one function on one rank."""

    #: Bytes that they moved.
    bytes: int
    #: Completed calls.
    count: int
    #: Of the calls, those whose time is an estimate: of calls that start a message and are short, one in sixteen is
    #: timed.
    estimated: int
    #: Into the process. Neither are those of collectives.
    received: int
    #: Of these, out of the process: messages, into windows and files.
    sent: int
    #: Seconds in them; none if they were not timed.
    time_s: Optional[float]


class ReportCause(Record):
    """A rank in a place that made others wait, by itself or through those that it made late."""

    culprit: str
    #: What it did: ``computing after MPI_Send at heat.c:40``.
    doing: str
    #: Of the seconds, those in waits for others, which were late because of this rank.
    handed_on_s: float
    #: Who waited.
    ranks: str
    #: Seconds of all of them together, of those that were seen.
    seconds: float
    #: As a part of the time of all threads of the job.
    share: float


class ReportCollectives(Record):
    """Collectives on one communicator."""

    #: Who that is, if not all entered as many.
    behind: Optional[str]
    #: Bytes of all of them, on all members: each rank's part, as of call sites.
    bytes: int
    #: The communicator, for people.
    communicator: str
    #: Collectives entered on it by the member that entered most.
    entered: int
    #: What came of which function, most time first, then most calls. Calls at a place that uses so many
    #: communicators that they are not told apart are missing here and in ``bytes``, and so are those that free it.
    functions: Rows[ReportOfFunction]
    #: The same on all its ranks.
    identity: str
    #: The last ones that are still known, each kind once, most frequent first.
    last: Rows[ReportRecent]
    #: By the one that entered least.
    least: int
    #: Its members.
    size: int


class ReportCrowd(Record):
    """Ranks that share fewer processors than they are."""

    cpus: str
    host: str
    ranks: str


class ReportDuration(Record):
    """Calls of a similar length."""

    #: They took less than this, and at least half of it. In seconds.
    below_s: float
    #: How many.
    calls: int


class ReportEnding(Record):
    """How a process ended, if somebody saw it."""

    exit: Optional[int]
    signal: Optional[int]


class ReportEstimated(Record):
    """An estimate."""

    #: Two standard errors, and a fifth of what was not seen.
    error_s: float
    seconds: float


class ReportExchange(Record):
    """Messages between the members of one communicator."""

    #: Their bytes.
    bytes: int
    #: The communicator, for people.
    communicator: str
    #: The same on all its ranks.
    identity: str
    #: Messages sent on it.
    messages: int
    #: Pairs that are not listed.
    more_pairs: int
    #: Pairs with messages, most bytes first.
    pairs: Rows[ReportPair]
    #: Its processes; of an intercommunicator those of both groups.
    size: int


class ReportExtreme(Record):
    """The time of one rank."""

    #: The rank there, if known.
    rank: Optional[int]
    #: Seconds; none if the calls were not timed.
    time_s: Optional[float]
    #: Which of ``worlds``.
    world: int


class ReportFileUse(Record):
    """A file, over all ranks and openings."""

    #: How often it was opened, each rank for itself.
    opened: int
    path: str
    ranks: str
    read_bytes: int
    reads: int
    #: Time inside of the calls, all ranks together.
    seconds: float
    #: The rank that took longest.
    slowest: str
    #: Its time.
    slowest_s: float
    writes: int
    written_bytes: int


class ReportFinding(Record):
    """Something that was wrong with a run."""

    #: What sort of thing.
    kind: str
    #: The line of the user's code, if known.
    line: Optional[str]
    #: Whose.
    ranks: str
    #: What it is, for people.
    sentence: str


class ReportFirstEnd(Record):
    """The first of several ranks that ended before they should have."""

    #: Seconds until the next one ended; none if the others were killed.
    before_s: Optional[float]
    #: Its rank, if known.
    rank: Optional[int]


class ReportFunctionReport(Record):
    """One function over all ranks."""

    #: Most time on a rank.
    max: ReportExtreme
    #: Least time on a rank.
    min: ReportExtreme
    #: Its name.
    name: str
    #: Sums over the ranks; the time includes calls that were open at the end.
    total: ReportCalls


class ReportGrowth(Record):
    """A rank whose resident memory grows."""

    #: How quickly.
    bytes_per_minute: float
    #: In the first and the last of these windows.
    from_bytes: int
    #: Which of the ranks of the windows.
    rank: int
    until_bytes: int
    #: So many windows ago it began, or was first seen.
    windows: int


class ReportHostReport(Record):
    """Ranks of one host."""

    #: The error of that is no greater.
    clock_error_s: Optional[float]
    #: What the clock of the one who reports is ahead of its own, in seconds, at the end; none of the host that
    #: reports, and where it is not known.
    clock_later_s: Optional[float]
    #: Name.
    host: str
    #: Ranks there.
    ranks: str


class ReportIterations(Record):
    """The iterations of a run."""

    #: Collectives of each; zero if the program has marked them.
    collectives: int
    #: About how many there were.
    count: int
    #: Their functions, as far as they are different, in order; of marked ones ``MPI_Pcontrol``.
    functions: List[str]
    #: How long one took in the mean, in seconds.
    mean_s: float


class ReportJobRest(Record):
    """Calls of a function whose places had no record left, on all ranks."""

    #: Completed calls.
    calls: int
    #: By collectives, which do both.
    collective: int
    #: Of the calls, those whose time is an estimate: of calls that start a message and are short, one in sixteen is
    #: timed.
    estimated: int
    #: The function.
    function: str
    #: Ranks that made such calls.
    ranks: str
    #: Into it.
    received: int
    #: Bytes that they moved out of the process.
    sent: int
    #: Seconds in them; zero where times are not recorded, none if these calls were not timed.
    time_s: Optional[float]


class ReportJobSite(Record):
    """Calls of one function from one place with one object, on all ranks."""

    #: Completed calls.
    calls: int
    #: By collectives, which do both.
    collective: int
    #: The calls by length, shortest first.
    durations: Rows[ReportDuration]
    #: Of the calls, those whose time is an estimate: of calls that start a message and are short, one in sixteen is
    #: timed.
    estimated: int
    #: The function.
    function: str
    #: The longest one.
    greatest_s: Optional[float]
    #: The shortest call, in seconds; none without times.
    least_s: Optional[float]
    #: The one with most.
    max: ReportExtreme
    #: Of these the one with least time in them.
    min: ReportExtreme
    #: The communicator, window or file; ``others`` for those beyond the ones that are told apart at one place; empty
    #: for a function without, and for one that frees it.
    object: str
    #: ``file:line``, or function (else module) and offset; empty if it is not known.
    place: str
    #: Ranks that made such calls.
    ranks: str
    #: Into it.
    received: int
    #: Bytes that they moved out of the process.
    sent: int
    #: Seconds in them; zero where times are not recorded, none if these calls were not timed.
    time_s: Optional[float]


class ReportLeak(Record):
    """The same place on all ranks."""

    #: Requests whose operation was started and not completed.
    active: Optional[bool]
    #: How many on all ranks together.
    count: int
    #: The function that made them.
    function: str
    #: Kind of the objects.
    kind: str
    #: ``file:line``, or function (else module) and offset.
    place: str
    #: Ranks that made them.
    ranks: str


class ReportLost(Record):
    """Waiting of one sort, in one place, for one rank that did the same thing meanwhile."""

    #: Parts of it that began with others, for whom the culprit had waited; most time first.
    began: Optional[Rows[ReportBegan]]
    #: For whom.
    culprit: str
    #: An estimate for the whole run, where not all were seen.
    estimated_s: Optional[float]
    #: In which function.
    function: str
    kind: str
    #: Called from which line.
    line: Optional[str]
    #: What that rank did meanwhile: ``computing after MPI_Send at heat.c:40``.
    meanwhile: str
    #: Who waited.
    ranks: str
    #: Seconds of all of them together, of those that were seen.
    seconds: float
    #: As a part of the time of all threads of the job.
    share: float
    #: How many waits.
    times: int


class ReportMemory(Record):
    """Memory and place of one rank."""

    #: Processors that its main thread may use: ``[0-3]``.
    cpus: Optional[str]
    #: The variables that choose graphics processors, as ``NAME=VALUE``: no other variable of its environment is
    #: kept.
    gpus: Optional[List[str]]
    #: Host.
    host: str
    #: Bytes that the records of the layer take.
    image: int
    #: The processor that its main thread ran on last.
    last_cpu: Optional[int]
    #: NUMA nodes of the processors that it may use.
    nodes: Optional[str]
    #: Processors of the host that are on line.
    online: Optional[int]
    #: The most there ever was.
    peak: Optional[int]
    #: Rank there.
    rank: Optional[int]
    #: Resident memory, in bytes.
    resident: Optional[int]
    #: Number of the world.
    world: int


class ReportMessages(Record):
    """Messages between ranks."""

    #: Messages matched by a probe and not received.
    matched: int
    #: The most operations that one rank had under way, and who.
    most_pending: ReportMost
    #: The most receives that one rank had posted, and who.
    most_posted: ReportMost
    #: Operations under way when the report was made.
    pending: int
    #: Receives posted and not complete.
    posted: int
    #: Messages received.
    received: int
    #: Of these, those whose size is not known, because the library does not say; no number of bytes has theirs.
    received_unsized: int
    #: Messages sent.
    sent: int
    #: By size.
    sizes: Rows[ReportSizeClass]


class ReportMost(Record):
    """The greatest value, and whose it is."""

    ranks: str
    value: int


class ReportOfFunction(Record):
    """What collectives of one function on one communicator came to, on all members."""

    #: Bytes: each rank's part.
    bytes: int
    #: Completed calls.
    calls: int
    #: The function; one that makes a persistent collective for all starts of it.
    function: str
    #: Seconds in them; none without times.
    time_s: Optional[float]


class ReportPair(Record):
    """Messages from one rank to another."""

    #: As the sender says.
    bytes: int
    #: Who sends: the rank in its ``MPI_COMM_WORLD``, written ``world.rank`` if that is not the first.
    from_: str
    #: As the sender says.
    messages: int
    #: As the receiver says.
    received: int
    #: As the receiver says.
    received_bytes: int
    #: Who receives. A process of another world that is not seen is written as its rank in the communicator, ``?.3``.
    to: str


class ReportRankReport(Record):
    """One rank."""

    #: Error code of ``MPI_Abort``.
    abort_code: Optional[int]
    #: Whether the process was still there when the report was made.
    alive: bool
    #: Each of them.
    by_thread: Rows[ReportThreadReport]
    #: Bytes of all calls.
    bytes: int
    #: Source line of that call.
    call_place: Optional[str]
    #: By name of the function.
    calls: Dict[str, ReportCalls]
    #: The core file that it left, if it was found.
    core: Optional[str]
    #: How the process ended, if seen.
    ending: Optional[ReportEnding]
    #: Whether ``MPI_Finalize`` returned.
    finalized: bool
    #: Host.
    host: str
    #: The call that was open at the end: the main thread's, else the first thread's that was in one.
    in_call: Optional[str]
    #: Seconds in the open call; part of ``mpi_s``, not of ``calls``, which are completed calls.
    in_call_s: float
    #: If none was open, the call that had returned last; none after ``MPI_Finalize``.
    last_call: Optional[str]
    #: Lost records by kind; also how many freed objects are no longer known.
    losses: Dict[str, int]
    #: All lost records.
    lost: int
    #: MPI time of the thread that had most.
    main_mpi_s: float
    #: Time in outermost calls, all threads together, with the calls that were still open at the end.
    mpi_s: float
    #: MPI time as a part of that.
    mpi_share: float
    #: What the layer could not do.
    notes: List[str]
    #: Process id.
    pid: int
    #: Time between calls of loops over functions that ask and do not wait, as a part of that.
    polling_share: float
    #: Rank in ``MPI_COMM_WORLD``; ``None`` if it never became known.
    rank: Optional[int]
    #: Into the process.
    received: int
    #: Of these, out of the process.
    sent: int
    #: How far the process came.
    state: str
    #: Time of all threads that called MPI together, each from its first call on.
    thread_s: float
    #: Threads that called MPI.
    threads: int
    #: What is neither, as a part of that.
    useful_share: float
    #: From entering ``MPI_Init`` to leaving ``MPI_Finalize``, or to the end of the process, or to the last moment
    #: that is known.
    wall_s: float
    #: Name of the world.
    world: str


class ReportRecent(Record):
    """What was given to some of the last collectives."""

    #: Bytes of that.
    bytes: Optional[int]
    #: How many of the last ones, over all members.
    count: int
    #: Count and datatype, if all members name the same.
    data: Optional[str]
    #: The function.
    function: str
    #: The line of the program.
    place: Optional[str]
    #: Who made them.
    ranks: str


class ReportSampled(Record):
    """Waits by looks at the ranks while they ran."""

    #: Two standard errors of that.
    error_s: float
    #: Most time first; ``times`` is how often each was found.
    list: Rows[ReportLost]
    #: How often the ranks were looked at.
    looks: int
    #: Seconds of all of them together.
    seconds: float
    #: Seconds that are not in the list, as they may be chance. Efficiencies count them, as these are means over
    #: many.
    unsure_s: float


class ReportSections(Record):
    """The sections of a report."""

    #: By communicator, most collectives first.
    collectives: Rows[ReportCollectives]
    #: Ranks that share fewer processors than they are.
    crowded: Rows[ReportCrowd]
    #: By name, most time first.
    files: Rows[ReportFileUse]
    #: By world and rank: only of processes that were there to be asked, but for the image.
    memory: Rows[ReportMemory]
    #: Messages between ranks, over all communicators.
    messages: ReportMessages
    #: By communicator, most bytes first.
    peers: Rows[ReportExchange]


class ReportSilent(Record):
    """A process that never called MPI."""

    #: How it ended, if seen.
    ending: Optional[ReportEnding]
    #: The host that it was on, if it was another than that of who reports.
    host: Optional[str]
    #: Process id.
    pid: int
    #: Rank that the launcher gave.
    rank: Optional[int]


class ReportSizeClass(Record):
    """Messages of similar size."""

    #: Least bytes.
    from_: int
    #: Messages received.
    received: int
    #: Messages sent.
    sent: int
    #: Most bytes.
    to: int


class ReportThreadReport(Record):
    """A thread that called MPI."""

    #: Source line of that call.
    call_place: Optional[str]
    #: Completed calls.
    calls: int
    #: The call that was open at the end.
    in_call: Optional[str]
    #: Seconds in it.
    in_call_s: float
    #: If none was open, the call that had returned last.
    last_call: Optional[str]
    #: Whether it is the main thread.
    main: bool
    #: Time in MPI as a part of that.
    mpi_share: float
    #: Time between calls of loops over functions that ask and do not wait, as a part of that.
    polling_share: float
    #: Number of the thread, from zero in the order of first MPI calls. Threads that follow each other may share one.
    thread: int
    #: The kernel's id; zero if it has ended.
    tid: int
    #: Its time, from its first call on.
    time_s: float


class ReportWaits(Record):
    """The waits of a job."""

    #: Where the waiting of all of them began, most time first.
    causes: Rows[ReportCause]
    #: By how much times of two hosts may be wrong against each other, in seconds; none on one host, or where that is
    #: not known.
    clocks_error_s: Optional[float]
    #: Collectives that were entered on communicators, windows and files of more than one process.
    collectives: int
    #: Of these, those that were seen on all members.
    collectives_seen: int
    #: Seconds of all waits over the whole run, estimated from those that were seen; none if all were, or too little
    #: is known.
    estimated: Optional[ReportEstimated]
    #: Most time first.
    list: Rows[ReportLost]
    #: Locks of windows that were asked for.
    locks: int
    #: Of these, those that were seen with all that could have held them up.
    locks_seen: int
    #: How often the ranks were looked at while they ran, with the last look; 1 if only that was.
    looks: int
    #: Whether messages were recorded one by one: without, only collectives were looked at.
    messages: bool
    #: Messages that were received, where they were recorded one by one.
    messages_received: int
    #: Of these, those of which both ends were seen.
    messages_seen: int
    #: Whether the ranks could be compared: they were on one host, or the clocks of their hosts are known.
    one_clock: bool
    #: Waits that no record says, by looks at the ranks while they ran: epochs of windows that some of their members
    #: open to some, persistent collectives and those between groups of two worlds, and those for messages, where
    #: these were not recorded one by one.
    sampled: Optional[ReportSampled]
    #: Seconds of all waits that were seen.
    seconds: float
    #: Seconds in the calls that were looked at.
    seen_s: float
    #: The same as a part of the time in all calls that can wait; 0 to 1.
    seen_share: float


class ReportWindow(Record):
    """One window."""

    communication_efficiency: Optional[float]
    #: Since the first rank entered ``MPI_Init``.
    from_s: float
    #: How many iterations were over when it began.
    iterations_over: Optional[float]
    #: After the POP project, as for the whole run; none where nobody worked.
    load_balance: Optional[float]
    #: The share of each rank's time that was in MPI; none of ranks that were not there.
    mpi: List[Optional[float]]
    #: That rank's useful time over the mean.
    over_mean: Optional[float]
    parallel_efficiency: Optional[float]
    #: The resident memory of each rank in bytes, the mean of what was seen.
    resident: Optional[List[Optional[int]]]
    #: What waiting for others inside of MPI leaves of the communication efficiency; none where that was not looked
    #: for.
    serialisation_efficiency: Optional[float]
    #: Which of ``Windows::ranks`` worked longest.
    slowest: Optional[int]
    #: What the rest of the time in MPI leaves of it: both multiplied are the communication efficiency.
    transfer_efficiency: Optional[float]


class ReportWindows(Record):
    """The run in windows."""

    #: Ranks whose resident memory grows, the quickest first.
    growing: Optional[Rows[ReportGrowth]]
    #: The steps of the program, if it is seen to repeat.
    iterations: Optional[ReportIterations]
    #: One after the other.
    list: Rows[ReportWindow]
    #: The ranks, in the order of ``Window::mpi``.
    ranks: List[str]
    #: The same in few rows, for a table: so many windows that follow each other are one. Their efficiencies follow
    #: from the times of all of them: a mean of efficiencies is none.
    rows: Optional[Rows[ReportWindow]]
    #: From when to when the run was alike, and what the ranks did then.
    said: List[str]
    #: Length of each; the last one may not be full.
    seconds: float
    #: Seconds that each rank waited for others inside of MPI, with what was estimated; empty where nobody looked for
    #: that.
    waited_s: Optional[List[float]]


class ReportWorldReport(Record):
    """A world: the ranks that began together."""

    #: Its name, unique over all jobs.
    name: str
    #: Ranks of it that were seen.
    ranks: str
    #: Size of its ``MPI_COMM_WORLD``.
    size: int


class TraceCallLine(Record):
    """A call that has ended."""

    #: When it began.
    begin_ns: int
    #: Bytes that the process moved by it.
    bytes: int
    #: Number of a collective on its communicator, modulo 2^32: the same on all members.
    collective: Optional[int]
    #: When it ended.
    end_ns: int
    #: The function, such as ``MPI_Send``.
    function: str
    #: How many calls are open below it: a user callback made it; not there if none is.
    nested: Optional[int]
    #: The communicator, window or file.
    object: Optional[str]
    #: Destination, source, root or target, as rank of the communicator; none of a constant.
    peer: Optional[int]
    #: That constant, such as ``MPI_ANY_SOURCE``.
    peer_name: Optional[str]
    #: ``file:line`` of the program, or function (else module) and offset.
    place: Optional[str]
    #: Rank in ``MPI_COMM_WORLD``, if known.
    rank: Optional[int]
    #: The tag, as the program gave it; none of ``MPI_ANY_TAG``.
    tag: Optional[int]
    #: Number of the thread.
    thread: int
    #: Number of the world.
    world: int


class TraceHead(Record):
    """The trace. Times of all lines are nanoseconds since its first call."""

    #: Lines of calls.
    calls: int
    #: Older calls that are no longer known.
    gone: int
    #: Hosts, each of which has a clock of its own.
    hosts: int
    #: Lines of messages.
    messages: int
    #: Those of them of which an end is not there: sent before the trace begins (their ``begin_ns`` is ``null``), or
    #: the call that sent or received them is gone.
    messages_cut: int
    #: What is to be known of the times.
    note: Optional[str]
    #: Processes.
    ranks: int
    #: ``mpiscope.trace/1``.
    schema: str
    #: When the first call began, in nanoseconds since 1970.
    start_unix_ns: int


class TraceMessageLine(Record):
    """A message."""

    #: When it was sent; ``null`` if that was before the trace begins.
    begin_ns: Optional[int]
    #: Its bytes.
    bytes: int
    #: When the receiver had it; none if that is not known.
    end_ns: Optional[int]
    #: The communicator.
    object: str
    #: When its receive was posted; ``null`` if that was before the trace begins.
    posted_ns: Optional[int]
    #: The sender.
    rank: Optional[int]
    #: Its tag.
    tag: int
    #: The receiver.
    to_rank: Optional[int]
    #: World of the receiver.
    to_world: int
    #: World of the sender.
    world: int


class TraceThread(Record):
    """A thread."""

    #: Calls that follow.
    calls: int
    #: Older calls of this thread that are no longer known.
    gone: int
    #: Name of the host.
    host: str
    #: Whether the oldest messages of the process are no longer known.
    messages_gone: bool
    #: Process id there.
    pid: int
    #: Rank in ``MPI_COMM_WORLD``, if known.
    rank: Optional[int]
    #: Number of the thread, from zero in the order of first calls.
    thread: int
    #: The kernel's id; zero if it has ended.
    tid: int
    #: Number of the world, from zero in the order in which they began.
    world: int


class Vars(Record):
    """What ``--json`` prints."""

    items: Rows[VarsItem]
    job: Optional[str]
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str


class VarsHeld(Record):
    """A value with where it comes from and who has it."""

    #: ``default``, ``environment``, ``written`` or ``other``; empty for performance variables.
    from_: Optional[str]
    #: Its name in the variable's enumeration.
    named: Optional[str]
    #: Of a variable that is bound to objects: which one's value it is.
    object: Optional[VarsObject]
    #: In a job; elsewhere ``None``.
    ranks: Optional[str]
    #: Elements are separated by blanks.
    value: str


class VarsItem(Record):
    """One of them. The layer describes it as a line of JSON, with one value; in a job there may be several."""

    bind: Optional[str]
    categories: Optional[List[int]]
    class_: Optional[str]
    #: Number of elements of the value.
    count: Optional[int]
    #: Of a category: indices of its members.
    cvars: Optional[List[int]]
    desc: str
    #: Index of the enumeration of its values.
    enumeration: Optional[int]
    environment: Optional[str]
    events: Optional[List[int]]
    flags: Optional[str]
    index: Optional[int]
    #: Of an enumeration: values and their names.
    items: Optional[List[List[Any]]]
    #: ``cvar``, ``pvar``, ``event``, ``enumeration`` or ``category``.
    kind: str
    name: str
    #: What a tool must have to read it: the kind of object to bind it to, ``MPI_Init``, or to be inside of the
    #: process.
    needs: Optional[str]
    #: Why it could not be read.
    problem: Optional[str]
    pvars: Optional[List[int]]
    scope: Optional[str]
    type: Optional[str]
    #: The values that are held.
    values: Optional[Rows[VarsHeld]]
    verbosity: Optional[str]


class VarsObject(Record):
    """What a variable is bound to."""

    #: Its handle.
    handle: str
    #: The same on all processes that share the object; zero if it is this process's own.
    identity: Optional[str]
    #: Its kind.
    kind: str
    #: The standard's name of a predefined object, else the one that the program gave; of a file its path.
    name: Optional[str]
    #: Whether it is predefined.
    predefined: Optional[bool]
    #: Processes in the (local) group of a communicator.
    size: Optional[int]
    #: Its uid; zero if it has no record.
    uid: int


class Why(Record):
    """What ``--json`` prints."""

    #: What else is wrong, each of it by itself: to mend what the verdict is about does not help there.
    also: Rows[WhyProblem]
    #: Where to look: the ranks that hold up the others.
    culprits: Rows[WhyCulprit]
    #: Ranks that wait for each other, each for the next and the last for the first; empty if there is no such ring.
    cycle: List[str]
    #: What was seen, ranks that do the same in one entry.
    evidence: Rows[WhyEvidence]
    #: What kind of answer it is.
    kind: str
    #: Seconds between the two looks; 0 if there was only one to be had.
    looked_s: float
    #: What to try next.
    next: str
    #: What could not be seen, and so is not part of the verdict, for people.
    not_seen: List[str]
    #: A host, a process or a file of the job could not be read; ``not_seen`` says which. Something may be wrong
    #: there.
    partial: bool
    #: Something is wrong and will not mend itself.
    problem: bool
    #: Name and version of this form: fields may be added to it, none changes its meaning.
    schema: str
    stacks: Optional[WhyStacks]
    #: Ranks that nobody can release.
    stuck: str
    #: Ranks that could not be seen.
    unseen: str
    #: The answer in one sentence.
    verdict: str


class WhyCulprit(Record):
    """Ranks that hold up others."""

    #: Line of the user's code, if known.
    place: Optional[str]
    #: Who.
    ranks: str
    #: What they do, for people.
    what: str


class WhyEvidence(Record):
    """Ranks that do the same."""

    #: The function that they are in.
    function: Optional[str]
    #: Line of the user's code.
    place: Optional[str]
    #: Who.
    ranks: str
    #: For how long, in seconds: the least and the greatest.
    since_s: Optional[List[float]]
    #: Nobody can release them.
    stuck: bool
    #: What they do, in one line.
    what: str


class WhyNode(Record):
    """A frame that several threads have in common."""

    #: What it has called.
    calls: Optional[Rows[WhyNode]]
    #: ``function at file:line``; at the end what the threads do there.
    frame: str
    #: Whose.
    ranks: str


class WhyProblem(Record):
    """Something that is wrong beside what the verdict is about."""

    #: Where to look.
    culprits: Rows[WhyCulprit]
    #: Ranks that wait for each other; empty if there is no such ring.
    cycle: List[str]
    #: What kind of problem it is.
    kind: str
    #: What to try.
    next: str
    #: What is wrong, in one sentence.
    verdict: str


class WhyStacks(Record):
    """The stacks of a job."""

    #: Why some of it is not known, for people, each once.
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
ReportWaits._classes = {"causes": ReportCause, "estimated": ReportEstimated, "list": ReportLost, "sampled": ReportSampled}
ReportWindows._classes = {"growing": ReportGrowth, "iterations": ReportIterations, "list": ReportWindow, "rows": ReportWindow}
Vars._classes = {"items": VarsItem}
VarsHeld._classes = {"object": VarsObject}
VarsItem._classes = {"values": VarsHeld}
Why._classes = {"also": WhyProblem, "culprits": WhyCulprit, "evidence": WhyEvidence, "stacks": WhyStacks}
WhyNode._classes = {"calls": WhyNode}
WhyProblem._classes = {"culprits": WhyCulprit}
WhyStacks._classes = {"tree": WhyNode}
