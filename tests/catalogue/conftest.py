"""Knowledge, tables and wheels, read once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fadoctor.knowledge.matrix.wheels import WheelFile, Wheels
from tests.catalogue.environments import Torches
from tests.shipped import compiled

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge


@pytest.fixture(scope="package")
def knowledge() -> Knowledge:
    """Return rules and tables, those that are compiled apart included."""
    return compiled().knowledge


@pytest.fixture(scope="package")
def wheels(knowledge: Knowledge) -> Wheels:
    return Wheels(knowledge.tables)


@pytest.fixture(scope="package")
def official(wheels: Wheels) -> tuple[WheelFile, ...]:
    return tuple(wheels.official())


_ASKED = os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
_STEPS = (
    pytest.param(9, id="a ninth"),
    pytest.param(4, marks=pytest.mark.long, id="a quarter"),
    pytest.param(1, marks=[pytest.mark.long, pytest.mark.weekly], id="all"),
)


@pytest.fixture(scope="package", params=[_STEPS[("long" in _ASKED) + ("weekly" in _ASKED)]])
def step(request: pytest.FixtureRequest) -> int:
    """Return how many files there are to each that is tried."""
    return int(request.param)


@pytest.fixture(scope="package")
def tried(official: tuple[WheelFile, ...], step: int) -> tuple[WheelFile, ...]:
    """Return the official files that are tried."""
    return official[::step]


@pytest.fixture(scope="package")
def some(official: tuple[WheelFile, ...], step: int) -> tuple[WheelFile, ...]:
    """Return one Python of each file, of those that are tried."""
    found = {(f.release, f.torch, f.cuda, f.label_abi, f.platform): f for f in official}
    assert sum(1 for f in official if f.python == "cp310") < len(found) < len(official)
    return tuple(found.values())[::step]


@pytest.fixture(scope="package")
def torches(knowledge: Knowledge) -> Torches:
    return Torches(knowledge.tables)
