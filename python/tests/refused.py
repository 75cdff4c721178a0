"""Tests that impossible requests raise errors, and that strings are preserved. Needs no job and no MPI library."""

import ctypes
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import mpiscope
from mpiscope import mpit
from mpiscope.mpit import _library


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


def messages_are_not_wrapped():
    try:
        mpiscope.job("no-such-job").ps()
    except mpiscope.Error as error:
        assert "\n" not in str(error), error


def a_command_that_cannot_be_started():
    before = os.environ.get("MPISCOPE")
    os.environ["MPISCOPE"] = "/no/such/mpiscope"
    refused(lambda: mpiscope.job("any").ps(), "/no/such/mpiscope cannot be started: No such file or directory")
    del os.environ["MPISCOPE"]
    os.environ.update({} if before is None else {"MPISCOPE": before})


def programs_that_are_none():
    refused(lambda: mpiscope.run("ls"), "a list of words", TypeError)
    refused(lambda: mpiscope.run([]), "a list of words", TypeError)
    refused(lambda: mpiscope.run(["--help"]), "status 2")
    with tempfile.TemporaryDirectory() as folder:
        # The directory may contain the report of an earlier run.
        old = Path(folder) / "report.json"
        old.write_text('{"command": "old"}')
        refused(lambda: mpiscope.run(["/no/such/program"], out=folder), "status 127")
        assert mpiscope.run(["true"], out=folder).command == "true"


def names_of_several_variables():
    known = [("time", "TIMER"), ("queue", "LEVEL"), ("queue", "HIGHWATERMARK")]
    table = mpit.Table(
        lambda: len(known), lambda at: SimpleNamespace(name=known[at][0], var_class=known[at][1], index=at)
    )
    for _ in range(2):  # the second time, from the cache
        assert table["time"].index == 0 and table["queue", "HIGHWATERMARK"].index == 2
        refused(lambda: table["queue"], "is ambiguous (LEVEL, HIGHWATERMARK)", KeyError)
        refused(lambda: table["queue", "TIMER"], "queue", KeyError)
    assert "queue" in table and ("queue", "LEVEL") in table and ("queue", "SIZE") not in table
    known.append(("time", "COUNTER"))
    refused(lambda: table["time"], "is ambiguous (TIMER, COUNTER)", KeyError)


def texts_that_are_not_utf_8():
    text = _library._text(ctypes.create_string_buffer(b"caf\xe9"))
    assert text.encode("utf-8", "surrogateescape") == b"caf\xe9", text


names_of_several_variables()
texts_that_are_not_utf_8()
names_of_no_job()
messages_are_not_wrapped()
a_command_that_cannot_be_started()
programs_that_are_none()
print("refusals: passed")
