"""Evaluate one rule for each of its subjects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.engine.condition import Truth, holds
from fadoctor.engine.scope import Scope
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.finding import Outcome
from fadoctor.model.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact


class Judgement(msgspec.Struct, frozen=True):
    """How one rule came out for one subject."""

    rule: Rule
    subject: str
    outcome: Outcome
    scope: Scope
    reason: str = ""
    """Why it is unknown, or what went wrong."""


def evaluate(rule: Rule, environment: Environment, matrix: Matrix) -> list[Judgement]:
    """Return one judgement for each subject of a rule; one `not applicable` where it has none."""
    found = []
    for bindings, subject in _subjects(rule, environment):
        scope = Scope(environment, matrix, rule, bindings)
        found.append(_judge(rule, subject, scope))
    if found:
        return found
    kind = rule.for_each[0]
    scope = Scope(environment, matrix, rule, {})
    if kind != "package" and _uncounted(scope.resolve(f"{kind}.count")):
        # Whatever is there: a rule about a package that is not installed is decided all the same.
        anyone = _judge(rule, kind, Scope(environment, matrix, rule, {kind: f"{kind}[?]"}))
        if anyone.outcome in (Outcome.UNKNOWN, Outcome.FAIL):
            return [_unknown(rule, kind, scope)]
    return [Judgement(rule, kind, Outcome.NOT_APPLICABLE, scope)]


def _judge(rule: Rule, subject: str, scope: Scope) -> Judgement:
    truth = holds(rule.when, scope)
    if truth in (Truth.TRUE, Truth.UNKNOWN) and rule.overruled_by:
        overruling = Scope(scope.environment, scope.matrix, rule, scope.bindings)
        if holds(rule.overruled_by, overruling) is Truth.TRUE:
            return Judgement(rule, subject, Outcome.PASS, scope, "overruled by evidence")
    match truth:
        case Truth.TRUE:
            return Judgement(rule, subject, Outcome.FAIL, scope)
        case Truth.FALSE:
            return Judgement(rule, subject, Outcome.PASS, scope)
        case Truth.NOT_THERE:
            return Judgement(rule, subject, Outcome.NOT_APPLICABLE, scope)
        case Truth.UNKNOWN:
            return _unknown(rule, subject, scope)


def _unknown(rule: Rule, subject: str, scope: Scope) -> Judgement:
    reasons = [fact.reason for fact in scope.unknown_facts().values()]
    reason = reasons[0] if reasons else "two values cannot be compared"
    return Judgement(rule, subject, Outcome.UNKNOWN, scope, reason)


def _subjects(rule: Rule, environment: Environment) -> Iterator[tuple[dict[str, str], str]]:
    if not rule.for_each:
        yield {}, rule.subject
        return
    kind = rule.for_each[0]
    if kind == "package":
        for key, distribution in environment.packages.items():
            yield {"package": key}, distribution
        return
    for subject in environment.subjects(kind):
        yield {kind: subject}, subject


def _uncounted(count: Fact) -> bool:
    """Return whether a count is Unknown, or something that is no count."""
    if isinstance(count, Known):
        return isinstance(count.value, bool) or not isinstance(count.value, int) or count.value < 0
    return isinstance(count, Unknown)
