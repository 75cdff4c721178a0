"""Runs mpi4py's own tests and writes each one's verdict to a file of this rank.

    mpi4py_verdicts.py TESTS/main.py [argument of main.py ...]

The ranks' standard error is one stream in which lines are mixed, so it is not read. A test that has begun and has no
verdict shows where the process ended or hung.
"""

import os
import runpy
import sys
import unittest


def main():
    program = sys.argv[1]
    lines = open(os.path.join(os.environ["MPISCOPE_TEST_TMP"], f"verdicts.{os.getpid()}"), "w", buffering=1)

    def note(name, verdict):
        original = getattr(unittest.TestResult, name)

        def noted(self, test, *more):
            # A part of a test is noted when it fails: `more` is then the part and the error.
            if name != "addSubTest":
                lines.write(f"{test.id()} {verdict}\n")
            elif more[-1] is not None:
                lines.write(f"{more[0].id()} {verdict}\n")
            return original(self, test, *more)

        setattr(unittest.TestResult, name, noted)

    note("startTest", "began")
    note("addSuccess", "ok")
    note("addError", "error")
    note("addFailure", "failed")
    note("addSubTest", "failed")
    note("addSkip", "skipped")
    note("addExpectedFailure", "failed as expected")
    note("addUnexpectedSuccess", "unexpectedly ok")
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(program)

    from mpi4py import MPI

    lines.write(f"rank {MPI.COMM_WORLD.Get_rank()}\n")
    runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    main()
