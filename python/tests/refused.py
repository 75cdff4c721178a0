"""What cannot be answered is an error that says so. Needs no job and no MPI library."""

import tempfile
from pathlib import Path

import mpiscope


def refused(question, part, kind=mpiscope.Error):
    try:
        answer = question()
    except kind as error:
        assert part in " ".join(str(error).split()), error
    else:
        raise AssertionError(f"{part}: answered with {answer}")


def names_of_no_job():
    for name in ("no-such-job", "--help", "-h", "--json"):
        refused(lambda: mpiscope.job(name).ps(), f"{name}: no such job, process or file")  # noqa: B023
    refused(lambda: mpiscope.job(4194305).why(), "no process 4194305")
    refused(lambda: mpiscope.job(__file__).report(), "this is not an image of mpiscope")
    refused(lambda: mpiscope.job(__file__).inspect(kind="--help"), "no such kind")
    refused(lambda: mpiscope.job(__file__).inspect(handle="-1"), "this is not an image of mpiscope")
    refused(lambda: mpiscope.job(__file__).save("/no/such/folder/file"), "not a running job")


def programs_that_are_none():
    refused(lambda: mpiscope.run("ls"), "a list of words", TypeError)
    refused(lambda: mpiscope.run([]), "a list of words", TypeError)
    refused(lambda: mpiscope.run(["--help"]), "status 2")
    with tempfile.TemporaryDirectory() as folder:
        # A directory may have the report of a run before.
        old = Path(folder) / "report.json"
        old.write_text('{"command": "old"}')
        refused(lambda: mpiscope.run(["/no/such/program"], out=folder), "status 127")
        assert mpiscope.run(["true"], out=folder).command == "true"


names_of_no_job()
programs_that_are_none()
print("refusals: passed")
