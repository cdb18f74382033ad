"""The only door to other processes.

Every child gets its own process group, no standard input, an explicit environment and a deadline.
Its output is read from non-blocking pipes until it has exited plus a short grace, or until the
deadline: waiting for end-of-file would hang on a grandchild that holds the pipe. What exceeds the
limit is read and discarded, so that a chatty child neither blocks nor fills memory.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import msgspec

from fadoctor.processes.beside import start_thread
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.processes.deadline import Deadline
from fadoctor.processes.ending import RUNNING
from fadoctor.processes.guard import GUARD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GRACE_S = 0.2
"""How long output is still read after the child has exited, seconds."""

REAP_S = 5.0
"""How long to wait for a killed child before it is called stuck, seconds."""

_CHUNK = 65_536
_POLL_S = 0.05
_WAIT_S = 0.005


def run(command: Command, announce: Callable[[int], None] | None = None) -> Result:
    """Run a command to its end or its deadline; never raises for what the command does.

    `announce` is told the process id, which is the group's too, before the command does anything.
    """
    started = time.monotonic()
    with ExitStack() as stack:
        try:
            stdin = subprocess.DEVNULL
            if command.text is not None:
                stdin = stack.enter_context(_fed(command.text))
            child = (
                _start(command, stdin) if announce is None else _start_announced(command, announce)
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            return Result(Ending.NOT_STARTED, 0, "", reason, time.monotonic() - started)
        return _run_to_end(child, command, started)


@contextmanager
def _fed(text: bytes) -> Iterator[int]:
    """Give the end of a pipe that a thread fills: a child that never reads does not hold us up.

    Without a thread it is a file: what no pipe has room for would wait for the child's begin.
    """
    reader, writer = os.pipe()

    def feed() -> None:
        with suppress(OSError), os.fdopen(writer, "wb") as pipe:
            pipe.write(text)

    thread = start_thread(feed)
    if thread is None:
        os.close(reader)
        os.close(writer)
        import tempfile  # noqa: PLC0415 -- rarely

        with tempfile.TemporaryFile() as file:
            file.write(text)
            file.seek(0)
            yield file.fileno()
        return
    try:
        yield reader
    finally:
        os.close(reader)  # whoever still writes is told that nobody reads
        thread.join()


def _run_to_end(child: subprocess.Popen[bytes], command: Command, started: float) -> Result:
    output = _Output(command.output_limit)
    try:
        finished = _read_until_end(
            child, output, Deadline(started, command.timeout_s, command.pulse)
        )
    except BaseException:  # Ctrl-C: the child is in a group of its own and got no signal
        _end_group(child)
        raise
    reaped = _end_group(child)
    ending, code = _ending(child.returncode, finished=finished, reaped=reaped)
    return Result(
        ending,
        code,
        output.text("stdout"),
        output.text("stderr"),
        time.monotonic() - started,
        output.truncated,
    )


def _start(command: Command, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    with RUNNING.starting:
        if RUNNING.closing:
            raise ValueError("fadoctor is being ended")
        marked = {**(os.environ if command.env is None else command.env), **GUARD.mark()}
        child = subprocess.Popen(
            command.argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=marked,
            cwd=command.cwd or _root_if_lost(),
            start_new_session=True,
            bufsize=0,
        )
        RUNNING.groups.add(child.pid)
        GUARD.began(child.pid)
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            os.set_blocking(pipe.fileno(), False)
    return child


def _root_if_lost() -> str | None:
    """Return the root where our own folder was deleted: libraries look for files from there."""
    try:
        os.getcwd()  # noqa: PTH109 -- only whether it is there
    except OSError:
        return os.sep
    return None


_GATE = (
    "import os,sys\nsys.stdin.buffer.read(1) or sys.exit(125)\nos.execvp(sys.argv[1],sys.argv[1:])"
)
"""Waits for one byte, then becomes the command; without it (we are gone) it ends."""


def _start_announced(command: Command, announce: Callable[[int], None]) -> subprocess.Popen[bytes]:
    """Start a command behind a gate that opens when everybody knows of it."""
    if shutil.which(command.argv[0]) is None:
        raise FileNotFoundError(f"{command.argv[0]} is not installed")
    gated = (sys.executable, "-I", "-S", "-c", _GATE, *command.argv)
    reader, writer = os.pipe()
    try:
        child = _start(msgspec.structs.replace(command, argv=gated), stdin=reader)
    finally:
        os.close(reader)
    try:
        announce(child.pid)
        os.write(writer, b"x")
    finally:
        os.close(writer)
    return child


class _Output:
    """What was read so far, up to the limit for each stream."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.kept = {"stdout": bytearray(), "stderr": bytearray()}
        self.truncated = False

    def add(self, stream: str, chunk: bytes) -> None:
        kept = self.kept[stream]
        room = self.limit - len(kept)
        self.truncated |= len(chunk) > room
        kept += chunk[: max(room, 0)]

    def text(self, stream: str) -> str:
        return self.kept[stream].decode("utf-8", errors="replace")


