"""Run a command as if nobody watched: its output passes through live, and its end is kept.

The one process without a deadline and without a group of its own: the terminal's signals reach it
as they would without us, and those that only we get are passed on. Where our output is a terminal,
so is the command's. What it has left running in the background when it ends may go on writing: a
relay of its own process passes that on, and we end as a shell does.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.processes.beside import start_thread
from fadoctor.processes.run import GRACE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEPT = 8 << 20
"""Bytes of output that are kept: the last ones."""

COMMAND_NOT_FOUND, COMMAND_NOT_RUN = 127, 126
"""Exit codes of a shell for what cannot be started."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_CHUNK = 1 << 16
_POLL_S = 0.05
_DIED_OF_SIGNAL = 128
_WINSIZE_BYTES = 8
"""Of struct winsize: four unsigned shorts."""

_RELAY = """
import os
while True:
    try:
        chunk = os.read(0, 65536)
    except OSError:
        break
    if not chunk:
        break
    try:
        while chunk:
            chunk = chunk[os.write(1, chunk):]
    except OSError:
        pass
"""
"""Copies input to output to the end; a reader that has gone does not end the writer."""

_PASSED_ON = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT")


class LiveRun(msgspec.Struct, frozen=True):
    """How a command ended, and the end of what it wrote."""

    code: int
    """Its exit code; 128 and the signal's number where it died of one, as shells say it."""
    tail: bytes
    problem: str = ""
    """Why it could not be started."""
    lost: str = ""
    """Why some of its output is not where ours goes. A reader that has gone has lost nothing."""
    pid: int = 0
    """Its process id; 0 where it could not be started."""


