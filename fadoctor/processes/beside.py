"""Do something beside the rest: in a thread, or in line where the system gives none.

A limit on processes (``ulimit -u``, a container's) or on memory (``ulimit -v``) refuses threads.
What is wanted is then done one after the other: it takes longer, and nothing is missing.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOM = 4 << 30
"""Bytes of addresses below which nothing is done in threads."""


def beside(work: Callable[[], object], name: str | None = None) -> Callable[[], None]:
    """Begin something and return what waits for its end; it may have ended then.

    What a thread has no memory for is done once more, in line.
    """
    failed: list[MemoryError] = []

    def try_it() -> None:
        try:
            work()
        except MemoryError as error:
            failed.append(error)

    thread = start_thread(try_it, name)
    if thread is None:
        work()
        return _ended

    def wait() -> None:
        thread.join()
        if failed:
            failed.clear()
            work()

    return wait


def start_thread(work: Callable[[], object], name: str | None = None) -> threading.Thread | None:
    """Return a thread that runs, a daemon; None where none can be started, or had better not be."""
    if _is_narrow():
        return None
    thread = threading.Thread(target=work, name=name, daemon=True)
    try:
        thread.start()
    except (RuntimeError, MemoryError):  # "can't start new thread"
        return None
    return thread


def _is_narrow() -> bool:
    """Return whether our memory is limited so that a thread's beginning may fail.

    It takes a stack and a heap of its own, 72 MiB of addresses. Where that fails in Python's own
    code, whoever started it waits for ever.
    """
    try:
        import resource  # noqa: PLC0415 -- Unix only
    except ImportError:
        return False
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit != resource.RLIM_INFINITY and limit < ROOM


def _ended() -> None:
    """Wait for what has ended."""
