"""Why a rule came out as it did: truths, facts, what decided, roots and fixes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.judge import judge
from fadoctor.judging.engine.reasons import (
    Comparison,
    Group,
    Reasons,
    condition_reasons,
    deciding,
    reasons_of,
)
from fadoctor.model.fact import Absent, Known
from fadoctor.model.finding import Outcome
from tests.unit.judging.engine.builders import (
    ABSENT,
    UNREAD,
    Facts,
    assess,
    environment,
    rule,
    scope_of,
    shipped,
    table,
)
from tests.unit.judging.engine.test_rule_properties import CONDITIONS, FACTS, LETS, ROWS, SMALL
from tests.unit.judging.engine.test_rule_properties import TABLE as SMALL_TABLE

FLOORS = table("floors", {"os": "word"}, {"driver": "version"}, [{"os": "linux", "driver": "525"}])


def told(facts: Facts, **keys: Any) -> list[Reasons]:
    return list(reasons_of(assess(facts, rule(**keys), tables=[FLOORS])))


def truths_in(group: Group | None) -> list[tuple[str, str]]:
    """Return path and truth of each test, those of groups within included."""
    found = []
    for part in group.parts if group else ():
        found += truths_in(part) if isinstance(part, Group) else [(part.path, part.truth.value)]
    return found


@SMALL
@given(CONDITIONS, FACTS, ROWS, LETS)
def test_what_is_explained_is_what_is_decided(
    condition: dict[str, Any], facts: Facts, row: dict[str, str], let: list[str]
) -> None:
    keys: dict[str, Any] = {"rows": {"r": row}, "let": {"named": let}}
    explained = condition_reasons(condition, scope_of(facts, SMALL_TABLE, **keys))
    assert explained.truth is holds(condition, scope_of(facts, SMALL_TABLE, **keys))


@SMALL
@given(CONDITIONS.filter(bool), FACTS, ROWS)
def test_what_decides_is_a_part_that_agrees(
    condition: dict[str, Any], facts: Facts, row: dict[str, str]
) -> None:
    explained = condition_reasons(condition, scope_of(facts, SMALL_TABLE, rows={"r": row}))
    truths = {test.truth for test in deciding(explained)}
    if explained.truth is Truth.FALSE:
        assert Truth.UNKNOWN not in truths
    else:
        assert truths <= {explained.truth}


def test_a_test_names_the_facts_and_cells_that_it_met() -> None:
    keys: dict[str, Any] = {
        "rows": {"floor": {"table": "floors", "os": "host.os"}},
        "when": {"driver.version": {"at_least": "1", "below": "$floor.driver"}},
    }
    [each] = told({"driver.version": "510.1", "host.os": "linux"}, **keys)
    assert each.when is not None
    at_least, below = each.when.parts
    assert isinstance(at_least, Comparison)
    assert isinstance(below, Comparison)
    assert [met.name for met in at_least.met] == ["driver.version"]
    assert [met.name for met in below.met] == ["driver.version", "host.os", "floors.driver"]
    assert below.met[2].fact == Known("525", "matrix floors")
    assert (below.operator, below.operand, each.outcome) == ("below", "$floor.driver", Outcome.FAIL)


def test_what_follows_a_false_test_is_told_too_and_the_first_decides() -> None:
    when = {"torch.version": {"below": "2"}, "host.os": "linux", "driver.version": "1"}
    facts = {"torch.version": "2.6.0", "host.os": "windows", "driver.version": None}
    [each] = told(facts, when=when)
    assert truths_in(each.when) == [
        ("torch.version", "false"),
        ("host.os", "false"),
        ("driver.version", "not there"),
    ]
    assert each.when is not None
    assert [test.path for test in deciding(each.when)] == ["torch.version"]
    assert each.outcome is Outcome.PASS


def test_of_branches_that_hold_those_decide() -> None:
    when = {"any": [{"host.os": "linux"}, {"host.os": "windows", "torch.version": "2"}]}
    [each] = told({"host.os": "linux", "torch.version": UNREAD}, when=when)
    assert each.when is not None
    assert [(test.operand, test.truth) for test in deciding(each.when)] == [("linux", Truth.TRUE)]


def test_a_name_shows_what_stood_in_its_place() -> None:
    keys: dict[str, Any] = {
        "let": {"wanted": ["torch.cuda", "driver.version"]},
        "when": {"wanted": {"present": True}},
    }
    [each] = told({"torch.cuda": None, "driver.version": "550"}, **keys)
    assert each.when is not None
    [part] = each.when.parts
    assert isinstance(part, Comparison)
    assert [(met.name, type(met.fact)) for met in part.met] == [
        ("torch.cuda", Absent),
        ("driver.version", Known),
    ]


def test_evidence_that_overrules_is_told() -> None:
    facts = {"host.os": "linux", "host.wsl": True}
    [each] = told(facts, overruled_by={"host.wsl": True})
    assert (each.outcome, truths_in(each.overruled_by)) == (Outcome.PASS, [("host.wsl", "true")])


def test_each_subject_has_its_own_reasons_and_none_says_what_was_counted() -> None:
    keys: dict[str, Any] = {
        "for_each": ["gpu"],
        "when": {"gpu.compute_capability": {"below": "8.0"}},
    }
    facts = {"gpu.count": 2, "gpu[0].compute_capability": "7.0", "gpu[1].compute_capability": "9.0"}
    found = {each.subject: each.outcome for each in told(facts, **keys)}
    assert found == {"gpu[0]": Outcome.FAIL, "gpu[1]": Outcome.PASS}
    [nothing] = told({"gpu.count": 0}, **keys)
    assert (nothing.outcome, nothing.when) == (Outcome.NOT_APPLICABLE, None)
    assert [(met.name, met.fact) for met in nothing.met] == [("gpu.count", Known(0, "test"))]


def test_a_consequence_names_its_root_and_a_fix_its_conditions() -> None:
    fixes = [
        {"id": "one", "title": "One", "steps": [{"advice": "Do."}], "when": {"host.wsl": True}},
        {"id": "two", "title": "Two", "steps": [{"advice": "Do."}], "when": {"host.wsl": False}},
    ]
    root, leaf = rule("root", fixes=fixes), rule("leaf", explained_by=["root"])
    assessment = assess({"host.os": "linux", "host.wsl": False}, root, leaf)
    one, two = reasons_of(assessment)
    assert [(fix.id, fix.offered, truths_in(fix.when)) for fix in one.fixes] == [
        ("one", False, [("host.wsl", "false")]),
        ("two", True, [("host.wsl", "true")]),
    ]
    assert (one.root, two.root) == ("", "root")
    assert reasons_of(assessment, "leaf") == (two,)


@pytest.mark.parametrize(
    ("fix", "why"),
    [
        ({"steps": [{"advice": "Do."}], "logged": ["ninja"]}, "it needs a line of a log"),
        ({"steps": [{"advice": "Do."}], "when": {"host.wsl": True}}, "do not surely hold"),
        ({"steps": [{"advice": "Take torch {torch.version}."}]}, "that its text names is unknown"),
        ({"steps": [{"uninstall": ["xformers"]}]}, "only removes packages that are not installed"),
    ],
)
def test_a_fix_that_is_not_offered_says_why(fix: dict[str, Any], why: str) -> None:
    facts = {"host.os": "linux", "xformers.version": ABSENT}
    [each] = told(facts, fixes=[{"id": "one", "title": "One", **fix}])
    [reason] = each.fixes
    assert not reason.offered
    assert why in reason.hindrance


def test_a_rule_that_broke_has_no_reasons() -> None:
    [each] = told({"host.os": "linux"}, when={"host.os": {"between": 1}})
    assert (each.outcome, each.when) == (Outcome.ERROR, None)


def test_a_fact_that_is_absent_is_told_from_one_that_is_unknown() -> None:
    when = {"torch.version": "1", "torch.cuda": "1"}
    [each] = told({"torch.version": UNREAD, "torch.cuda": ABSENT}, when=when)
    assert truths_in(each.when) == [("torch.version", "unknown"), ("torch.cuda", "not there")]
    assert each.outcome is Outcome.NOT_APPLICABLE


def test_a_card_that_another_does_without_says_so() -> None:
    facts = {
        "gpu.count": 2,
        "flash_attn.version": "2.8.3",
        "gpu[0].compute_capability": "7.0",
        "gpu[1].compute_capability": "9.0",
        "gpu[0].visible": True,
        "gpu[1].visible": True,
    }
    found = reasons_of(judge(environment(facts), shipped()), "gpu-too-old-fa2")
    assert [(each.subject, each.outdone) for each in found] == [("gpu[0]", True), ("gpu[1]", False)]