def run_live(argv: tuple[str, ...], env: dict[str, str] | None = None) -> LiveRun:
    """Run a command to its end with our input; its output goes where ours goes, as it comes.

    `env` is its whole environment; None passes ours on.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    kept = _Tail()
    outputs = _Output(1, kept, is_closed=sys.stdout is None), _Output(2, kept)
    try:
        child = subprocess.Popen(argv, stdout=outputs[0].given, stderr=outputs[1].given, env=env)
    except (OSError, ValueError) as error:
        for output in outputs:
            output.end()
        reason = getattr(error, "strerror", None) or str(error)
        missing = isinstance(error, FileNotFoundError)
        return LiveRun(COMMAND_NOT_FOUND if missing else COMMAND_NOT_RUN, b"", reason)
    finally:
        for output in outputs:
            os.close(output.given)
    with _signals(child, outputs):
        in_line = [output for output in outputs if not output.start()]
        if in_line:
            _copy_in_line(child, in_line)
        _wait(child)
        for output in outputs:
            output.end()
    code = child.returncode
    lost = outputs[0].lost
    code = _DIED_OF_SIGNAL - code if code < 0 else code
    return LiveRun(code, kept.data(), lost=lost, pid=child.pid)


def _wait(child: subprocess.Popen[bytes]) -> None:
    """Wait in steps: what a signal asks is done between two of them.

    One that another thread gets, or that comes just before a wait, does not interrupt it.
    """
    while child.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S)


def _copy_in_line(child: subprocess.Popen[bytes], outputs: list[_Output]) -> None:
    """Copy outputs that have no thread, until they end, or a grace after the command did."""
    ends = float("inf")
    while time.monotonic() < ends and (left := [each for each in outputs if each.is_open]):
        for output in select.select(left, [], [], _POLL_S)[0]:
            output.copy_ready()
        if ends == float("inf") and child.poll() is not None:
            ends = time.monotonic() + GRACE_S


class _Tail:
    """The last lines of both streams in the order in which they came, in bounded memory."""

    def __init__(self) -> None:
        self._chunks: deque[bytes] = deque()
        self._size = 0
        self._lock = threading.Lock()

    def add(self, chunk: bytes) -> None:
        if not chunk:
            return
        with self._lock:
            self._chunks.append(chunk)
            self._size += len(chunk)
            while self._size - len(self._chunks[0]) >= KEPT:
                self._size -= len(self._chunks.popleft())

    def data(self) -> bytes:
        with self._lock:
            return b"".join(self._chunks)


class _Output:
    """One stream of the command: what it is given to write to, and a thread that copies it."""

    def __init__(self, target: int, kept: _Tail, *, is_closed: bool = False) -> None:
        self._target = target
        self._kept = kept
        self._closed = "it is closed" if is_closed else ""
        self.lost = ""
        """Why some of it could not be written."""
        self._read, self.given = _terminal(target) or os.pipe()
        self._begun = b""
        """A line that has not ended: a program writes one in pieces, between those of others."""
        self._thread: threading.Thread | None = None
        self.is_open = False
        """Whether it is copied in line, and has not ended."""
        self._awake, self._wake = os.pipe()

    def start(self) -> bool:
        """Begin to copy; False where there is no thread for it."""
        self._thread = start_thread(self._copy)
        self.is_open = self._thread is None
        return self._thread is not None

    def end(self) -> None:
        """Stop reading: at the end, or a grace after the command's, if others hold the pipe."""
        if self._thread is not None:
            self._thread.join(GRACE_S)
        if self.is_open or self._is_copying():
            self._hand_over()
        self._kept.add(self._begun)
        if self._is_copying():
            return
        for descriptor in (self._read, self._awake, self._wake):
            os.close(descriptor)

    def _is_copying(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _hand_over(self) -> None:
        """Leave the rest to a process that outlives us; what is unread waits in the pipe."""
        if sys.platform == "win32":  # where nothing wakes a thread that reads
            return
        if self._thread is not None:
            os.write(self._wake, b"x")
            self._thread.join()
        with suppress(OSError):
            relay = subprocess.Popen(
                (sys.executable, "-I", "-S", "-c", _RELAY), stdin=self._read, stdout=self._target,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            relay.returncode = 0  # nobody is to wait for it

    def resize(self) -> None:
        """Give the command's terminal the size of ours."""
        _copy_size(self._target, self._read)

    def _may_read(self) -> bool:
        """Wait until there is something to read; False where another is to read it."""
        if sys.platform == "win32":  # it can wait for sockets only
            return True
        return self._awake not in select.select([self._read, self._awake], [], [])[0]

    def _copy(self) -> None:
        while self._may_read() and self._copy_some():
            pass

    def _copy_some(self) -> bool:
        """Copy what can be read at once; False at the end."""
        chunk = _read(self._read)
        ended, newline, begun = (self._begun + chunk).rpartition(b"\n")
        if not newline and len(begun) > _CHUNK:  # a progress bar, or no text
            ended, begun = begun, b""
        self._begun = begun
        self._kept.add(ended + newline)
        problem = _write(self._target, chunk) if chunk else ""
        self.lost = self.lost or (self._closed if chunk else "") or problem
        return bool(chunk)

    def fileno(self) -> int:
        """Return what is read from, for `select`."""
        return self._read

    def copy_ready(self) -> None:
        """Copy what is there, in line."""
        self.is_open = self._copy_some()


def _terminal(target: int) -> tuple[int, int] | None:
    """Return a pseudo-terminal of the size of ours; None where our output is none."""
    if not os.isatty(target) or sys.platform == "win32":
        return None
    import pty  # noqa: PLC0415 -- Unix only
    import termios  # noqa: PLC0415 -- Unix only

    reading, given = pty.openpty()
    _copy_size(target, given)
    attributes = termios.tcgetattr(given)
    attributes[1] &= ~termios.OPOST  # our own terminal translates line ends
    termios.tcsetattr(given, termios.TCSANOW, attributes)
    return reading, given


def _copy_size(source: int, target: int) -> None:
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415 -- Unix only
        import termios  # noqa: PLC0415 -- Unix only

        with suppress(OSError):
            size = fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(_WINSIZE_BYTES))
            fcntl.ioctl(target, termios.TIOCSWINSZ, size)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:  # a pseudo-terminal whose other end is closed says EIO
        return b""


def _write(target: int, chunk: bytes) -> str:
    """Write all of it; a reader that has gone (`| head`) does not end the command.

    Return why something is lost, "" where nothing is.
    """
    view = memoryview(chunk)
    try:
        while view:
            view = view[os.write(target, view) :]
    except OSError as error:
        return os.strerror(error.errno) if error.errno in _NO_ROOM else ""
    return ""


@contextmanager
def _signals(child: subprocess.Popen[bytes], outputs: tuple[_Output, _Output]) -> Iterator[None]:
    """Pass on what we are sent; Ctrl-C at a terminal reaches the command by itself."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pass_on(number: int, _frame: object) -> None:
        with suppress(ProcessLookupError):
            child.send_signal(number)

    def resize(_number: int, _frame: object) -> None:
        for output in outputs:
            output.resize()

    handlers: dict[int, Callable[[int, object], None] | signal.Handlers] = {
        signal.SIGINT: signal.SIG_IGN if _at_terminal() else pass_on
    }
    for name in _PASSED_ON:
        if hasattr(signal, name):
            handlers[getattr(signal, name)] = pass_on
    if hasattr(signal, "SIGWINCH"):
        handlers[signal.SIGWINCH] = resize
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _at_terminal() -> bool:
    """Return whether we are in the foreground of a terminal, which then signals the child, too."""
    if sys.platform == "win32":
        return os.isatty(0)
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
