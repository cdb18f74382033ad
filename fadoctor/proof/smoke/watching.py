"""Tell what a worker is doing while it does it, from the events that it writes.

Only where somebody waits at a terminal: a thread looks at the file a few times a second.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.smoke import CPU
from fadoctor.processes.beside import start_thread
from fadoctor.proof.smoke.choice import CUDA
from fadoctor.proof.smoke.events import Done, Imported, Phase, Start, read_event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_LOOK_S = 0.1
_CHUNK = 1 << 16
_LINE_LIMIT = 1 << 18
"""A longer line is none of a worker that is well."""


@contextmanager
def watched(events: Path, counts: Mapping[str, int], tell: Callable[[str], None]) -> Iterator[None]:
    """Tell of a worker's cells as long as it runs; `counts` says how many each kind has."""
    over = threading.Event()
    watcher = Watcher(events, counts, tell)

    def look() -> None:
        while not over.wait(_LOOK_S):
            watcher.look()

    # A daemon: what it tells must not hold up the end. Without a thread nothing is told.
    thread = start_thread(look)
    try:
        yield
    finally:
        over.set()
        if thread is not None:
            thread.join(timeout=1.0)


class Watcher:
    """Reads what was added to a file of events, and says it in words."""

    def __init__(
        self, events: Path, counts: Mapping[str, int], tell: Callable[[str], None]
    ) -> None:
        """Begin at the start of the file."""
        self._events, self._counts, self._tell = events, counts, tell
        self._at, self._rest = 0, ""
        self._done, self._count, self._device = 0, max(counts.values(), default=0), ""

    def look(self) -> None:
        """Read on, and tell what the last event says; a file that cannot be read is no news."""
        with suppress(OSError), self._events.open("rb") as stream:
            stream.seek(self._at)
            data = stream.read(_CHUNK)
            self._at += len(data)
            lines = (self._rest + data.decode("utf-8", errors="replace")).split("\n")
            self._rest = lines.pop()[-_LINE_LIMIT:]
            said = [text for line in lines if (text := self._words(line))]
            if said:
                self._tell(said[-1])

    def _words(self, line: str) -> str:
        """Return what an event says, empty where it is no news."""
        match read_event(line):
            case Start():
                return "importing torch"
            case Imported() as imported:
                self._device = printable(imported.device, 20)
                kind = CPU if imported.device == CPU else CUDA
                self._count = self._counts.get(kind, self._count)
                return f"looking at {self._device}" if self._device else ""
            case Phase() as phase:
                cell = f"{phase.cell.backend.value} {phase.cell.dtype.value} {phase.cell.case}"
                what = printable(f"{cell}: {phase.phase}", 80)
                number = min(self._done + 1, self._count)
                return f"{what} on {self._device}, cell {number} of {self._count}"
            case Done():
                self._done += 1
                return ""
            case _:
                return ""
