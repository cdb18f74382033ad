"""A line that says what is going on, and for how long, while somebody waits."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from typing import TextIO

from fadoctor.model.fact import printable
from fadoctor.processes.beside import start_thread

_BEAT_S = 0.1
_DOTS, _LINE = "\u280b\u2819\u2839\u2838\u283c\u2834\u2826\u2827\u2807\u280f", "-\\|/"
_CLEAR = "\r\x1b[K"


class ProgressLine:
    """A line of a terminal that is written anew ten times a second, and is gone afterwards."""

    def __init__(self, stream: TextIO, what: str, *, ascii_only: bool) -> None:
        """Take where to write, and what goes on first."""
        self._stream, self._what = stream, what
        self._signs = _LINE if ascii_only else _DOTS
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def say(self, what: str) -> None:
        """Say what goes on next."""
        self._what = what

    def start(self, after_s: float) -> None:
        """Begin; nothing is seen for the first `after_s` seconds."""
        # A daemon: one that hangs on a stopped terminal must not keep the program.
        self._thread = start_thread(partial(self._run, after_s))

    def stop(self) -> None:
        """End, and leave an empty line."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=1.0)

    def _run(self, after_s: float) -> None:
        begun = time.monotonic()
        if self._over.wait(after_s):
            return
        beat = 0
        try:
            while not self._over.wait(_BEAT_S):
                sign = self._signs[beat % len(self._signs)]
                self._write(f"{sign} fadoctor: {self._what} ({time.monotonic() - begun:.0f} s)")
                beat += 1
            self._stream.write(_CLEAR)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone: nobody waits any more
            return

    def _write(self, text: str) -> None:
        """Write the line anew, as much of it as one line of the terminal holds."""
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            columns = 80
        line = printable(text, max((columns or 80) - 1, 10))
        self._stream.write(f"{_CLEAR}{line}")
        self._stream.flush()
