"""Evaluate one rule for each of its subjects."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.condition import Truth, holds, lacks_the_first
from fadoctor.judging.engine.scope import Scope
from fadoctor.model.environment import Subject
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.finding import Outcome, Severity
from fadoctor.model.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Confidence

_COUNTED = frozenset({"gpu", "toolkit"})
"""The kinds of subjects whose number is a fact, which nobody may have been able to read."""


_UNBOUND: dict[str, str] = {}
"""What the paths of a rule mean that is judged once: what they say."""


MOST_TRIED = 32
"""Combinations of values that are tried for one rule where facts are one of a few."""


class Judgement(msgspec.Struct, frozen=True):
    """How one rule came out for one subject."""

    rule: Rule
    about: Subject
    outcome: Outcome
    scope: Scope
    reason: str = ""
    """Why it is unknown, or what went wrong."""
    lowered: Severity | None = None
    """What it weighs where that is less than its rule."""
    outdone: bool = False
    """It is about one of several GPUs, and another one, which programs see too, does without."""

    @property
    def severity(self) -> Severity:
        """What it weighs for what it is about."""
        return self.lowered or self.rule.severity

    @property
    def confidence(self) -> Confidence:
        """How sure the facts alone are."""
        lower = self.rule.when_severity
        return (lower.confidence if lower is not None else None) or self.rule.confidence

    @property
    def shown_severity(self) -> Severity:
        """What its finding weighs: where another GPU does without, no more than a warning."""
        mild = self.outdone and self.severity is Severity.ERROR
        return Severity.WARNING if mild else self.severity

    @property
    def subject(self) -> str:
        """How findings name the subject."""
        return self.about.text


def evaluate(rule: Rule, environment: Environment, matrix: Matrix) -> list[Judgement]:
    """Return one judgement for each subject of a rule; one `not applicable` where it has none."""
    if not rule.for_each:
        return [_judge(rule, _only(rule), Scope(environment, matrix, rule, _UNBOUND))]
    kinds = [environment.subjects(kind) for kind in rule.for_each]
    # Others than those that are judged may be there, and nobody could list them.
    lost = any(_is_lost(kind, environment) for kind in rule.for_each)
    found = []
    if all(kinds):
        found = [
            _judge(rule, subject, Scope(environment, matrix, rule, subject.bindings))
            for subject in _combinations(rule, kinds)
        ]
        if not lost:
            return found
    nobody = _combined([Subject(kind) for kind in rule.for_each])
    scope = Scope(environment, matrix, rule, {})
    if lost:
        for kind in rule.for_each:
            scope.resolve(f"{kind}.count")
        return [*found, _unknown(rule, nobody, scope)]
    uncounted = {
        kind
        for kind in rule.for_each
        if kind in _COUNTED and _uncounted(scope.resolve(f"{kind}.count"))
    }
    # Whatever is there: a rule about a package that is not installed is decided all the same.
    kinds = [
        (*there, *([Subject(kind, {kind: f"{kind}[?]"})] if kind in uncounted else []))
        for kind, there in zip(rule.for_each, kinds, strict=True)
    ]
    for anyone in _combinations(rule, kinds):
        there = Scope(environment, matrix, rule, anyone.bindings)
        if _judge(rule, anyone, there).outcome in (Outcome.UNKNOWN, Outcome.FAIL):
            return [_unknown(rule, nobody, scope)]
    return [Judgement(rule, nobody, Outcome.NOT_APPLICABLE, scope)]


def _only(rule: Rule) -> Subject:
    """Return what a rule is judged for that is judged once. It hangs on the rule."""
    hanging = rule.__dict__
    found: Subject | None = hanging.get("only")
    if found is None:
        found = hanging["only"] = Subject(rule.subject)
    return found


def _combinations(rule: Rule, kinds: list[tuple[Subject, ...]]) -> Iterable[Subject]:
    """Return what a rule is judged for: each of its kind, of two kinds each pair, or one thing."""
    if not kinds:
        return (_only(rule),)
    return kinds[0] if len(kinds) == 1 else map(_combined, product(*kinds))


def _combined(several: Sequence[Subject]) -> Subject:
    """Return one subject for several: ``vllm on gpu[0]``."""
    texts = [subject.text for subject in several]
    return Subject(
        " on ".join(reversed(texts)),
        {name: path for subject in several for name, path in subject.bindings.items()},
        (*texts, *(text for subject in several for text in subject.within)),
    )


def evaluate_for(
    rule: Rule, environment: Environment, matrix: Matrix, package: str
) -> list[Judgement]:
    """Return the judgements of a rule for those of its subjects that belong to one package."""
    kinds = [environment.subjects(kind) for kind in rule.for_each]
    return [
        _judge(rule, subject, Scope(environment, matrix, rule, subject.bindings))
        for subject in _combinations(rule, kinds)
        if subject.bindings.get("package") == package
    ]


def _judge(rule: Rule, subject: Subject, scope: Scope) -> Judgement:
    """Judge a rule for a subject; where facts are one of a few, for each of these."""
    if lacks_the_first(rule, scope):
        return Judgement(rule, subject, Outcome.NOT_APPLICABLE, scope)
    found = _as_read(rule, subject, scope)
    if found.outcome is not Outcome.UNKNOWN:
        return found
    facts = scope.environment.facts
    few = {
        name: fact
        for name, fact in scope.read.items()
        if isinstance(fact, Unknown) and fact.among and facts.get(name) is fact
    }
    return (_for_each(found, few) if few else None) or found


def _for_each(found: Judgement, few: Mapping[str, Unknown]) -> Judgement | None:
    """Return what comes out for all of the values that facts are among; None where that differs."""
    if prod(len(fact.among) for fact in few.values()) > MOST_TRIED:
        return None
    scope, judged = found.scope, []
    for values in product(*(fact.among for fact in few.values())):
        tried = {n: Known(value, few[n].source) for n, value in zip(few, values, strict=True)}
        facts = {**scope.environment.facts, **tried}
        environment = msgspec.structs.replace(scope.environment, facts=facts)
        aside = Scope(environment, scope.matrix, found.rule, scope.bindings)
        judged.append(_as_read(found.rule, found.about, aside))
    outcomes = {each.outcome for each in judged}
    if outcomes == {Outcome.FAIL}:
        lowered = next((each.lowered for each in judged if each.lowered), None)
        return msgspec.structs.replace(found, outcome=Outcome.FAIL, reason="", lowered=lowered)
    if outcomes <= {Outcome.PASS, Outcome.NOT_APPLICABLE}:
        outcome = Outcome.PASS if Outcome.PASS in outcomes else Outcome.NOT_APPLICABLE
        return msgspec.structs.replace(found, outcome=outcome, reason="", lowered=None)
    return None


def _as_read(rule: Rule, subject: Subject, scope: Scope) -> Judgement:
    truth = holds(rule.when, scope)
    if truth is Truth.NOT_THERE:
        return Judgement(rule, subject, Outcome.NOT_APPLICABLE, scope)
    if truth is Truth.FALSE:
        return Judgement(rule, subject, Outcome.PASS, scope)
    if rule.overruled_by:
        overruling = Scope(scope.environment, scope.matrix, rule, scope.bindings)
        if holds(rule.overruled_by, overruling) is Truth.TRUE:
            return Judgement(rule, subject, Outcome.PASS, scope, "overruled by evidence")
    if truth is Truth.UNKNOWN:
        return _unknown(rule, subject, scope)
    return Judgement(rule, subject, Outcome.FAIL, scope, lowered=_lowered(rule, scope))


def _unknown(rule: Rule, subject: Subject, scope: Scope) -> Judgement:
    reasons = (fact.reason for fact in scope.read.values() if isinstance(fact, Unknown))
    reason = next(reasons, "two values cannot be compared")
    return Judgement(rule, subject, Outcome.UNKNOWN, scope, reason, _lowered(rule, scope))


def _lowered(rule: Rule, scope: Scope) -> Severity | None:
    """Return the lower severity that a rule has here, if it has one."""
    if rule.when_severity is None:
        return None
    aside = Scope(scope.environment, scope.matrix, rule, scope.bindings)
    unless = rule.when_severity.unless
    is_grave = bool(unless) and holds(unless, aside) is Truth.TRUE
    return None if is_grave else rule.when_severity.severity


def _is_lost(kind: str, environment: Environment) -> bool:
    """Return whether somebody tried to list these and could not; what nobody asked is not lost."""
    if kind in _COUNTED:
        return False
    return isinstance(environment.facts.get(f"{kind}.count"), Unknown)


def _uncounted(count: Fact) -> bool:
    """Return whether a count is Unknown, or something that is no count."""
    if isinstance(count, Known):
        return isinstance(count.value, bool) or not isinstance(count.value, int) or count.value < 0
    return isinstance(count, Unknown)
