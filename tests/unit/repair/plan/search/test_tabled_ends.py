"""The tables are read once for all searches, and tell what reading them each time told."""

from __future__ import annotations

from typing import Any

from fadoctor.repair.plan.search.alike import SameStance
from fadoctor.repair.plan.search.tabled_ends import TabledEnds, ends_in
from tests.unit.repair.plan.problems import golden, problem, session


def test_ends_of_ranges() -> None:
    begins, others = ends_in((">=4.51.3,!=4.52.0", "<5", "<=5.2", "== 4.57"))
    assert sorted(map(str, begins)) == ["4.51.3", "5"]
    assert sorted(map(str, others)) == ["4.52.0", "4.57", "5.2"]


def test_who_asks_for_what() -> None:
    tabled = session().tabled
    assert "unsloth" in tabled.askers("transformers")
    assert tabled.askers("unsloth-zoo") <= {"unsloth", "unsloth_zoo"}
    assert tabled.askers("no-such-package") == frozenset()


def test_a_second_search_reads_no_table_again() -> None:
    read: list[str] = []

    class Counted(TabledEnds):
        def _every_ask(self) -> Any:
            read.append("asks")
            return super()._every_ask()

        def _compared(self, package: str) -> Any:
            read.append(package)
            return super()._compared(package)

    made = problem(golden("linux-5090-torch26"), want=("unsloth",))
    before = made.session.tabled
    made.session.tabled = Counted(made.session.matrix, made.session.candidates.listed)
    try:
        newest = made.session.candidates.listed.every("unsloth")[0]
        keys = {SameStance(made).key(newest) for _ in range(3)}
    finally:
        made.session.tabled = before
    assert len(keys) == 1
    assert sorted(read) == ["asks", "unsloth"]
