"""Sets of places say what trying each release says, and each range is tried once."""

from __future__ import annotations

import pytest

from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.search import suiting as suiting_module
from fadoctor.repair.plan.search.suiting import Suiting, places_of
from tests.unit.repair.plan.problems import golden, session

NAME = "transformers"


def made() -> Suiting:
    found = session()
    helpers = found.candidates.helpers
    return Suiting(golden("linux-a100-healthy"), helpers, found.bounds, found.pairs)


@pytest.mark.parametrize(
    "asked",
    [">=4.50,<5", ">=4.51.3,!=4.52.*,!=4.57.0,<=4.57.1", "<5,,>=4.40", "==4.57.1", "~x", ""],
)
def test_places_of_clauses_are_those_of_the_range(asked: str) -> None:
    suiting = made()
    every = suiting.every(NAME)
    tried = {each.version for each in every if accepts(asked, each.version)}
    places = suiting.within(NAME, asked)
    assert {each.version for at, each in enumerate(every) if places >> at & 1} == tried


def test_ranges_of_the_same_clauses_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    suiting, asked = made(), []

    def counted(specifier: str, version: str) -> bool:
        asked.append(specifier)
        return accepts(specifier, version)

    monkeypatch.setattr(suiting_module, "accepts", counted)
    for excluded in range(20):
        suiting.within(NAME, f">=4.50,!=4.5{excluded % 4}.0,<5")
    assert len(set(asked)) == 6
    assert len(asked) == 6 * len(suiting.every(NAME))


def test_others_are_told_with_the_ranges_of_each_release() -> None:
    suiting = made()
    others = suiting.others(NAME)
    assert others
    for ranges in others.values():
        assert len(ranges) == len(suiting.every(NAME))
    other, ranges = next(iter(others.items()))
    places = suiting.with_other(NAME, other, "0.1")
    tried = places_of(all(accepts(text, "0.1") for text in some) for some in ranges)
    assert places == tried


def test_all_places() -> None:
    suiting = made()
    assert suiting.all_of(NAME).bit_count() == len(suiting.every(NAME))
    assert suiting.all_of("no-such-package") == 0


def test_searches_of_a_session_share_the_places() -> None:
    one, other = golden("linux-a100-healthy"), golden("linux-a100-healthy", driver__version="580.1")
    assert session().suiting(one) is session().suiting(other)
    older = golden("linux-a100-healthy", python__version="3.9.1")
    assert session().suiting(one) is not session().suiting(older)
