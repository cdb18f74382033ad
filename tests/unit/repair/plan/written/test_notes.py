"""What a plan says of pins that no table holds, and of what could not be decided."""

from __future__ import annotations

import pytest

from fadoctor.model.environment import Environment, Target
from fadoctor.model.finding import Undecided
from fadoctor.model.plan import PlanOutcome
from fadoctor.model.plan_words import UNASKED_NOTE, UNDECIDED_NOTE
from fadoctor.repair.plan.search.problem import Base, Problem
from fadoctor.repair.plan.search.wishes import Wishes
from fadoctor.repair.plan.written.notes import unseen_notes
from tests.unit.repair.plan.problems import session


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ({"vllm": ">=0.8", "ray": "==2.44.1"}, True),
        ({"vllm": "==0.8.3", "ray": "==2.44.1"}, False),
        ({"vllm": ">=0.8", "ray": ">=2.43"}, False),
        ({"vllm": ">=0.8", "torch": "==2.6.0"}, False),
    ],
)
def test_a_pin_beside_a_range_is_left_to_an_installer(
    asked: dict[str, str], *, is_told: bool
) -> None:
    environment = Environment("0", Target("manifest", "x", "y"), {}, asked=asked)
    problem = Problem(session(), environment, Wishes(), Base((), ()), {})
    notes = list(unseen_notes(problem, (), PlanOutcome.NOTHING, ()))
    assert any(note.startswith(UNASKED_NOTE) for note in notes) is is_told


def test_a_rule_counts_once_however_many_packages_it_leaves_open() -> None:
    """Regression: more rules could not be decided than there are."""
    problem = Problem(
        session(), Environment("0", Target("manifest", "x", "y"), {}), Wishes(), Base((), ()), {}
    )
    asked = (("a", "x"), ("a", "y"), ("b", "x"))
    undecided = [Undecided(rule, ("torch.version",), "not said", of) for rule, of in asked]
    notes = list(unseen_notes(problem, (), PlanOutcome.PARTIAL, undecided))
    assert f"2 rules{UNDECIDED_NOTE}" in notes
