"""Where libraries are made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.binaries.forge import Forge

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    return Forge(tmp_path)
