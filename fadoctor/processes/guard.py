"""Let nothing that we start outlive us, by SIGKILL as well: a guard of its own waits for our end.

One for the whole process, started with its first child. Unlike a parent-death signal it reaches
what a child has started, holds before the child's first line, and does not ask which thread started
it. Where there is none (no memory, Windows) children run without.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

from fadoctor.processes.child._fadoctor_guard import NAME

_SCRIPT = Path(__file__).parent / "child" / "_fadoctor_guard.py"


class Guard:
    """The guard of this process, once there is one."""

    def __init__(self) -> None:
        """Begin without."""
        self.pid = 0
        self._owner = 0
        self._mark = ""
        self._pipe = -1
        self._lock = threading.Lock()

    def mark(self) -> dict[str, str]:
        """Return what a child is to carry in its environment; the guard runs from then on."""
        if sys.platform == "win32" or not sys.executable:
            return {}
        with self._lock:
            if self._owner != os.getpid() or not self._tell(""):
                self._begin()
            return {NAME: self._mark} if self.pid else {}

    def began(self, pid: int) -> None:
        """Tell it of a group that has begun."""
        self._tell(f"+{pid}\n")

    def ended(self, pid: int) -> None:
        """Tell it of a group that is gone; before its number can be another's."""
        self._tell(f"-{pid}\n")

    def leave(self) -> None:
        """Let it go without ending anything: we end as we should."""
        if self._owner == os.getpid():
            self._tell("q\n")

    def _tell(self, line: str) -> bool:
        """Write a line; False where nobody reads. An empty one asks whether somebody does."""
        if self._pipe < 0:
            return False
        try:
            os.write(self._pipe, line.encode() or b"\n")
        except OSError:
            return False
        return True

    def _begin(self) -> None:
        self._forget()
        mark = os.urandom(16).hex()
        reader, writer = os.pipe()
        try:
            os.write(writer, f"{mark}\n".encode())
            self.pid = _spawn(reader)
            self._owner, self._mark, self._pipe = os.getpid(), mark, writer
        except (OSError, NotImplementedError):
            os.close(writer)
        finally:
            os.close(reader)
        atexit.unregister(self.leave)
        atexit.register(self.leave)

    def _forget(self) -> None:
        """Close the pipe of a guard that has ended, or is our parent's since we were forked."""
        if self._pipe >= 0:
            with suppress(OSError):
                os.close(self._pipe)
        if self.pid and self._owner == os.getpid():
            with suppress(OSError):
                os.waitpid(self.pid, os.WNOHANG)
        self.pid, self._pipe = 0, -1


def _spawn(reader: int) -> int:
    """Start the guard in a session of its own: what ends ours does not reach it."""
    argv = [sys.executable, "-I", "-S", "-X", "utf8", os.fspath(_SCRIPT), str(os.getpid())]
    actions = [(os.POSIX_SPAWN_DUP2, reader, 0)]
    actions += [(os.POSIX_SPAWN_OPEN, each, os.devnull, os.O_WRONLY, 0) for each in (1, 2)]  # type: ignore[misc] # two kinds
    # Where we are another fadoctor's child, its guard must not end ours.
    env = {name: value for name, value in os.environ.items() if name != NAME}
    own = {"setsid": True} if sys.platform.startswith("linux") else {"setpgroup": 0}
    return os.posix_spawn(sys.executable, argv, env, file_actions=actions, **own)


GUARD = Guard()
"""Of this process, as its children are."""
