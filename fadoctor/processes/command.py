"""What is run, what came back, and what stands in the output."""

from __future__ import annotations

import enum
import signal
import sys
from typing import TYPE_CHECKING

import msgspec

from fadoctor.processes.deadline import Pulse

if TYPE_CHECKING:
    from collections.abc import Mapping


HAS_PROCESSES = sys.platform not in ("emscripten", "wasi")
"""Whether this system starts processes: a browser starts none."""


class Ending(enum.Enum):
    """How a child came to its end. Four different things, never one error."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed out"
    NOT_STARTED = "not started"
    STUCK = "stuck"


class Command(msgspec.Struct, frozen=True):
    """What to run."""

    argv: tuple[str, ...]
    timeout_s: float
    env: dict[str, str] | None = None
    """The child's whole environment; None passes ours on."""
    output_limit: int = 1 << 20
    """Bytes of each stream that are kept."""
    cwd: str | None = None
    pulse: Pulse | None = None
    text: bytes | None = None
    """What it reads on standard input; None for nothing."""


class Result(msgspec.Struct, frozen=True):
    """What came back."""

    ending: Ending
    code: int
    """Exit status, or the signal's number where it died of one; 0 otherwise."""
    stdout: str
    stderr: str
    elapsed_s: float
    truncated: bool = False

    @property
    def ok(self) -> bool:
        """Whether it exited with status 0."""
        return self.ending is Ending.EXITED and self.code == 0

    def describe(self) -> str:
        """Return one line that says how it ended, for an Unknown's reason."""
        match self.ending:
            case Ending.EXITED:
                last = self.stderr.strip().splitlines()[-1:] or [""]
                return f"exited with status {self.code}" + (f": {last[0]}" if last[0] else "")
            case Ending.SIGNALLED:
                return f"died of {signal_name(self.code)}"
            case Ending.TIMED_OUT:
                return f"gave no answer within {self.elapsed_s:.0f} s and was stopped"
            case Ending.NOT_STARTED:
                return f"could not be started: {self.stderr}"
            case Ending.STUCK:
                return "does not end even when killed: it is stuck in the kernel or the driver"


def signal_name(number: int) -> str:
    """Return ``SIGSEGV`` for 11, and ``signal 99`` for a number without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def child_environment(environ: Mapping[str, str], **changes: str | None) -> dict[str, str]:
    """Return a copy of an environment with variables set, or removed where the value is None."""
    env = dict(environ)
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def last_json_object(text: str) -> dict[str, object] | None:
    """Return the last line of a child's output that is a JSON object, or None."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                found = msgspec.json.decode(line)
            except (msgspec.DecodeError, RecursionError):
                continue
            if isinstance(found, dict):
                return found
    return None
