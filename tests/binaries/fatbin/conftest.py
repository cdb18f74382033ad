"""NVIDIA's tools out of published wheels, fetched once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.binaries.fatbin.wheels import files_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of wheels and of what is taken out of them."""
    return tmp_path_factory.mktemp("wheels")


@pytest.fixture(scope="session")
def cuobjdump(wheels: Path) -> Path:
    """Return the newest cuobjdump."""
    return _executable("nvidia-cuda-cuobjdump==13.5.37", "*/bin/cuobjdump", wheels)


@pytest.fixture(scope="session")
def old_cuobjdump(wheels: Path) -> Path:
    """Return that of CUDA 12.8, for what the newest gives up on; triton's wheel carries it."""
    return _executable("triton==3.3.1", "*/bin/cuobjdump", wheels)


def _executable(requirement: str, pattern: str, folder: Path) -> Path:
    (tool,) = files_of(requirement, pattern, folder)
    tool.chmod(0o755)
    return tool
