"""Running jobs, and jobs saved in files."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from ._command import COULD_NOT_READ, Error, ask, command, tell
from ._record import Rows
from .values import Inspection, ProcessList, Queues, Report, Status, Trace, Variables, Verdict

PathLike = Union[str, "os.PathLike[str]"]

_NO_JOB = "no job of this user runs under mpiscope"


class Job:
    """A job, given its name, the process id of one of its ranks, or a file: an evidence file, a saved image or a core file."""

    def __init__(self, name: Union[PathLike, int]):
        #: The name or path that is passed to the command.
        self.name = str(name) if isinstance(name, int) else os.fspath(name)

    def __repr__(self) -> str:
        return f"Job({self.name!r})"

    def to_dict(self) -> Dict[str, Any]:
        """The name of the job, for `Rows.to_dicts`."""
        return {"job": self.name}

    def ps(self, here: bool = False) -> Status:
        """What every rank is doing; with ``here``, only on this host."""
        return Status(ask("ps", _flag("--here", here), [self.name]))

    def why(self, seconds: float = 1.0) -> Verdict:
        """Why nothing happens, from two snapshots that are ``seconds`` apart."""
        return Verdict(ask("why", ["--for", str(seconds)], [self.name]))

    def queues(self) -> Queues:
        """Messages that were sent and not received, and posted receives."""
        return Queues(ask("queues", ["--all"], [self.name]))

    def inspect(
        self,
        kind: Optional[str] = None,
        handle: Optional[str] = None,
        rank: Union[int, str, None] = None,
        freed: bool = False,
        leaks: bool = False,
    ) -> Inspection:
        """MPI objects of all ranks or of some (``3``, ``"0,2-4"``): their number, the objects of a kind (``comm``, ``datatype``,
        …), or the one with this handle or name. With ``freed`` also objects that were freed, with ``leaks`` only those that
        were not."""
        options = [*_flag("--freed", freed), *_flag("--leaks", leaks)]
        for option, value in (("--kind", kind), ("--handle", handle), ("--rank", rank)):
            options += [] if value is None else [f"{option}={value}"]
        return Inspection(ask("inspect", options, [self.name]))

    def vars(self) -> Variables:
        """Variables of the MPI tool information interface."""
        return Variables(ask("vars", names=[self.name]))

    def procs(self) -> ProcessList:
        """All processes of a running job, and of the jobs that it is connected with."""
        pids = [str(one.pid) for one in self.ps(here=True).ranks]
        return ProcessList(ask("procs", names=pids))

    def save(self, file: PathLike, seconds: float = 1.0) -> "Job":
        """Saves everything known about a running job in a file, and returns the job in that file."""
        tell("save", ["--for", str(seconds)], [self.name, os.fspath(file)])
        return Job(Path(file).absolute())

    def report(self) -> Report:
        """Where the time went: in a running job so far, or in the run that a directory of ``mpiscope run --out`` or a file
        describes."""
        return Report(ask("report", names=[self.name]))

    def trace(self) -> Trace:
        """The individual calls and messages of a job that was started with ``mpiscope run --trace``."""
        return Trace.of_lines(tell("trace", ["--format", "jsonl"], [self.name]).splitlines())


def _flag(name: str, wanted: bool) -> List[str]:
    return [name] if wanted else []


def jobs() -> "Rows[Job]":
    """All jobs of this user that run under mpiscope on this host; for root, those of all users."""
    try:
        answer = ask("ps", ["--here"])
    except Error as error:
        if _NO_JOB in " ".join(str(error).split()):
            return Rows()
        raise
    if "jobs" not in answer:
        return Rows([Job(answer["job"])])
    users = {one["user"] for one in answer["jobs"]}
    name = "{user}:{job}" if len(users) > 1 else "{job}"
    return Rows(Job(name.format(**one)) for one in answer["jobs"])


def job(name: Union[PathLike, int, None] = None) -> Job:
    """The job with this name, process id or file; without a name, the only running job."""
    if name is not None:
        return Job(name)
    found = jobs()
    if len(found) != 1:
        names = ", ".join(one.name for one in found) or "none"
        raise Error(f"expected exactly one running job, found: {names}", COULD_NOT_READ)
    return found[0]


def open_report(file: PathLike) -> Report:
    """The report in a file, or in a directory with a ``report.json``."""
    path = Path(file)
    path = path / "report.json" if path.is_dir() else path
    try:
        with open(path, encoding="utf-8") as text:
            fields = json.load(text)
    except ValueError as why:
        raise Error(f"{path}: not a report: {why}", COULD_NOT_READ) from why
    if not isinstance(fields, dict) or not str(fields.get("schema")).startswith("mpiscope.report/"):
        raise Error(f"{path}: not a report", COULD_NOT_READ)
    return Report(fields)


def trace(source: PathLike) -> Trace:
    """The individual calls and messages of a job (as in `job`), of a directory of ``mpiscope run --trace --out``, or in a file
    ``*.jsonl`` written by ``mpiscope trace --format jsonl``."""
    name = os.fspath(source)
    if not name.endswith(".jsonl"):
        return Job(name).trace()
    with open(name, encoding="utf-8") as lines:
        return Trace.of_lines(lines)


def run(program: Sequence[PathLike], options: Sequence[str] = (), out: Optional[PathLike] = None) -> Report:
    """Runs a job to its end (``["mpirun", "-n", "4", "./app"]``) and returns the report; `Report.status` is the job's exit
    status. With ``out``, the report and the evidence are kept in that directory."""
    if isinstance(program, (str, bytes)) or not program:
        raise TypeError('a program is a list of words, such as ["mpirun", "-n", "4", "./app"]')
    with tempfile.TemporaryDirectory() as folder:
        kept = os.fspath(out) if out is not None else folder
        file = Path(kept) / "report.json"
        before = _identity(file)
        words = [command(), "run", "--quiet", "--out", kept, *options, "--", *[os.fspath(word) for word in program]]
        status = subprocess.call(words)
        report = open_report(kept) if _identity(file) not in (None, before) else None
    if report is None:
        raise Error(f"no rank ran under the layer; the program ended with status {status}", status)
    report._fields["status"] = status
    return report


def _identity(file: Path) -> Optional[Tuple[int, int]]:
    """The identity of the file, or None if it does not exist. A new report replaces the file, so its identity differs."""
    try:
        about = file.stat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns
