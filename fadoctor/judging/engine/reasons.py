"""Why a rule came out as it did: each condition with the facts that it met.

Each test is asked by the function that decides it, and tests are combined by those that combine
them for the judgement. Other than there, what follows a false test is asked all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fadoctor.judging.engine.condition import Truth, all_of, any_of, tested, tests_of
from fadoctor.judging.engine.fixes import hindrance
from fadoctor.judging.engine.scope import Scope
from fadoctor.model.environment import Target
from fadoctor.model.fact import Fact
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.rule import with_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fadoctor.judging.engine.condition import Asked
    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.judging.engine.judge import Assessment
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Condition


class Met(msgspec.Struct, frozen=True):
    """A fact or a cell of a table that a test read."""

    name: str
    fact: Fact


class Comparison(msgspec.Struct, frozen=True, tag="comparison", tag_field="kind"):
    """One operator of a condition, and what came of it."""

    truth: Truth
    path: str
    operator: str
    operand: Any
    met: tuple[Met, ...] = ()


class Group(msgspec.Struct, frozen=True, tag="group", tag_field="kind"):
    """Conditions of which all must hold, or any."""

    truth: Truth
    needs: str
    """``all`` or ``any``."""
    parts: tuple[Comparison | Group, ...] = ()


_CONSEQUENCE = "another finding explains this one"


class FixReason(msgspec.Struct, frozen=True):
    """Whether the conditions of a fix hold."""

    id: str
    offered: bool
    """Whether the finding offers it."""
    when: Group | None = None
    hindrance: str = ""
    """Why it is not offered."""


class Reasons(msgspec.Struct, frozen=True):
    """How a rule came out for one subject, and by what."""

    rule_id: str
    subject: str
    outcome: Outcome
    when: Group | None = None
    """None where there is no subject to judge."""
    overruled_by: Group | None = None
    unless: Group | None = None
    """The conditions that keep the rule's own severity."""
    met: tuple[Met, ...] = ()
    """What was read to find subjects, where there is none to judge."""
    reason: str = ""
    severity: Severity | None = None
    """Of what was found."""
    outdone: bool = False
    """Another GPU that programs see does without this error."""
    root: str = ""
    """The rule whose finding names this one as a consequence."""
    fixes: tuple[FixReason, ...] = ()


class RuleReasons(msgspec.Struct, frozen=True):
    """Why rules came out as they did on one target."""

    target: Target
    subjects: tuple[Reasons, ...]


def reasons_of(assessment: Assessment, rule_id: str = "") -> tuple[Reasons, ...]:
    """Return why each rule came out as it did, for each of its subjects; or why one did."""
    return tuple(
        reasons(each, assessment.findings)
        for each in assessment.judgements
        if rule_id in ("", each.rule.id)
    )


def reasons(judgement: Judgement, findings: Sequence[Finding] = ()) -> Reasons:
    """Return why a rule came out as it did for one subject."""
    rule, outcome = judgement.rule, judgement.outcome
    told = Reasons(rule.id, judgement.subject, outcome, reason=judgement.reason)
    if outcome is Outcome.ERROR:
        return told
    if rule.for_each and not judgement.about.bindings:
        met = tuple(Met(name, fact) for name, fact in judgement.scope.read.items())
        return msgspec.structs.replace(told, met=met)
    unless = rule.when_severity.unless if rule.when_severity else {}
    found = outcome is Outcome.FAIL
    return msgspec.structs.replace(
        told,
        when=condition_reasons(rule.when, judgement.scope),
        overruled_by=_where_given(rule.overruled_by, judgement.scope),
        unless=_where_given(unless, judgement.scope),
        severity=judgement.shown_severity if found else None,
        outdone=judgement.outdone,
        root=_root(judgement, findings) if found else "",
        fixes=tuple(_fixes(judgement, findings)) if found else (),
    )


def condition_reasons(condition: Condition, scope: Scope) -> Group:
    """Return what came of each test of a condition."""
    return _group("all", (part for item in condition.items() for part in _parts(*item, scope)))


def deciding(part: Comparison | Group) -> Iterator[Comparison]:
    """Yield the tests that made a condition what it is: the first false one, or all that agree."""
    if isinstance(part, Comparison):
        yield part
        return
    same = [each for each in part.parts if each.truth is part.truth]
    is_over = part.needs == "all" and part.truth in (Truth.FALSE, Truth.NOT_THERE)
    is_mixed = part.needs == "any" and part.truth is Truth.FALSE
    for each in same[:1] if is_over else part.parts if is_mixed else same:
        yield from deciding(each)


def _where_given(condition: Condition, scope: Scope) -> Group | None:
    return condition_reasons(condition, scope) if condition else None


def _parts(path: str, test: Any, scope: Scope) -> Iterator[Comparison | Group]:
    if path == "any":
        yield _group("any", (condition_reasons(branch, scope) for branch in test))
        return
    for name, operand in tests_of(test).items():
        aside = Scope(scope.environment, scope.matrix, scope.rule, scope.bindings)
        truth = tested(path, name, operand, scope.rule)(aside)
        met = tuple(Met(place, fact) for place, fact in aside.read.items())
        yield Comparison(truth, path, name, operand, met)


def _group(needs: str, parts: Iterable[Comparison | Group]) -> Group:
    found = tuple(parts)
    combined = all_of if needs == "all" else any_of
    return Group(combined([_as_asked(each.truth) for each in found], _NOWHERE), needs, found)


_NOWHERE: Any = None
"""The scope of what is asked already."""


def _as_asked(truth: Truth) -> Asked:
    return lambda _: truth


def _finding_of(judgement: Judgement, findings: Sequence[Finding]) -> Finding | None:
    mine = (judgement.rule.id, judgement.subject)
    return next((each for each in findings if (each.rule_id, each.subject) == mine), None)


def _root(judgement: Judgement, findings: Sequence[Finding]) -> str:
    """Return the rule that explains a failure; "" for one with a finding of its own."""
    if _finding_of(judgement, findings):
        return ""
    within = (judgement.subject, *judgement.about.within, "environment")
    explaining = [each for each in findings if judgement.rule.id in each.consequences]
    nearest = sorted(explaining, key=lambda each: each.subject not in within)
    return nearest[0].rule_id if nearest else ""


def _fixes(judgement: Judgement, findings: Sequence[Finding]) -> Iterator[FixReason]:
    finding = _finding_of(judgement, findings)
    offered = {fix.id for fix in finding.fixes} if finding else set()
    scope = judgement.scope
    for fix in judgement.rule.fixes:
        rule = with_rows(judgement.rule, fix)
        aside = Scope(scope.environment, scope.matrix, rule, scope.bindings)
        why = "" if fix.id in offered else hindrance(scope, fix) or _CONSEQUENCE
        yield FixReason(fix.id, fix.id in offered, _where_given(fix.when, aside), why)
