"""Read many mutations; whatever comes out that may not, or takes too much, is a failure."""

from __future__ import annotations

import contextlib
import random
import resource
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.fuzz.mutation import mutate_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from tools.fuzz.mutation import Mutate

    Read = Callable[[bytes], bool]
    """Reads an input; False where it is refused. What it raises is a failure."""

SLOWEST_S = 2.0
"""Processor time that one input may take."""

HANGS_AFTER_S = 60.0
"""Time by the clock after which one input is given up: a busy machine may take long."""

MEMORY_LIMIT = 512 << 20
"""Bytes that a whole run may take beyond those at its begin."""

_PACKAGE = str(Path("fadoctor", ""))


class FailedError(Exception):
    """An input for which a reader does what it may not."""

    def __init__(self, number: int, data: bytes, problem: str) -> None:
        """Take the number of the input, the input, and what is wrong."""
        super().__init__(f"input {number}: {problem}")
        self.data = data


class Report(NamedTuple):
    """What came of many inputs."""

    runs: int
    read: int
    """Inputs that were read; the others were refused."""
    inputs: int
    """Inputs that reached something new, the first ones among them."""
    slowest_s: float
    elapsed_s: float
    peak_bytes: int
    """The most memory of this process, and how much of it the run added."""
    grown_bytes: int

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"{self.runs} inputs: {self.read} read, {self.runs - self.read} refused; "
            f"slowest {self.slowest_s * 1000:.1f} ms, {self.elapsed_s:.0f} s in all; "
            f"peak {self.peak_bytes >> 20} MiB, {self.grown_bytes >> 20} MiB of it new"
        )


class How(NamedTuple):
    """How inputs are made."""

    seed: int = 0
    first: int = 0
    """Number of the first mutation: one that failed is made again by its number alone."""
    guided: bool = False
    """Whether an input that reaches new lines joins those that are mutated."""
    mutate: Mutate = mutate_bytes


def fuzz(read: Read, corpus: Sequence[bytes], runs: int, how: How | None = None) -> Report:
    """Read the corpus and mutations of it; FailedError for the first that fails."""
    how = how or How()
    pool, seen = list(corpus), set[tuple[str, int]]()
    accepted, slowest = 0, 0.0
    before, started = peak(), time.monotonic()
    for number in range(how.first - len(corpus), how.first + runs):
        data = _input(number, how, corpus, pool)
        lines = set[tuple[str, int]]()
        began = time.thread_time()
        accepted += _attempt(read, number, data, lines if how.guided else None)
        slowest = max(slowest, took := time.thread_time() - began)
        if took > SLOWEST_S and not how.guided:
            raise FailedError(number, data, f"takes {took:.1f} s")
        if not lines <= seen:
            seen |= lines
            pool.append(data)
        if number % 1024 == 0 and peak() - before > MEMORY_LIMIT:
            raise FailedError(number, data, f"up to here {peak() >> 20} MiB are taken")
    elapsed = time.monotonic() - started
    count = runs + len(corpus)
    return Report(count, accepted, len(pool), slowest, elapsed, peak(), peak() - before)


def _input(number: int, how: How, corpus: Sequence[bytes], pool: Sequence[bytes]) -> bytes:
    if number < how.first:
        return corpus[number - how.first]
    chance = random.Random(f"{how.seed} {number}")  # noqa: S311 -- for repetition, not for secrets
    return how.mutate(chance.choice(pool), chance, pool)


def _attempt(read: Read, number: int, data: bytes, lines: set[tuple[str, int]] | None) -> bool:
    with _clock(number, data), _watched(lines):
        try:
            return read(data)
        except FailedError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            raise FailedError(number, data, f"{type(error).__name__}: {error}") from error


@contextlib.contextmanager
def _clock(number: int, data: bytes) -> Iterator[None]:
    """End an input that hangs."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise FailedError(number, data, f"is not done after {HANGS_AFTER_S:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _watched(lines: set[tuple[str, int]] | None) -> Iterator[None]:
    """Gather the lines of the package that run."""
    if lines is None:
        yield
        return

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if _PACKAGE not in name:
            return None
        if event == "line":
            lines.add((name, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def peak() -> int:
    """Return the most bytes that this process had; getrusage counts what a parent had, too."""
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
