"""An older release takes no more than the next one that declares a bound."""

from __future__ import annotations

import pytest

from fadoctor.model.fact import Known, fact_mapping
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.later_bounds import as_later_ones
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan

RTX = ("NVIDIA GeForce RTX 4090", "8.9", "580.65.06")


def _bounded(*specifiers: str) -> list[str]:
    """Return what releases require of transformers, newest first."""
    every = [
        Choice(
            "unsloth", ChoiceKind.INSTALL, str(number), f"{9 - number}.0",
            facts={"unsloth.requires": Known({"transformers": text}, "test")},
        )
        for number, text in enumerate(specifiers)
    ]  # fmt: skip
    found = [fact_mapping(each.facts["unsloth.requires"]) for each in as_later_ones(every)]
    return [needs["transformers"] for needs in found]


@pytest.mark.parametrize(
    ("declared", "older"),
    [
        ("<=4.55.4", ">=4.51.3,<=4.55.4"),
        (">=4.50,<5", ">=4.51.3,<5"),
        ("==4.51.3", ">=4.51.3,<=4.51.3"),
        ("~=4.51.3", ">=4.51.3,<=4.51.3"),
        (">=4.60", ">=4.51.3"),
        ("not a range", ">=4.51.3"),
    ],
)
def test_a_bound_holds_for_the_older(declared: str, older: str) -> None:
    assert _bounded(declared, ">=4.51.3") == [declared, older]


def test_the_nearest_newer_bound_counts_and_an_own_one_stays() -> None:
    assert _bounded("<=5.17", "<=4.57", "", "<4.45", "") == [
        "<=5.17", "<=4.57", "<=4.57", "<4.45", "<4.45",
    ]  # fmt: skip


def test_no_old_framework_comes_because_its_metadata_are_loose() -> None:
    """unsloth 2025.9.5 declares no bound, and transformers 5.22 came a year later."""
    found = plan(start("transformers alone", RTX), want=("unsloth",))
    changed = {change.distribution: change.after for change in found.changes}
    assert changed["unsloth"] > "2026"
    assert changed["transformers"] < "5.18"
