"""Releases of the time of what requires them come first."""

from __future__ import annotations

import pytest

from fadoctor.repair.plan.choices.offers import offer
from tests.unit.repair.plan.problems import session

NEWEST_FIRST = ("5.20.2", "5.0.0", "4.57.6", "4.57.1", "4.48.2", "4.46.3")


def _sorted(*askers: tuple[str, str]) -> list[str]:
    found = [offer(f"transformers=={version}") for version in NEWEST_FIRST]
    choices = [each for each in found if each is not None]
    return [each.version for each in session().months.of_their_time(choices, askers)]


def test_what_came_long_after_its_asker_is_last() -> None:
    assert _sorted(("vllm", "0.6.6"))[:2] == ["4.48.2", "4.46.3"]


def test_what_mends_a_release_counts_as_of_its_time() -> None:
    assert _sorted(("trl", "0.24.0"))[0] == "4.57.6"


def test_the_oldest_asker_decides_for_whose_time_there_is_one() -> None:
    assert _sorted(("vllm", "0.6.6"), ("peft", "0.21.2"))[0] == "4.48.2"
    assert _sorted(("vllm", "0.4.0"), ("trl", "0.24.0"))[0] == "4.57.6"


def test_of_what_is_in_use_beside_the_last_is_known() -> None:
    months = session().months
    assert months.newest_of([("vllm", "0.6.6"), ("trl", "0.24.0"), ("somebody", "1")]) == [
        ("trl", "0.24.0")
    ]
    assert months.newest_of([("somebody", "1")]) == []


@pytest.mark.parametrize("asker", [("vllm", "0.33.0"), ("vllm", "9.9"), ("somebody", "1.0")])
def test_order_stays_where_nothing_is_late_or_nobody_knows(asker: tuple[str, str]) -> None:
    assert _sorted(asker) == [*NEWEST_FIRST]
