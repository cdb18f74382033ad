"""End what children leave behind: descendants that left their process group.

On Linux a process can adopt its orphaned descendants (PR_SET_CHILD_SUBREAPER); they then show up as
its children and can be ended. Elsewhere nothing is done.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.processes.ending import RUNNING
from fadoctor.processes.guard import GUARD

if TYPE_CHECKING:
    from collections.abc import Iterator

_PR_SET_CHILD_SUBREAPER = 36
"""From linux/prctl.h."""

_STATUS_LIMIT = 512
_WAIT_S = 1.0


@contextmanager
def no_strays() -> Iterator[list[str]]:
    """Adopt orphans while the block runs and end them after it.

    The list then names those that could not be ended: stuck in the kernel or in a driver.
    """
    stuck: list[str] = []
    if not _adopt(wanted=True):
        yield stuck
        return
    before = set(_children())
    try:
        yield stuck
    finally:
        stuck += _end([pid for pid in _children() if pid not in before])
        _adopt(wanted=False)


def end_children() -> None:
    """End every child of this process with its group: for Ctrl-C, when nobody waits for them."""
    for pid in _children():
        for end in (os.killpg, os.kill):  # one that was forked just now has no group of its own yet
            with suppress(ProcessLookupError, PermissionError):
                end(pid, signal.SIGKILL)


def end_for_good() -> None:
    """End every child, and let no thread that goes on start another."""
    RUNNING.close()
    end_children()


def _adopt(*, wanted: bool) -> bool:
    """Become the reaper of orphaned descendants, or cease to; False where that cannot be."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # noqa: PLC0415 -- costs a start 5 ms, and only a smoke run needs it

    try:
        libc = ctypes.CDLL(None, use_errno=True)
        status: int = libc.prctl(_PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)
    except (OSError, AttributeError):
        return False
    return status == 0


def _children() -> list[int]:
    """Return the ids of this process's children, zombies among them; the guard is none."""
    me = os.getpid()
    try:
        names = [entry.name for entry in os.scandir("/proc") if entry.name.isdigit()]
    except OSError:
        return []
    ids = [int(name) for name in names if _parent(f"/proc/{name}") == me]
    return [pid for pid in ids if pid != GUARD.pid]


def _parent(folder: str) -> int:
    """Read the parent from ``/proc/<pid>/stat``: ``4711 (a) name) S 4700 ...``."""
    try:
        text = Path(folder, "stat").read_text(encoding="utf-8", errors="replace")[:_STATUS_LIMIT]
        return int(text.rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _end(pids: list[int]) -> list[str]:
    """Kill processes and wait a little; return those that are still there."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + _WAIT_S
    left = list(pids)
    while left and time.monotonic() < deadline:
        left = [pid for pid in left if not _is_gone(pid)]
        if left:
            time.sleep(0.02)
    return [f"process {pid} does not end: it is stuck in the kernel or a driver" for pid in left]


def _is_gone(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
