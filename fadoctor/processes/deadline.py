"""When a child's time is over: at a fixed moment, or earlier where its pulse stops."""

from __future__ import annotations

import os
from contextlib import suppress

import msgspec


class Pulse(msgspec.Struct, frozen=True):
    """A second deadline, which begins anew whenever a file grows: a child's sign of life."""

    path: str
    limit_s: float
    first_s: float
    """Time until it grows first, seconds: starting up may take longer than a step."""


class Deadline:
    """The moment at which a child is ended; asked for again and again while it runs."""

    def __init__(self, started: float, timeout_s: float, pulse: Pulse | None) -> None:
        """Begin at `started`, a moment of `time.monotonic`."""
        self._last = started + timeout_s
        self._pulse = pulse
        self._size = 0
        self._pulse_ends = started + pulse.first_s if pulse else self._last

    def at(self, now: float) -> float:
        """Return the moment as it stands now."""
        if self._pulse is not None:
            with suppress(OSError):
                size = os.stat(self._pulse.path).st_size  # noqa: PTH116 -- 20 times a second
                if size > self._size:
                    self._size, self._pulse_ends = size, now + self._pulse.limit_s
        return min(self._last, self._pulse_ends)
