"""Tie a child to our own life: when we are gone, however that came about, its group is killed.

A guard in the child's own group waits for the end of a pipe that we alone hold open. The kernel
closes it when we end, by SIGKILL as well. Unlike a parent-death signal it reaches what the child
has started, holds before the child's first line, and does not ask which thread started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_GATE = """
import os, sys
try:
    if os.fork() == 0:
        if os.fork() == 0:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.read(0, 1)
            os.killpg(0, 9)
        os._exit(0)
    os.wait()
except OSError:
    pass
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Leaves the guard behind, as nobody's child, and becomes the command; without room for a guard it
does so alone."""


@contextmanager
def tied(argv: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Give what to start instead, and its standard input, for as long as the child may live.

    `argv` begins with the path of a program. Where there is no fork nothing is changed.
    """
    if not hasattr(os, "fork"):
        yield argv, subprocess.DEVNULL
        return
    if not os.access(argv[0], os.X_OK):
        raise FileNotFoundError(2, "No such file or directory")
    reader, writer = os.pipe()
    try:
        yield (sys.executable, "-I", "-S", "-c", _GATE, *argv), reader
    finally:
        os.close(reader)
        os.close(writer)
