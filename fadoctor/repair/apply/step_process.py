"""Which processes belong to a step that may still run, though whoever started it is gone.

A step carries a random mark in its environment, and what it starts inherits it. Numbers of
processes and groups come again after a restart; a mark does not.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from fadoctor.processes.child._fadoctor_guard import end_carriers, is_mark

NAME = "FADOCTOR_STEP"
"""Variable that carries the mark."""

_PROC = Path("/proc")
_GIVE_UP_S = 10.0
_START_FIELD = 19


class StepProcess(msgspec.Struct, frozen=True):
    """What tells a step's processes from all others, and where they can be."""

    mark: str = ""
    """Of 32 hexadecimal digits; empty where no step has begun."""
    boot: str = ""
    """Of which start of the machine; empty where the system does not say."""
    pid_namespace: str = ""
    pid: int = 0
    """Its process id, the group's too; 0 where it has not begun."""
    started: int = 0
    """When it started, in clock ticks since boot."""


def new_step() -> StepProcess:
    """Return a step of this machine that has not begun."""
    return StepProcess(os.urandom(16).hex(), _boot(), _namespace())


def begun(step: StepProcess, pid: int) -> StepProcess:
    """Return a step with its process."""
    return msgspec.structs.replace(step, pid=pid, started=_started(pid))


def end_step(step: StepProcess) -> bool:
    """Kill what is left of a step; False where something does not go away.

    Nothing of an earlier start of the machine can be left. Only who carries the mark is touched.
    """
    boot = _boot()
    if not is_mark(step.mark) or (step.boot and boot and step.boot != boot):
        return True
    return end_carriers(NAME, step.mark, _GIVE_UP_S, 0.05)


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _namespace() -> str:
    try:
        return os.fspath((_PROC / "self/ns/pid").readlink())
    except OSError:
        return ""


def _started(pid: int) -> int:
    # 4711 (python -m pip) S 4710 4711 4711 0 -1 ... and the 22nd is the start
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[_START_FIELD])
    except (OSError, ValueError, IndexError):
        return 0
