"""Start a command so that its Python processes are traced, and read what they wrote."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import printable
from fadoctor.model.files import read_bytes, read_file
from fadoctor.model.trace import NotEntered, Record, TracedProcess
from fadoctor.model.typed import decode
from fadoctor.processes.live import LiveRun, run_live

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CHILD = Path(__file__).parent / "child"

_FOLDER = "FADOCTOR_TRACE"
_LIMIT = 32 << 20
"""Bytes of a record that are read; what its writer keeps is far below."""
_MOST = 4096
"""Processes that are read."""
_WORDS = 1 << 20
"""Bytes of a command line."""
_NUMBER = re.compile(r"([0-9]{1,9})-")
"""How the mark of a process begins."""


class Traced(msgspec.Struct, frozen=True):
    """A command that has ended, and its processes."""

    run: LiveRun
    processes: tuple[TracedProcess, ...]
    problems: tuple[str, ...] = ()
    """Records that could not be read."""


@contextmanager
def trace_folder() -> Iterator[Path]:
    """Give a folder for records that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="fadoctor-trace-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def traced_environment(folder: Path, environ: Mapping[str, str], *, eager: bool) -> dict[str, str]:
    """Return the environment of a command whose Python processes write into a folder."""
    before = environ.get("PYTHONPATH", "")
    path = f"{CHILD}{os.pathsep}{before}" if before else str(CHILD)
    found = {**environ, "PYTHONPATH": path, _FOLDER: str(folder)}
    if eager:
        found["TORCHDYNAMO_DISABLE"] = "1"
    return found


def run_traced(argv: tuple[str, ...], folder: Path, *, eager: bool) -> Traced:
    """Run a command to its end, and read the records of its processes."""
    run = run_live(argv, traced_environment(folder, os.environ, eager=eager))
    processes, problems = read_processes(folder)
    if run.pid and not run.problem:
        processes = _with_first(processes, argv, run.pid)
    return Traced(run, processes, problems)


def read_processes(folder: Path) -> tuple[tuple[TracedProcess, ...], tuple[str, ...]]:
    """Return the processes that wrote a record or a mark, in the order of their begin."""
    found: list[tuple[float, TracedProcess]] = []
    problems: list[str] = []
    recorded: set[int] = set()
    for path in _by_age(folder, "*.json"):
        if path.name == "config.json":
            continue
        record = _record(path, problems)
        if record is None:
            continue
        recorded.add(record.pid)
        found.append((_began(folder, record.pid, path), process_of(record)))
        found += [(_age(path), _left_out(each)) for each in record.not_entered]
    for path in _by_age(folder, "*.entered"):
        number = _NUMBER.match(path.name)
        if number is not None and (pid := int(number[1])) not in recorded:
            recorded.add(pid)
            words = tuple((read_file(path, _WORDS) or "").split("\0"))
            found.append((_age(path), _bare(pid, words, entered=True)))
    for path in _by_age(folder, "*.started"):
        for line in (read_file(path, _LIMIT) or "").splitlines()[:_MOST]:
            reason, *argv = line.split("\0")
            found.append((_age(path), _left_out(NotEntered(tuple(argv), reason))))
    found.sort(key=lambda pair: pair[0])
    return tuple(process for _, process in found), tuple(problems)


def _by_age(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern), key=_age)[:_MOST]


def _age(path: Path) -> float:
    """Return when a file was written; 0 where it is gone: the command may do what it likes."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _began(folder: Path, pid: int, record: Path) -> float:
    """Return when a process was entered; a forked one only wrote its record."""
    marks = list(folder.glob(f"{pid}-*.entered"))
    return min(map(_age, (*marks, record)))


def _record(path: Path, problems: list[str]) -> Record | None:
    try:
        return decode(read_bytes(path, _LIMIT), Record)
    except (OSError, msgspec.MsgspecError) as error:
        problems.append(printable(f"{path.name}: {error}", 300))
        return None


def process_of(record: Record) -> TracedProcess:
    """Return a process as reports have it."""
    return TracedProcess(
        pid=record.pid, rank=record.rank, argv=record.argv, entered=True,
        compiled=record.compiled, failed_imports=record.failed_imports, calls=record.calls,
        python=record.python, torch=record.torch, packages=record.packages,
        variables=record.variables, lost=record.lost, faults=record.faults,
    )  # fmt: skip


def _bare(pid: int | None, argv: tuple[str, ...], *, entered: bool, why: str = "") -> TracedProcess:
    return TracedProcess(
        pid=pid, rank=None, argv=argv, entered=entered, compiled=(), failed_imports=(), calls=(),
        reason=why,
    )  # fmt: skip


def _left_out(each: NotEntered) -> TracedProcess:
    return _bare(None, each.argv, entered=False, why=each.reason)


def _with_first(
    processes: tuple[TracedProcess, ...], argv: tuple[str, ...], pid: int
) -> tuple[TracedProcess, ...]:
    """Add the command's own process where it is a Python that was not entered."""
    name = Path(argv[0]).name
    if any(process.pid == pid for process in processes) or not name.startswith("python"):
        return processes
    switches = [word for word in argv[1:] if word.startswith("-") and not word.startswith("--")]
    letters = [letter for word in switches for letter in word[1:] if letter in "IES"]
    why = f"it runs with -{letters[0]}" if letters else "it left no mark: perhaps an older Python"
    return (_bare(pid, argv, entered=False, why=why), *processes)
