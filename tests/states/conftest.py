"""The space of states, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from fadoctor.matrix.compile import compile_rules
from fadoctor.matrix.wheels import Wheels
from tests.catalogue.environments import Torches
from tests.catalogue.evaluation import Doctor
from tests.states.enumeration import Space

RULES = Path(__file__).parents[2] / "rules"


@pytest.fixture(scope="session")
def space() -> Space:
    """Return the parts that states are made of."""
    knowledge = compile_rules(RULES).knowledge
    files = tuple(Wheels(knowledge.tables).official())
    return Space(knowledge, Torches(knowledge.tables), files)


@pytest.fixture(scope="session")
def doctor() -> Doctor:
    """Return a doctor with every rule."""
    return Doctor(compile_rules(RULES).knowledge)
