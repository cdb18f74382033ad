"""Start commands as forks of a process that has imported them, as `subprocess.run` would."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import FileIO

SERVER = Path(__file__).with_name("fork_server.py")
_AT_START = ("PYTHON", "LC_", "LANG", "LD_")
"""Beginnings of variables that an interpreter reads when it starts."""

_PIECE = 1 << 16


def suits(options: Mapping[str, object], env: Mapping[str, str]) -> bool:
    """Return whether a fork is what a process of its own would be."""
    changed = {name for name, value in env.items() if os.environ.get(name) != value}
    changed |= os.environ.keys() - env.keys()
    return (
        sys.platform == "linux"
        and options.keys() <= {"cwd", "input"}
        and not any(name.startswith(_AT_START) for name in changed)
    )


class Forks:
    """The process that forks; it starts with the first run and ends with the tests."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._channel: socket.socket | None = None
        self._server: subprocess.Popen[bytes] | None = None

    def run(
        self, argv: list[str], env: Mapping[str, str], cwd: Path, text: str | None, timeout_s: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end and return what it wrote."""
        channel = self._started()
        request = json.dumps({"argv": argv, "env": dict(env), "cwd": str(cwd)}).encode()
        with ExitStack() as stack:
            theirs = [os.dup(0)]
            feed = None
            if text is not None:
                os.close(theirs.pop())
                stdin, end = os.pipe()
                theirs.append(stdin)
                feed = stack.enter_context(open(end, "wb", buffering=0))  # noqa: PTH123
            sources = []
            for _ in ("out", "err"):
                end, stream = os.pipe()
                theirs.append(stream)
                sources.append(stack.enter_context(open(end, "rb", buffering=0)))  # noqa: PTH123
            socket.send_fds(channel, [request], theirs)
            for each in theirs:
                os.close(each)
            pid = json.loads(channel.recv(_PIECE))
            try:
                out, err = _exchange(feed, (text or "").encode(), sources, timeout_s)
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(argv, timeout_s) from None
            finally:
                code = json.loads(channel.recv(_PIECE))
        return subprocess.CompletedProcess(argv, code, _text(out), _text(err))

    def close(self) -> None:
        """End the process."""
        if self._channel is not None and self._server is not None:
            self._channel.close()
            self._server.wait(60)

    def _started(self) -> socket.socket:
        if self._channel is None:
            self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._server = subprocess.Popen(
                    [sys.executable, str(SERVER), str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                )
        return self._channel


def _text(written: bytes) -> str:
    """Return text as `subprocess.run` does."""
    return written.decode().replace("\r\n", "\n").replace("\r", "\n")


def _exchange(
    feed: FileIO | None, text: bytes, sources: list[FileIO], timeout_s: float
) -> list[bytes]:
    """Write the input and read the outputs to their ends."""
    found: dict[int, list[bytes]] = {each.fileno(): [] for each in sources}
    until = time.monotonic() + timeout_s
    with selectors.DefaultSelector() as selector:
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        if feed is not None:
            os.set_blocking(feed.fileno(), False)
            selector.register(feed, selectors.EVENT_WRITE)
        while selector.get_map():
            ready = selector.select(max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                if key.events == selectors.EVENT_WRITE:
                    left = text = _fed(key.fd, text)
                else:
                    left = os.read(key.fd, _PIECE)
                    found[key.fd].append(left)
                if not left:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
    return [b"".join(pieces) for pieces in found.values()]


def _fed(feed: int, text: bytes) -> bytes:
    """Write a piece and return the rest; nothing where the reader has gone."""
    try:
        return text[os.write(feed, text[:_PIECE]) :]
    except BrokenPipeError:
        return b""
