"""Shows all jobs of this user on this host, or the given jobs and files: `python look_at_jobs.py [JOB|FILE]...`"""

from __future__ import annotations

import sys
from collections import Counter

import mpiscope


def show(job: mpiscope.Job) -> None:
    status = job.ps()
    print(f"{job.name}: {len(status)} ranks")
    for rank in status:
        thread = rank.main_thread
        if thread is None or thread.call is None:
            print(f"  rank {rank.rank} on {rank.host}: {rank.activity}")
        else:
            peer = "" if thread.call.peer is None else f" (rank {thread.call.peer.rank})"
            print(f"  rank {rank.rank} on {rank.host}: {rank.activity}, {thread.call.function}{peer} at {thread.call.place}")
    verdict = job.why(seconds=0.5)
    print(f"  {verdict.verdict}")
    for message in job.queues().entries():
        print(f"  {message.state}: {message.from_} -> {message.to} on {message.communicator}, tag {message.tag}")
    made = Counter(one.kind for one in job.inspect(kind="comm").objects())
    print(f"  {made['comm']} communicators in all ranks")
    report = job.report()
    print(f"  after {report.wall_s:.1f} s: {report.mpi_share or 0:.0%} in MPI, {report.bytes} bytes moved")
    for one in report.functions[:3]:
        open_calls = f", {one.open} in progress" if one.open else ""
        print(f"  {one.name}: {one.total.count} calls completed{open_calls}")


def main() -> None:
    jobs = [mpiscope.job(name) for name in sys.argv[1:]] or mpiscope.jobs()
    for job in jobs:
        show(job)
    if not jobs:
        print("no job runs under mpiscope")


if __name__ == "__main__":
    main()
