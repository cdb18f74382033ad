"""How ``fleet`` asks the nodes itself: by Slurm's srun, or as tasks of a Ray cluster."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.interfaces.commands.observer import SILENT, Observer
from fadoctor.model.errors import InputError
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.fleet.ray import RayReplies

_LONGEST_S = 3_600.0


class EngineRequest(NamedTuple):
    """How nodes are asked."""

    python: str = ""
    folder: str = ""
    """Where nodes write full reports; empty where they answer by records."""
    smoke: bool = True
    timeout_s: int = 60
    redact: bool = False


def check_command(wanted: EngineRequest) -> tuple[str, ...]:
    """Return what each node runs: this fadoctor, by this interpreter, as nodes see it too."""
    command = [sys.executable, "-m", "fadoctor", "check", "--exit-zero", "--quiet"]
    command += ["--output-dir", wanted.folder] if wanted.folder else ["--format", "fleet"]
    command += [] if wanted.smoke else ["--no-smoke"]
    command += ["--redact"] if wanted.redact else []
    return (*command, *(["--python", wanted.python] if wanted.python else []))


def srun_line(wanted: EngineRequest, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the srun line that fits."""
    from fadoctor.fleet.slurm import line_of

    return line_of(check_command(wanted), arguments, wanted.timeout_s)


def pasted_line(line: tuple[str, ...], wanted: EngineRequest) -> str:
    """Return the line that asks the nodes and merges what they say, for a shell."""
    merge = f" && fadoctor fleet {shlex.quote(wanted.folder)}" if wanted.folder else ""
    pipe = "" if wanted.folder else " | fadoctor fleet"
    return f"{shlex.join(line)}{merge}{pipe}\n"


def run_srun(line: tuple[str, ...], wanted: EngineRequest, observer: Observer = SILENT) -> str:
    """Ask the nodes; return the file, or the folder, with what they say."""
    from fadoctor.fleet.slurm import ask, problem_of

    if wanted.folder and any(Path(wanted.folder).glob("*.json")):
        problem = (
            "it holds reports of an earlier run: a node that is silent now would look answered"
        )
        raise InputError(wanted.folder, problem)
    with observer.ending():
        result = ask(line, _LONGEST_S)
    for row in _last(result.stderr):
        observer.complained(printable(row, 400))
    if wanted.folder:
        if not Path(wanted.folder).is_dir():
            raise InputError("srun", f"no node wrote into {wanted.folder}; {result.describe()}")
        return wanted.folder
    if problem := problem_of(result):
        raise InputError("srun", problem)
    return _kept(result.stdout)


def ask_ray(address: str, wanted: EngineRequest, observer: Observer = SILENT) -> RayReplies:
    """Ask every node of a Ray cluster, by the interpreter that has its ray."""
    from fadoctor.fleet.ray import PYTHON, ask

    python = _interpreter(wanted.python)
    command = check_command(wanted._replace(python=PYTHON, folder=""))
    with observer.ending():
        asked = ask(python, address, command, wanted.timeout_s, dict(os.environ))
    if asked.failed:
        raise InputError(f"--ray {printable(address, 200)}", asked.failed)
    return asked


def _interpreter(named: str) -> str:
    """Return the interpreter that has the cluster's ray: named, active, or on PATH."""
    folder = named or os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX") or ""
    path = Path(folder) / "bin" / "python" if folder and Path(folder).is_dir() else Path(folder)
    found = str(path) if folder else shutil.which("python3") or sys.executable
    if not os.access(found, os.X_OK):
        raise InputError(found, "this is not an interpreter: name one that has ray with --python")
    return str(Path(found).absolute())


def _kept(text: str) -> str:
    """Return a file with what nodes said, which goes when this process ends."""
    folder = tempfile.mkdtemp(prefix="fadoctor-fleet-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "records.txt"
    path.write_text(text, encoding="utf-8")
    return str(path)


def _last(text: str) -> list[str]:
    """Return the last lines of what a launcher complains about."""
    return text.strip().splitlines()[-20:]
