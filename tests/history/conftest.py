"""The shipped rules and tables, and the table of every torch release, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.matrix.load import load_knowledge
from tests.history.environments import stacks
from tests.history.table import Cells, cells

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """Return what is shipped."""
    return load_knowledge()


@pytest.fixture(scope="session")
def releases(knowledge: Knowledge) -> dict[str, Cells]:
    """Return torch release -> its cells on all GPUs."""
    return {torch: cells(stack, knowledge) for torch, stack in stacks().items()}
