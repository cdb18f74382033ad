"""The reasons of each rule's cases are those by which it was decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.engine.cases import case_environment, read_case
from fadoctor.judging.engine.condition import Truth, holds
from fadoctor.judging.engine.judge import judge
from fadoctor.judging.engine.reasons import Group, condition_reasons, reasons_of
from fadoctor.judging.engine.scope import Scope
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.finding import Outcome
from fadoctor.model.rule import with_rows
from tests.shipped import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.judging.engine.judge import Assessment
    from fadoctor.model.rule import Condition, Rule

COMPILED = compiled()
RULES = {rule.id: rule for rule in COMPILED.knowledge.rules if rule.when}
MATRIX = Matrix(COMPILED.knowledge.tables)

_TRUTHS = {
    Outcome.FAIL: {Truth.TRUE},
    Outcome.PASS: {Truth.FALSE},
    Outcome.NOT_APPLICABLE: {Truth.NOT_THERE},
    Outcome.UNKNOWN: {Truth.UNKNOWN},
}


def _assessments(rule: Rule) -> Iterator[Assessment]:
    alone = msgspec.structs.replace(COMPILED.knowledge, rules=(rule,))
    for raw in COMPILED.cases[rule.id]:
        if not (case := read_case(raw)).log:
            yield judge(case_environment(case), alone, MATRIX)


def _conditions(each: Judgement) -> Iterator[tuple[Condition, Rule]]:
    rule = each.rule
    yield from ((condition, rule) for condition in (rule.when, rule.overruled_by) if condition)
    yield from ((fix.when, with_rows(rule, fix)) for fix in rule.fixes if fix.when)


@pytest.mark.parametrize("rule_id", RULES)
def test_what_is_explained_is_what_is_decided(rule_id: str) -> None:
    asked = 0
    for assessment in _assessments(RULES[rule_id]):
        for each in assessment.judgements:
            for condition, rule in _conditions(each):
                scopes = [
                    Scope(each.scope.environment, MATRIX, rule, each.about.bindings)
                    for _ in range(2)
                ]
                explained = condition_reasons(condition, scopes[0])
                assert explained.truth is holds(condition, scopes[1])
                # A second row of the same table has the look-up's name behind its own.
                read = {name.partition(" (")[0] for name in scopes[1].read}
                assert read <= _names(explained), "what decided it is shown"
                asked += 1
    assert asked


def _names(group: Group) -> set[str]:
    found: set[str] = set()
    for part in group.parts:
        found |= _names(part) if isinstance(part, Group) else {each.name for each in part.met}
    return found


@pytest.mark.parametrize("rule_id", RULES)
def test_the_outcome_follows_from_the_reasons(rule_id: str) -> None:
    told = [each for found in _assessments(RULES[rule_id]) for each in reasons_of(found)]
    assert {Outcome.FAIL, Outcome.UNKNOWN} <= {each.outcome for each in told}
    for each in told:
        if each.when is None or each.when.truth in _TRUTHS[each.outcome]:
            continue
        overruled = each.overruled_by is not None and each.overruled_by.truth is Truth.TRUE
        is_among = each.when.truth is Truth.UNKNOWN and _is_among(each.when)
        assert (overruled and each.outcome is Outcome.PASS) or is_among


def _is_among(group: Group) -> bool:
    return any(
        _is_among(part)
        if isinstance(part, Group)
        else any(getattr(each.fact, "among", ()) for each in part.met)
        for part in group.parts
    )
