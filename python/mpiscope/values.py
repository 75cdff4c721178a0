"""What the command answers, as objects.

Every class here is a `Record`: the fields of the JSON object are its attributes. Those that are declared are always there;
a later version of the command may add others, which are attributes too.
"""

import json
from typing import Any, Dict, Generic, Iterable, Iterator, List, Optional, Type, TypeVar

from ._frames import pandas

T = TypeVar("T", bound="Record")


def rank_numbers(text: Optional[str]) -> List[int]:
    """The ranks that a set of ranks names.

    >>> rank_numbers("[0,2-4]")
    [0, 2, 3, 4]
    >>> rank_numbers("7"), rank_numbers("1.[0-1]"), rank_numbers("")
    ([7], [0, 1], [])
    """
    numbers: List[int] = []
    inner = (text or "").rpartition(".")[2].strip("[]")
    for part in filter(None, inner.split(",")):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


class Record:
    """An object of an answer.

    >>> Record({"rank": 3, "call": {"function": "MPI_Recv"}}).call.function
    'MPI_Recv'
    """

    #: Classes of fields that are objects or lists of objects.
    _classes: Dict[str, Type["Record"]] = {}

    def __init__(self, fields: Dict[str, Any]):
        self._fields = fields

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_fields":
            raise AttributeError(name)
        try:
            value = self._fields[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; it has {sorted(self._fields)}") from None
        return _wrapped(value, self._classes.get(name, Record))

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *self._fields]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and other._fields == self._fields

    def __hash__(self) -> int:
        return hash(repr(self._fields))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._fields!r})"

    def to_dict(self) -> Dict[str, Any]:
        """The object as the command printed it.

        >>> Record({"rank": 3}).to_dict()
        {'rank': 3}
        """
        return self._fields


def _wrapped(value: Any, kind: Type[Record]) -> Any:
    if isinstance(value, dict):
        return kind(value)
    if isinstance(value, list):
        return Rows(_wrapped(one, kind) for one in value)
    return value


class Rows(List[T], Generic[T]):
    """A list of records.

    >>> Rows([Record({"rank": 0}), Record({"rank": 1})]).to_dicts()
    [{'rank': 0}, {'rank': 1}]
    """

    def to_dicts(self) -> List[Dict[str, Any]]:
        """All of them as the command printed them."""
        return [one.to_dict() for one in self]

    def to_pandas(self) -> Any:
        """A data frame, a row for each; fields within fields are columns ``outer.inner``. Needs pandas."""
        return pandas().json_normalize(self.to_dicts())


class ThreadStatus(Record):
    """What a thread is doing."""

    thread: int
    tid: int
    main: bool
    #: The call that it is in, or made last.
    call: Optional[Record]
    #: Seconds since the call began or, outside of MPI, ended.
    age_s: Optional[float]


class RankStatus(Record):
    """What a rank is doing."""

    rank: Optional[int]
    size: Optional[int]
    host: str
    pid: int
    state: str
    alive: bool
    #: It is gone, or has aborted.
    problem: bool
    activity: str
    threads: "Rows[ThreadStatus]"
    _classes = {"threads": ThreadStatus}

    @property
    def main_thread(self) -> Optional[ThreadStatus]:
        """The thread that initialised MPI, if one did."""
        mains = [one for one in self.threads if one.main]
        return mains[0] if mains else None


class Status(Record):
    """What all ranks are doing (``mpiscope ps``)."""

    job: str
    #: Processes that have not called MPI.
    silent: int
    ranks: "Rows[RankStatus]"
    #: What could not be read.
    errors: List[str]
    _classes = {"ranks": RankStatus}

    def __iter__(self) -> Iterator[RankStatus]:
        return iter(self.ranks)

    def __len__(self) -> int:
        return len(self.ranks)

    def to_pandas(self) -> Any:
        """A data frame, a row for each thread of each rank."""
        shared = ["rank", "host", "pid", "state", "activity", "problem"]
        rows = pandas().json_normalize(self.ranks.to_dicts(), record_path="threads", meta=shared, errors="ignore")
        return rows


