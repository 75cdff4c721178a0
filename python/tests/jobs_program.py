"""`jobs_program.py RING LAUNCHER…`: tests all views of a hanging job with four ranks, running and saved."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mpiscope

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/python/look_at_jobs.py"


def until(what, condition):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"timed out after a minute: {what}")


def hangs(process):
    """Returns the job once all four ranks wait in a receive."""
    assert process.poll() is None, "the job has ended"
    # The name begins with the id of the starting process; other jobs may run here too.
    for job in mpiscope.jobs():
        if not job.name.split(":")[-1].startswith(f"{process.pid}-"):
            continue
        ranks = [one for one in job.ps(here=True) if one.main_thread and "call" in one.main_thread]
        waiting = [one for one in ranks if one.main_thread.call and one.main_thread.call.function == "MPI_Recv"]
        if len(waiting) == 4 and all(one.main_thread.age_s > 0.2 for one in waiting):
            return job
    return None


def ask(job):
    status = job.ps()
    assert [one.rank for one in status] == [0, 1, 2, 3] and len(status) == 4, status
    assert status.ranks[2].main_thread.call.peer.rank == 1
    verdict = job.why(0.2)
    assert verdict.kind == "deadlock" and verdict.problem and verdict.stuck_ranks == [0, 1, 2, 3], verdict
    posted = job.queues().entries()
    assert sorted(one.to for one in posted) == ["0", "1", "2", "3"], posted
    assert {one.state for one in posted} == {"posted"} and posted[0].communicator == "MPI_COMM_WORLD"
    world = job.inspect(handle="MPI_COMM_WORLD").objects()
    assert len(world) == 4 and list(world[0].members) == [0, 1, 2, 3], world
    assert job.inspect(kind="comm", rank="0-1").ranks[1].rank == 1
    assert job.vars()["mpiscope_record_calls"].kind == "cvar"
    return verdict


def frames(job):
    try:
        import pandas  # noqa: F401
    except ImportError:
        try:
            job.ps().to_pandas()
        except ImportError as missing:
            assert "pip install" in str(missing), missing
        print("data frames not tested: pandas is not installed")
        return
    frame = job.ps().to_pandas()
    assert list(frame["rank"]) == [0, 1, 2, 3] and set(frame["call.function"]) == {"MPI_Recv"}
    assert len(job.queues().entries().to_pandas()) == 4


def example(job):
    """Tests the output of the example program."""
    words = [sys.executable, str(EXAMPLE), str(job.name)]
    text = subprocess.run(words, stdout=subprocess.PIPE, universal_newlines=True, check=True).stdout
    assert "4 ranks" in text and "MPI_Recv (rank 3) at ring.c" in text and "deadlock: " in text, text
    assert "posted: 3 -> 0 on MPI_COMM_WORLD" in text, text
    assert "MPI_Recv: 0 calls completed, 4 in progress" in text, text


def end_of(ranks):
    """Ends the ranks, since not every launcher does."""
    for pid in ranks:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def fails(text, action):
    """The action fails, and the message contains the text."""
    try:
        action()
    except mpiscope.Error as error:
        assert error.status == 2 and text in str(error), error
    else:
        raise AssertionError(f"did not fail: {text}")


def main():
    ring, *launcher = sys.argv[1:]
    assert mpiscope.version().startswith("mpiscope ")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        words = [mpiscope.command(), "run", "--quiet", "--out", str(out), *launcher, ring]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                job = until("all ranks wait", lambda: hangs(process))
                running = ask(job)
                example(job)
                frames(job)
                assert len(job.procs().processes) >= 4
                so_far = job.report()
                assert (so_far.size, len(so_far.ranks)) == (4, 4) and so_far.command.endswith(ring), so_far
                saved = job.save(Path(folder) / "job.mpiscope", seconds=0.2)
                ranks = [one.pid for one in job.ps(here=True)]
            finally:
                process.send_signal(signal.SIGTERM)
        end_of(ranks)
        kept = ask(saved)
        example(saved)
        assert kept.verdict == running.verdict, (kept, running)
        assert saved.report().size == 4
        report = mpiscope.Job(out).report()
        assert (report.size, len(report.ranks)) == (4, 4) and report.command.endswith(ring), report
        assert any(one.rank == 3 and one.function == "MPI_Init" for one in report.calls_by_rank())
        fails("no object has the handle or name nosuch", lambda: saved.inspect(handle="nosuch"))
        for text in ["not JSON", "[]", '{"schema": "mpiscope.why/1"}']:
            other = Path(folder) / "other.json"
            other.write_text(text)
            fails("not a report", lambda: mpiscope.open_report(other))
    fails("no-such-job", lambda: mpiscope.job("no-such-job").ps())
    print("jobs: passed")


main()
