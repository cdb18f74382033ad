"""How much work something is, without a clock: a slow machine does as much of it as a fast one."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FEWEST = 20


def in_memory() -> str | None:
    """Return a folder for files of which it does not matter that they are on a disk.

    To lay out a hundred recorded machines on one, and to remove them, takes half a minute of
    waiting. None is the system's own folder, where pytest has none in memory (tests/conftest.py).
    """
    return os.environ.get("PYTEST_DEBUG_TEMPROOT")


def examples(all_of_them: int) -> int:
    """Return how many inputs a property is tried on: a fifth of all, unless more are asked for.

    Each run draws others. By `FADOCTOR_TESTS_REQUIRE=properties`, as in `.ci/run`, it is half of
    them, with `weekly` beside it all.
    """
    asked = os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
    share = 5 if "properties" not in asked else 1 if "weekly" in asked else 2
    return min(all_of_them, max(_FEWEST, all_of_them // share))


PATIENCE_S = 60
"""Of the processor: what takes longer does not end, on whatever machine."""


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions are called, ours and those of the interpreter.

    Of what one such call costs it says nothing: a pattern that runs away, a copy of megabytes.
    """
    found = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal found
        found += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


@contextmanager
def which_ends(what: str = "it") -> Iterator[None]:
    """Fail where what is done does not end: a pattern that runs away is one call.

    Give it so much that what grows with the square needs hours.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def fail(*_: Any) -> None:
        pytest.fail(f"{what} has no end after {PATIENCE_S} s of the processor")

    before = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
