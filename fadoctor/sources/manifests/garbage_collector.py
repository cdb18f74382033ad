"""The cyclic garbage collector, kept out of the way of what only grows."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused() -> Iterator[None]:
    """Do without collections for as long as a file is read.

    They would look again and again at hundreds of thousands of values, none of which is garbage:
    up to half of the time that a large lock takes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
