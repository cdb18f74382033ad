"""The space of states and a resolver, made once in each process."""

from __future__ import annotations

import os

import pytest

from tests.catalogue.evaluation import Doctor
from tests.shipped import compiled
from tests.states.enumeration import Space, space_of
from tests.states.resolver import Resolver
from tests.unit.repair.plan.problems import session
from tests.uv import UV

REQUIRED = os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
"""What must not be skipped."""


@pytest.fixture(scope="session")
def space() -> Space:
    """Return the parts that states are made of."""
    return space_of(compiled().knowledge)


@pytest.fixture(scope="session")
def doctor(space: Space) -> Doctor:
    """Return a doctor with every rule."""
    return Doctor(space.knowledge)


@pytest.fixture(scope="session")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    """Return a resolver with an index made from the tables."""
    if not UV:
        (pytest.fail if "enumeration" in REQUIRED else pytest.skip)("needs uv")
    return Resolver(session().matrix, tmp_path_factory.mktemp("index"))
