"""Bars of times, held against a baseline that was measured in the same run.

A bar is what a machine may take that needs `UNIT_MS` for `work`. On a slower one, or a busy one, it
is raised by as much. What is over a bar is said; a program ends with 1 at three times a bar: a
busy machine reached twice one. Other work on the machine only adds to a time: what is over so many
bars is measured again, and the least counts.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

UNIT_MS = 10.0
"""Time of `work` on the machine for which the bars are stated."""

OVER = 3.0
"""How many bars stop a landing."""

TRIES = 4
"""How often a time is measured that is over so many bars."""

_RECORD = {"name": "torch", "version": "2.13.0", "files": [f"torch/{n}.py" for n in range(40)]}
_TEXT = json.dumps([_RECORD] * 40)
_WORD = re.compile(r"[a-z]+/(\d+)\.py")


def work() -> int:
    """Decode, search, count and sort, as our own code mostly does."""
    found = 0
    for _ in range(15):
        data = json.loads(_TEXT)
        counts: dict[str, int] = {}
        for match in _WORD.finditer(json.dumps(data)):
            counts[match[1]] = counts.get(match[1], 0) + 1
        found += len(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return found


class Bars:
    """The bars of one program, and how its times stand to them.

    `clock` is the one of what is measured: another process slows down wall times only.
    """

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        """Measure the baseline once."""
        self.clock = clock
        self.units: list[float] = []
        self.over: list[str] = []
        self.measure()

    def measure(self) -> None:
        """Measure the baseline again: beside what it is held against."""
        times = []
        for _ in range(5):
            started = self.clock()
            work()
            times.append((self.clock() - started) * 1000)
        self.units.append(statistics.median(times))

    @property
    def slowness(self) -> float:
        """How much slower this machine is; a faster one gets no lower bars."""
        return max(1.0, statistics.median(self.units) / UNIT_MS)

    def told(self, name: str, measured_ms: float, bar_ms: float) -> str:
        """Return how a time stands to its bar, and keep it where it is over `OVER` of that."""
        allowed = bar_ms * self.slowness
        if measured_ms > OVER * allowed:
            self.over.append(name)
        state = "met" if measured_ms <= allowed else "MISSED"
        here = f" ({allowed:.0f} ms here)" if self.slowness > 1 else ""
        return f"bar {bar_ms:.0f} ms{here}: {state}"

    def held(self, name: str, time_ms: Callable[[], float], bar_ms: float) -> tuple[float, str]:
        """Measure a time until it is below `OVER` bars; return the least, and how it stands."""
        least = float("inf")
        for _ in range(TRIES):
            least = min(least, time_ms())
            self.measure()
            if least <= OVER * bar_ms * self.slowness:
                break
        return least, self.told(name, least, bar_ms)

    def end(self) -> int:
        """Say what is over twice its bar; return the exit status."""
        if self.over:
            print(f"over {OVER:g} x their bars: {', '.join(self.over)}")
        return 1 if self.over else 0
