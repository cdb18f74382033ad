"""Which processes belong to a step that may still run, though whoever started it is gone."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")
_GIVE_UP_S = 10.0
_POLL_S = 0.02
_ZOMBIE = "Z"


class Process(msgspec.Struct, frozen=True):
    """One line of the process table."""

    pid: int
    group: int
    state: str
    started: int
    """Clock ticks since boot: a number that comes again has another one."""


def started(pid: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 where nobody can tell."""
    found = _read(pid)
    return found.started if found else 0


def end_group(group: int, since: int) -> bool:
    """Kill what is left of a step's process group; False where something does not go away.

    Only processes that are not older than the step are touched: numbers are used again.
    """
    deadline = time.monotonic() + _GIVE_UP_S
    while members := list(_members(group, since)):
        for member in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(member.pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _members(group: int, since: int) -> Iterator[Process]:
    """Yield the living members of a group; none where there is no process table to read."""
    if not group or not since:
        return
    leader = _read(group)
    if leader is not None and leader.started != since:
        return  # the number belongs to somebody else by now, and the group cannot be the old one
    with suppress(OSError):
        for entry in _PROC.iterdir():
            found = _read(int(entry.name)) if entry.name.isdecimal() else None
            if found is None or found.group != group or found.state == _ZOMBIE:
                continue
            if found.started >= since:
                yield found


def _read(pid: int) -> Process | None:
    # 4711 (python -m pip) S 4710 4711 4711 0 -1 ... and the 22nd is the start
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        fields = text.rpartition(")")[2].split()
        return Process(pid, int(fields[2]), fields[0], int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None
