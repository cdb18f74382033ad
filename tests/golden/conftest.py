"""How golden files are written again: ``pytest tests/golden --update-golden``."""

from __future__ import annotations

import os

import pytest

VARIABLE = "FADOCTOR_UPDATE_GOLDEN"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option. It is seen only where this folder is named on the command line."""
    parser.addoption(
        "--update-golden", action="store_true", help=f"write golden files again; so does {VARIABLE}"
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Whether what comes out is written down instead of compared."""
    wanted: bool = request.config.getoption("--update-golden", default=False)
    return wanted or os.environ.get(VARIABLE) == "1"
