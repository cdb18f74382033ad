"""What the tests of readers share: a file of given bytes, and what is read from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.binary.fatbin import Fatbins, read_fatbins

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Fatbins]:
    """Return a function that writes bytes to a file and reads its fatbins."""

    def read_bytes(data: bytes, *, thorough: bool = False) -> Fatbins:
        file = tmp_path / "library.so"
        file.write_bytes(data)
        return read_fatbins(file, thorough=thorough)

    return read_bytes
