"""Knowledge, tables and wheels, read once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.matrix.compile import compile_rules
from fadoctor.matrix.wheels import WheelFile, Wheels
from tests.catalogue.environments import Torches
from tests.catalogue.evaluation import Doctor

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="package")
def knowledge() -> Knowledge:
    """Return rules and tables, those that are compiled apart included."""
    compiled = compile_rules(RULES)
    assert [str(problem) for problem in compiled.problems] == []
    return compiled.knowledge


@pytest.fixture(scope="package")
def wheels(knowledge: Knowledge) -> Wheels:
    return Wheels(knowledge.tables)


@pytest.fixture(scope="package")
def official(wheels: Wheels) -> tuple[WheelFile, ...]:
    return tuple(wheels.official())


@pytest.fixture(scope="package")
def torches(knowledge: Knowledge) -> Torches:
    return Torches(knowledge.tables)


@pytest.fixture(scope="package")
def doctor(knowledge: Knowledge) -> Doctor:
    return Doctor(knowledge)
