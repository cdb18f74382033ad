"""A log held against an environment: its facts are judged once, however much is asked of them."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.commands.examine import look
from fadoctor.interfaces.commands.explain import explained, read_text
from fadoctor.judging.engine.judge import judge
from fadoctor.model.explanation import Agreement
from fadoctor.sources.examine.request import Request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from fadoctor.model.environment import Environment

GOLDEN = Path(__file__).parents[3] / "golden"
AMPERE = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."


@pytest.fixture
def judged() -> Iterator[list[Environment]]:
    """Collect what is judged by all rules, each time it is."""
    found: list[Environment] = []

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is judge.__code__:
            found.append(frame.f_locals["environment"])

    sys.setprofile(watch)
    yield found
    sys.setprofile(None)


def test_facts_are_judged_once_where_nothing_is_confirmed(judged: list[Environment]) -> None:
    assert explained_on("linux-a100-healthy", AMPERE) != [Agreement.CONFIRMED]
    assert len(judged) == 1


def test_facts_are_judged_once_where_a_plan_follows(judged: list[Environment]) -> None:
    assert explained_on("linux-v100-torch210", AMPERE) == [Agreement.CONFIRMED]
    as_they_are = judged[0].facts
    assert [each.facts == as_they_are for each in judged].count(True) == 1
    assert len(judged) > 1, "the end of the plan is judged, too"


def explained_on(name: str, log: str) -> list[Agreement]:
    request = Request(facts=str(GOLDEN / name / "facts.json"))
    knowledge, environment = look(request)
    reading = read_text(io.BytesIO(log.encode()), "the log", knowledge)
    report = explained(reading, knowledge, request, environment, ())
    return [each.agreement for each in report.checks]