class Verdict(Record):
    """Why nothing happens (``mpiscope why``)."""

    #: The sentence.
    verdict: str
    #: A stable word, such as ``deadlock``.
    kind: str
    problem: bool
    #: The ranks that cannot go on, as a set.
    stuck: str
    culprits: "Rows[Record]"
    evidence: "Rows[Record]"
    #: What to try.
    next: str

    @property
    def stuck_ranks(self) -> List[int]:
        """The ranks that cannot go on."""
        return rank_numbers(self.stuck)


class Queues(Record):
    """Messages on their way and receives that wait (``mpiscope queues``)."""

    communicators: "Rows[Record]"
    not_seen: List[str]

    def entries(self) -> "Rows[Record]":
        """All entries, each with its communicator."""
        rows = [
            Record({"communicator": one.communicator, **entry.to_dict()})
            for one in self.communicators
            for entry in one.entries
        ]
        return Rows(rows)


class Trace(Record):
    """Calls and messages one by one (``mpiscope trace``), with times in nanoseconds since the first call.

    >>> lines = ['{"event": "trace", "gone": 0}', '{"event": "call", "function": "MPI_Send", "begin_ns": 1, "end_ns": 3}']
    >>> Trace.of_lines(lines).calls[0].function
    'MPI_Send'
    """

    #: When the first call began, in nanoseconds since 1970.
    start_unix_ns: int
    #: Older calls that are no longer known.
    gone: int
    threads: "Rows[Record]"
    calls: "Rows[Record]"
    messages: "Rows[Record]"

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> "Trace":
        """From the lines of ``mpiscope trace --format jsonl``."""
        fields: Dict[str, Any] = {}
        kinds: Dict[str, List[Any]] = {"thread": [], "call": [], "message": []}
        for line in filter(str.strip, lines):
            one = json.loads(line)
            event = one.pop("event")
            if event == "trace":
                fields = one
            else:
                kinds.setdefault(event, []).append(one)
        return cls({**fields, **{event + "s": rows for event, rows in kinds.items()}})

    def to_pandas(self) -> Any:
        """A data frame with a row for each call, and its duration in ``seconds``; `messages` and `threads` have frames of their own."""
        frame = pandas().DataFrame(self.to_dict()["calls"])
        if len(frame):
            frame["seconds"] = (frame["end_ns"] - frame["begin_ns"]) / 1e9
        return frame


class Inspection(Record):
    """MPI objects (``mpiscope inspect``)."""

    job: str
    ranks: "Rows[Record]"

    def objects(self) -> "Rows[Record]":
        """All objects, each with the rank that has it (as ``of_rank``)."""
        found = [
            Record({"of_rank": rank.rank, **one.to_dict()}) for rank in self.ranks for one in rank.objects
        ]
        return Rows(found)


class Variables(Record):
    """Variables of the MPI tool information interface (``mpiscope vars``)."""

    job: Optional[str]
    items: "Rows[Record]"

    def __getitem__(self, name: str) -> Record:
        for item in self.items:
            if item.name == name:
                return item
        raise KeyError(name)


class ProcessList(Record):
    """Processes of a job and of those that it is connected with (``mpiscope procs``)."""

    processes: "Rows[Record]"
    problems: List[str]


class Report(Record):
    """What a job did (``report.json`` of ``mpiscope run --out``)."""

    command: str
    library: str
    size: Optional[int]
    wall_s: float
    mpi_share: Optional[float]
    load_balance: Optional[float]
    communication_efficiency: Optional[float]
    parallel_efficiency: Optional[float]
    bytes: int
    lost: int
    ranks: "Rows[Record]"
    #: All ranks together, a record for each function.
    functions: "Rows[Record]"
    findings: "Rows[Record]"

    def calls_by_rank(self) -> "Rows[Record]":
        """Calls, time and bytes: a record for each function of each rank.

        >>> report = Report({"ranks": [{"rank": 1, "calls": {"MPI_Send": {"count": 2, "time_s": 0.5, "bytes": 8}}}]})
        >>> report.calls_by_rank().to_dicts()
        [{'rank': 1, 'function': 'MPI_Send', 'count': 2, 'time_s': 0.5, 'bytes': 8}]
        """
        rows = [
            Record({"rank": rank.rank, "function": function, **numbers})
            for rank in self.ranks
            for function, numbers in rank.to_dict()["calls"].items()
        ]
        return Rows(rows)