@contextmanager
def _selector(child: subprocess.Popen[bytes]) -> Iterator[selectors.BaseSelector]:
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("stdout", child.stdout), ("stderr", child.stderr)):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, name)
        yield selector
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def _read_until_end(child: subprocess.Popen[bytes], output: _Output, deadline: Deadline) -> bool:
    """Read until the child has exited and its pipes are quiet; False where time ran out."""
    with _selector(child) as selector:
        grace_ends = None
        while True:
            now = time.monotonic()
            exited = _has_exited(child)
            if exited and grace_ends is None:
                grace_ends = now + GRACE_S
            limit = deadline.at(now) if grace_ends is None else grace_ends
            if now >= limit:
                return exited
            if not selector.get_map():
                if exited:
                    return True
                time.sleep(min(_WAIT_S, limit - now))
                continue
            for key, _ in selector.select(min(_POLL_S, limit - now)):
                _read_some(selector, key, output)


def _read_some(
    selector: selectors.BaseSelector, key: selectors.SelectorKey, output: _Output
) -> None:
    try:
        chunk = os.read(key.fd, _CHUNK)
    except BlockingIOError:
        return
    except OSError:
        chunk = b""
    if chunk:
        output.add(key.data, chunk)
    else:
        selector.unregister(key.fileobj)


def _has_exited(child: subprocess.Popen[bytes]) -> bool:
    """Return whether a child has ended; it is not reaped, so that its number stays its own."""
    if child.returncode is not None or not hasattr(os, "waitid"):
        return child.poll() is not None
    try:
        ended = os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # somebody else has reaped it
        return child.poll() is not None
    return ended is not None


def _end_group(child: subprocess.Popen[bytes]) -> bool:
    """Kill what is left of the child's group; False where the child does not go away.

    Only a child that nobody has reaped is sure to have its number, and the group's, for itself.
    """
    _has_exited(child)
    if child.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    RUNNING.groups.discard(child.pid)
    GUARD.ended(child.pid)
    try:
        child.wait(REAP_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _ending(returncode: int | None, *, finished: bool, reaped: bool) -> tuple[Ending, int]:
    if not reaped:
        return Ending.STUCK, 0
    if not finished:
        return Ending.TIMED_OUT, 0
    code = returncode or 0
    return (Ending.SIGNALLED, -code) if code < 0 else (Ending.EXITED, code)


NO_TRACES: dict[str, str | None] = {"PYTHONDONTWRITEBYTECODE": "1"}
"""For a program of the target's Python: what it imports is not compiled into the environment.

pip compiles what it installs all the same.
"""


def remember(run: Callable[[Command], Result]) -> Callable[[Command], Result]:
    """Return `run` with a memory: the same command is run once, and a second asker waits for it.

    Discovery and a probe ask the interpreter the same question; and what is sure to be asked can be
    started before it is.
    """
    lock = threading.Lock()
    asked: list[tuple[Command, threading.Event, list[Result]]] = []

    def run_once(command: Command) -> Result:
        with lock:
            earlier = next((entry for entry in asked if entry[0] == command), None)
            entry = earlier or (command, threading.Event(), [])
            if earlier is None:
                asked.append(entry)
        _, done, results = entry
        if earlier is None:
            try:
                results.append(run(command))
            finally:
                done.set()
        done.wait()
        return results[0] if results else run(command)  # the first asker had no memory for it

    return run_once
