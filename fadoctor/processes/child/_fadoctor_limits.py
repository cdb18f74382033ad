"""Limits on memory and processor time of the process that asks for them."""

from __future__ import annotations

import signal
from contextlib import suppress


def limit_resources(memory_bytes: int, cpu_s: float) -> None:
    """Bound memory and processor time of this process, where the system can.

    Time ends it by a signal that nobody handles, and one second later by the kernel.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, limit in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, int(cpu_s) + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (limit, limit))
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
