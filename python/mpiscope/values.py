"""The answers of the command, as objects.

Every class here is a `Record`: the fields of the JSON object are its attributes. Their types are in `mpiscope._answers`, which is
generated from the JSON schemas. A later version of the command may add fields, which are attributes as well.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, Iterator, List, Optional

from . import _answers
from ._frames import pandas
from ._record import Record, Rows

# Subclasses redeclare lists with subclasses as elements. Nobody writes to these lists, so this is safe.
# mypy: disable-error-code="assignment"


def rank_numbers(text: Optional[str]) -> List[int]:
    """The ranks in a set of ranks, each as its number in its world.

    >>> rank_numbers("[0,2-4]")
    [0, 2, 3, 4]
    >>> rank_numbers("7"), rank_numbers("1.[0-1]"), rank_numbers(""), rank_numbers("0, 1.[0-1]")
    ([7], [0, 1], [], [0, 0, 1])
    """
    numbers: List[int] = []
    for world in (text or "").split(", "):
        inner = world.rpartition(".")[2].strip("[]")
        for part in filter(None, inner.split(",")):
            first, _, last = part.partition("-")
            numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


class ThreadStatus(_answers.PsThreadStatus):
    """What a thread is doing."""


class RankStatus(_answers.PsRankStatus):
    """What a rank is doing."""

    threads: Rows[ThreadStatus]
    _classes = {**_answers.PsRankStatus._classes, "threads": ThreadStatus}

    @property
    def main_thread(self) -> Optional[ThreadStatus]:
        """The main thread: the one that initialized MPI, otherwise the first that called it; None if no thread has."""
        mains = [one for one in self.threads if one.main]
        return mains[0] if mains else None


class Status(_answers.Ps):
    """What all ranks are doing (``mpiscope ps``)."""

    ranks: Rows[RankStatus]
    _classes = {**_answers.Ps._classes, "ranks": RankStatus}

    def __iter__(self) -> Iterator[RankStatus]:
        return iter(self.ranks)

    def __len__(self) -> int:
        return len(self.ranks)

    def to_pandas(self) -> Any:
        """A data frame with one row per thread of each rank."""
        shared = ["rank", "host", "pid", "state", "activity", "problem"]
        rows = pandas().json_normalize(self.ranks.to_dicts(), record_path="threads", meta=shared, errors="ignore")
        return rows


class Verdict(_answers.Why):
    """Why nothing happens (``mpiscope why``): ``verdict`` is the sentence, ``kind`` a stable word for it.

    >>> print(Verdict({"verdict": "deadlock: 0 -> 1 -> 0", "kind": "deadlock", "stuck": "[0-1]"}))
    deadlock: 0 -> 1 -> 0
    """

    def __str__(self) -> str:
        return self.verdict

    @property
    def stuck_ranks(self) -> List[int]:
        """The ranks that can never continue."""
        return rank_numbers(self.stuck)


class QueueEntry(_answers.QueuesEntry):
    """A message in flight, or a posted receive."""

    communicator: str


class Queues(_answers.Queues):
    """Messages in flight and posted receives (``mpiscope queues``)."""

    def entries(self) -> Rows[QueueEntry]:
        """All entries, each with its communicator."""
        rows = [
            QueueEntry({"communicator": one.communicator, **entry.to_dict()})
            for one in self.communicators
            for entry in one.entries
        ]
        return Rows(rows)


class Trace(Record):
    """Individual calls and messages (``mpiscope trace``), with times in nanoseconds since the first call.

    >>> lines = ['{"event": "trace", "gone": 0}', '{"event": "call", "function": "MPI_Send", "begin_ns": 1, "end_ns": 3}']
    >>> Trace.of_lines(lines).calls[0].function
    'MPI_Send'
    """

    #: The beginning of the first call, in nanoseconds since 1970.
    start_unix_ns: int
    #: Number of older calls that are no longer recorded.
    gone: int
    threads: Rows[_answers.TraceThread]
    calls: Rows[_answers.TraceCallLine]
    messages: Rows[_answers.TraceMessageLine]
    _classes = {
        "threads": _answers.TraceThread,
        "calls": _answers.TraceCallLine,
        "messages": _answers.TraceMessageLine,
    }

    @classmethod
    def of_lines(cls, lines: Iterable[str]) -> "Trace":
        """A trace from the lines of ``mpiscope trace --format jsonl``."""
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
        """A data frame with one row per call, and its duration in ``seconds``. `messages` and `threads` have a ``to_pandas`` too."""
        frame = pandas().DataFrame(self.to_dict()["calls"])
        if len(frame):
            frame["seconds"] = (frame["end_ns"] - frame["begin_ns"]) / 1e9
        return frame


class InspectedObject(_answers.InspectOne):
    """An MPI object of a rank. Its fields depend on its kind; the others are None."""

    of_rank: Optional[int]
    _classes = _answers.InspectOne._classes


class Inspection(_answers.Inspect):
    """MPI objects (``mpiscope inspect``)."""

    def objects(self) -> Rows[InspectedObject]:
        """All objects, each with its rank in ``of_rank``."""
        found = [
            InspectedObject({"of_rank": rank.rank, **one.to_dict()})
            for rank in self.ranks
            for one in rank.objects
        ]
        return Rows(found)


class Variables(_answers.Vars):
    """Variables of the MPI tool information interface (``mpiscope vars``)."""

    def variable(self, name: str) -> _answers.VarsItem:
        """The variable with this name."""
        for item in self.items:
            if item.name == name:
                return item
        raise KeyError(name)

    def __getitem__(self, name: str) -> Any:
        """The field or the variable with this name."""
        return super().__getitem__(name) if name in self else self.variable(name)


class ProcessList(_answers.Procs):
    """The processes of a job and of the jobs that it is connected with (``mpiscope procs``)."""


class Calls(_answers.ReportCalls):
    """The calls of a function by a rank."""

    rank: Optional[int]
    function: str


class Report(_answers.Report):
    """What a job did (``report.json`` of ``mpiscope run --out``)."""

    #: The exit status of the command that `mpiscope.run` ran; otherwise None.
    status: Optional[int]

    def calls_by_rank(self) -> Rows[Calls]:
        """Calls, time and bytes: one record per function of each rank.

        >>> report = Report({"ranks": [{"rank": 1, "calls": {"MPI_Send": {"count": 2, "time_s": 0.5, "bytes": 8}}}]})
        >>> report.calls_by_rank().to_dicts()
        [{'rank': 1, 'function': 'MPI_Send', 'count': 2, 'time_s': 0.5, 'bytes': 8}]
        """
        rows = [
            Calls({"rank": rank.rank, "function": function, **numbers.to_dict()})
            for rank in self.ranks
            for function, numbers in rank.calls.items()
        ]
        return Rows(rows)
