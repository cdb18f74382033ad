"""Read what somebody else wrote: bounded, and never waiting."""

from __future__ import annotations

import os
import stat


def read_file(path: str | os.PathLike[str], limit: int) -> str | None:
    """Return a regular file's text, at most `limit` bytes, undecodable bytes replaced; else None.

    Devices, pipes and sockets are not opened: reading them can block for ever. Files below /proc
    and /sys are regular files of size 0.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 -- some hundred times
            return None
        # Not blocking: what was a file a moment ago can be a pipe by now.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            return file.read(limit).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return None
