"""Finding and running the command."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any, List, Sequence

COULD_NOT_READ = 2


class Error(Exception):
    """The command's message on standard error when it could not read anything."""

    def __init__(self, message: str, status: int):
        super().__init__(message)
        self.status = status


def command() -> str:
    """The path of the command: the value of the environment variable ``MPISCOPE``, otherwise the command installed with
    this module, otherwise the first in ``PATH``."""
    named = os.environ.get("MPISCOPE")
    if named:
        return named
    for folder in _folders():
        path = folder / "mpiscope"
        if os.access(path, os.X_OK) and path.is_file():
            return str(path)
    found = shutil.which("mpiscope")
    if found is None:
        raise Error("mpiscope not found in PATH; set MPISCOPE to its path", COULD_NOT_READ)
    return found


def _folders() -> List[Path]:
    """The directories in which pip installs commands: of an environment, of a user, of ``pip install --target``."""
    module = Path(__file__).resolve().parent
    folders = [Path(sysconfig.get_path("scripts")), Path(sys.prefix) / "bin", module.parent / "bin"]
    if module.parts[-4:-2] != () and len(module.parents) > 3:
        folders.append(module.parents[3] / "bin")
    return folders


def version() -> str:
    """The first line of ``mpiscope --version``.

    >>> version().split()[0]
    'mpiscope'
    """
    return _run(["--version"]).stdout.splitlines()[0]


def ask(verb: str, options: Sequence[str] = (), names: Sequence[str] = ()) -> Any:
    """The JSON that a verb prints; names that look like options are passed as names."""
    answer = _run([verb, "--json", *options, "--", *names])
    if answer.returncode not in (0, 1) or not answer.stdout.strip():
        message = answer.stderr.strip() or _missing(answer.stdout)
        raise Error(message or f"mpiscope {verb} ended with status {answer.returncode}", answer.returncode)
    return json.loads(answer.stdout)


def _missing(answer: str) -> str:
    """What the ranks of an answer say about what was asked for and is not there."""
    try:
        ranks = json.loads(answer).get("ranks", [])
    except (ValueError, AttributeError):
        return ""
    return "; ".join(sorted({rank["missing"] for rank in ranks if rank.get("missing")}))


def tell(verb: str, options: Sequence[str], names: Sequence[str]) -> str:
    """Runs a verb that prints text."""
    answer = _run([verb, *options, "--", *names])
    if answer.returncode not in (0, 1):
        raise Error(answer.stderr.strip(), answer.returncode)
    return answer.stdout


def _run(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    # If Python runs under the layer, the command must not.
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    # Messages become those of exceptions, which are not wrapped.
    environment["COLUMNS"] = "100000"
    words = [command(), *arguments]
    try:
        return subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # Names of programs may contain any bytes.
            encoding="utf-8",
            errors="replace",
            env=environment,
            check=False,
        )
    except OSError as why:
        message = f"{words[0]} cannot be started: {why.strerror}; set MPISCOPE to the path of mpiscope"
        raise Error(message, COULD_NOT_READ) from why
