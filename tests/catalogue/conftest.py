"""Knowledge, tables and wheels, read once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.matrix.compile import compile_rules
from fadoctor.matrix.wheels import WheelFile, Wheels
from tests.catalogue.environments import Torches

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="package")
def knowledge() -> Knowledge:
    """Return rules and tables, those that are compiled apart included."""
    return compile_rules(RULES).knowledge


@pytest.fixture(scope="package")
def wheels(knowledge: Knowledge) -> Wheels:
    return Wheels(knowledge.tables)


@pytest.fixture(scope="package")
def official(wheels: Wheels) -> tuple[WheelFile, ...]:
    return tuple(wheels.official())


@pytest.fixture(scope="package")
def some(official: tuple[WheelFile, ...]) -> tuple[WheelFile, ...]:
    """Return one Python of each file."""
    found = {(f.release, f.torch, f.cuda, f.label_abi, f.platform): f for f in official}
    assert sum(1 for f in official if f.python == "cp310") < len(found) < len(official)
    return tuple(found.values())


@pytest.fixture(scope="package")
def torches(knowledge: Knowledge) -> Torches:
    return Torches(knowledge.tables)
