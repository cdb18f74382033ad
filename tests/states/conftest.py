"""The space of states, read once."""

from __future__ import annotations

import pytest

from fadoctor.matrix.wheels import Wheels
from tests.catalogue.environments import Torches
from tests.catalogue.evaluation import Doctor
from tests.shipped import compiled
from tests.states.enumeration import Space


@pytest.fixture(scope="session")
def space() -> Space:
    """Return the parts that states are made of."""
    knowledge = compiled().knowledge
    files = tuple(Wheels(knowledge.tables).official())
    return Space(knowledge, Torches(knowledge.tables), files)


@pytest.fixture(scope="session")
def doctor() -> Doctor:
    """Return a doctor with every rule."""
    return Doctor(compiled().knowledge)
