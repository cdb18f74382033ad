"""Die by a signal as one should: what we started is ended first, and what we made is removed.

SIGTERM, SIGHUP and SIGQUIT end a Python program on the spot by default: no ``finally`` runs, and a
child in a group of its own goes on for ever.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

LAST_RESORT_S = 1.5
"""Time for tidying up, seconds; then the process ends without."""

_SIGNALS = ("SIGTERM", "SIGHUP", "SIGQUIT")


class _Ended(BaseException):
    """A signal came: unwind, and let every ``finally`` run."""


class Running:
    """The groups of children that are running. A signal handler uses it: no lock."""

    def __init__(self) -> None:
        """Begin with none."""
        self.groups: set[int] = set()
        self.closing = False
        """Whether no other child may be started."""
        self.starting = threading.Lock()
        """Held while a child is started and noted; no signal handler waits for it."""

    def close(self) -> None:
        """Let no other child be started; one that is on its way is noted first."""
        held = self.starting.acquire(timeout=LAST_RESORT_S)
        self.closing = True
        if held:
            self.starting.release()

    def end_groups(self) -> None:
        """Kill every group that is there, of one that is on its way, too; others may follow.

        Not for signal handlers: it waits for whoever starts a child.
        """
        with self.starting:
            groups = tuple(self.groups)
        _kill(groups)

    def end_all(self) -> None:
        """Kill every group; whoever waits for one hears of it by the child's end."""
        self.closing = True
        _kill(tuple(self.groups))


def _kill(groups: tuple[int, ...]) -> None:
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


RUNNING = Running()
"""Of this process, as signals are."""


@contextmanager
def ends_by_signals() -> Iterator[None]:
    """End children and leave all contexts where such a signal comes, then die of it.

    A signal that is ignored (nohup) or has a handler already is left alone, and so is everything
    outside the main thread.
    """
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread() or not numbers:
        yield
        return
    came: list[int] = []

    def end(number: int, _frame: object) -> None:
        for each in numbers:  # `timeout` sends it twice
            signal.signal(each, signal.SIG_IGN)
        came.append(number)
        RUNNING.end_all()
        last_resort = threading.Timer(LAST_RESORT_S, os._exit, (128 + number,))
        last_resort.daemon = True
        last_resort.start()
        raise _Ended

    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    except _Ended:
        die_of(came[0])
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def interrupted_by_term() -> Iterator[list[int]]:
    """Take SIGTERM for Ctrl-C: what is known is told, and `timeout` is no reason to tell nothing.

    Gives a list that holds the signal once it came: `die_of` it in the end. A further one is
    ignored from then on. Nothing changes where it is ignored (nohup), and outside
    the main thread.
    """
    number = getattr(signal, "SIGTERM", None)
    is_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(number) if number is not None else None
    came: list[int] = []
    if number is None or not is_main or before in (None, signal.SIG_IGN):
        yield came
        return

    def end(_number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        came.append(number)
        raise KeyboardInterrupt

    signal.signal(number, end)
    try:
        yield came
    finally:
        if not came:
            signal.signal(number, before)


def die_of(number: int) -> None:
    """End by a signal, so that who waits for us sees which."""
    RUNNING.end_all()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # the first process of a container does not die of its own signal
