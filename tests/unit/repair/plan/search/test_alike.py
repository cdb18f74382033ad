"""Releases that differ in their number alone are looked at once."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from fadoctor.repair.plan.choices.choice import keep, remove
from fadoctor.repair.plan.search.alike import SameStance
from tests.unit.repair.plan.problems import golden, problem


def _kinds(package: str) -> dict[object, list[str]]:
    made = problem(golden("linux-5090-torch26"), want=(package,))
    alike, found = SameStance(made), defaultdict(list)
    for each in made.session.candidates.listed.every(package):
        found[alike.key(each)].append(each.version)
    return found


def test_many_releases_are_few_kinds_each_with_what_it_asks_for() -> None:
    kinds = _kinds("unsloth")
    assert 3 * len(kinds) < sum(map(len, kinds.values()))
    made = problem(golden("linux-5090-torch26"), want=("unsloth",))
    by_version = {c.version: c for c in made.session.candidates.listed.every("unsloth")}
    for versions in kinds.values():
        ranges = {
            by_version[each].facts["unsloth.requires"].value["transformers"]  # type: ignore[union-attr, call-overload, index] # of a release
            for each in versions
        }
        assert len(ranges) == 1


def test_what_is_no_release_of_a_table_is_like_nothing_else() -> None:
    made = problem(golden("linux-5090-torch26"), want=("unsloth",))
    alike = SameStance(made)
    assert alike.key(keep("unsloth")) is None
    assert alike.key(remove("xformers")) is None


def test_where_an_installer_refused_something_no_two_are_alike() -> None:
    made = problem(golden("linux-5090-torch26"), want=("unsloth",))
    newest = made.session.candidates.listed.every("unsloth")[0]
    assert SameStance(made).key(newest) is not None
    made.lessons = msgspec.structs.replace(made.lessons, stuck=frozenset(("numpy",)))
    assert SameStance(made).key(newest) is None
