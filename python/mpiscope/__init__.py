"""See inside any MPI job, from Python.

Provides the output of the command ``mpiscope`` as objects::

    import mpiscope

    for job in mpiscope.jobs():
        print(job.name, job.why().verdict)

    job = mpiscope.job()              # the only job of this user on this host
    job.ps().to_pandas()              # what every rank is doing, if pandas is installed
    saved = job.save("job.mpiscope")  # a file answers the same questions
    mpiscope.job("job.mpiscope").inspect(kind="comm")

`mpiscope.mpit` is the MPI tool information interface (MPI_T) of the process itself.
"""

from ._command import Error, command, version
from ._record import Record, Rows
from .jobs import Job, job, jobs, open_report, run, trace
from .values import (
    Inspection,
    ProcessList,
    Queues,
    RankStatus,
    Report,
    Status,
    ThreadStatus,
    Trace,
    Variables,
    Verdict,
    rank_numbers,
)

__all__ = [
    "Error",
    "Inspection",
    "Job",
    "ProcessList",
    "Queues",
    "RankStatus",
    "Record",
    "Report",
    "Rows",
    "Status",
    "ThreadStatus",
    "Trace",
    "Variables",
    "Verdict",
    "command",
    "job",
    "jobs",
    "open_report",
    "rank_numbers",
    "run",
    "trace",
    "version",
]
