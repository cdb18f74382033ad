"""No step for a purpose that something unrepaired vetoes."""

from __future__ import annotations

import pytest

from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.search.cost import Cost
from fadoctor.repair.plan.search.shortfall import FAILS
from fadoctor.repair.plan.search.solution import Solution
from fadoctor.repair.plan.written.worth import worthwhile
from tests.states.sequences import on_platform
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, problem

GPU = ("NVIDIA A100-SXM4-80GB", "8.0", "580.65.06")
CHOICE = Choice("torch", ChoiceKind.INSTALL, "2.8.0", "2.8.0", "torch==2.8.0")


@pytest.mark.parametrize(
    ("cost", "is_kept"),
    [
        (Cost(), True),
        (Cost(errors=1), True),
        (Cost(lost=1), True),
        (Cost(errors=1, lost=1), False),
    ],
)
def test_nothing_is_lost_for_a_half_repair(cost: Cost, *, is_kept: bool) -> None:
    made = problem(start("torch of another index", GPU))
    found = worthwhile(made, Solution((CHOICE,), cost))
    assert bool(found.changes) is is_kept
    assert found.cost == cost


def test_what_was_asked_for_is_done() -> None:
    made = problem(start("torch of another index", GPU), want=("flash-attn",))
    found = worthwhile(made, Solution((CHOICE,), Cost(errors=1, lost=1)))
    assert found.changes


def test_nothing_comes_that_was_asked_for_where_no_backend_would_work() -> None:
    made = problem(start("torch of another index", GPU), want=("flash-attn",))
    all_fail = Cost(errors=1, missed=FAILS[0] * len(made.wishes.cells))
    assert not worthwhile(made, Solution((CHOICE,), all_fail)).changes
    assert worthwhile(made, Solution((CHOICE,), Cost(missed=all_fail.missed))).changes


def test_nothing_comes_beside_a_torch_that_cannot_compute_on_the_gpu() -> None:
    """An installer would bring any torch with it. Of Linux on ARM none has code for a T4."""
    there = on_platform(start("empty", ("Tesla T4", "7.5", "580.65.06"), "3.12"), "linux_aarch64")
    found = plan(there, want=("transformers", "peft"))
    assert not found.changes
    assert "no known torch for linux_aarch64 fits Tesla T4" in " ".join(found.notes)
