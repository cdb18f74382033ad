"""A folder that takes seconds to make, made by one worker for all of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE_S = 300
"""How long the others wait for the one that makes it."""


def made_once(
    factory: pytest.TempPathFactory, worker: str, name: str, make: Callable[[Path], None]
) -> Path:
    """Return a folder that nobody changes; the first that asks makes it, the others wait.

    `worker` is "master" where there are none.
    """
    base = factory.getbasetemp()
    shared = (base if worker == "master" else base.parent) / f"once-{name}"
    folder, end = shared / "project", shared / "end"
    try:
        shared.mkdir()
    except FileExistsError:
        until = time.monotonic() + PATIENCE_S
        while not end.exists() and time.monotonic() < until:
            time.sleep(0.05)
        if not folder.exists() or not end.exists():
            pytest.fail(f"another worker could not make {name}")
        return folder
    try:
        make(folder)
    finally:
        end.touch()
    return folder
