"""The shipped rules and tables, and the table of every torch release, made once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.load import load_knowledge
from tests.history.environments import stacks
from tests.history.table import Cells, cells

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.fixture(scope="session")
def knowledge() -> Knowledge:
    """Return what is shipped."""
    return load_knowledge()


class Releases(Mapping[str, Cells]):
    """Torch release -> its cells on all GPUs, each judged when it is first asked for."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._made: dict[str, Cells] = {}

    def __getitem__(self, torch: str) -> Cells:
        if torch not in self._made:
            self._made[torch] = cells(stacks()[torch], self._knowledge)
        return self._made[torch]

    def __iter__(self) -> Iterator[str]:
        return iter(stacks())

    def __len__(self) -> int:
        return len(stacks())


@pytest.fixture(scope="session")
def releases(knowledge: Knowledge) -> Releases:
    """Return torch release -> its cells on all GPUs."""
    return Releases(knowledge)
