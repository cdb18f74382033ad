"""Judge an environment: every rule, then findings in order, roots before consequences."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fadoctor.engine.condition import Truth, holds
from fadoctor.engine.evaluate import Judgement, evaluate
from fadoctor.engine.scope import Scope
from fadoctor.matrix.query import Matrix
from fadoctor.model.fact import Absent, Known
from fadoctor.model.finding import (
    Confidence,
    Evidence,
    Finding,
    Outcome,
    Severity,
    Undecided,
)
from fadoctor.model.fix import Fix, Step, StepKind
from fadoctor.model.report import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import FixTemplate, Knowledge, StepTemplate

_SEVERITIES, _CONFIDENCES = list(Severity), list(Confidence)


class Assessment(msgspec.Struct, frozen=True):
    """What the rules say about one environment."""

    judgements: tuple[Judgement, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[Undecided, ...]
    errors: tuple[RuleError, ...]


def judge(
    environment: Environment, knowledge: Knowledge, ignore: tuple[str, ...] = ()
) -> Assessment:
    """Evaluate all rules but the ignored ones. One that breaks is reported and harms no other."""
    matrix = Matrix(knowledge.tables)
    judgements: list[Judgement] = []
    errors: list[RuleError] = []
    for rule in knowledge.rules:
        if rule.when and rule.id not in ignore:
            work = partial(evaluate, rule, environment, matrix)
            judgements += _isolated(rule.id, errors, work)
    failed = [each for each in judgements if each.outcome is Outcome.FAIL]
    return Assessment(
        tuple(judgements),
        _findings(failed, errors),
        tuple(_undecided(each) for each in judgements if each.outcome is Outcome.UNKNOWN),
        tuple(errors),
    )


_T = TypeVar("_T")


def _isolated(rule_id: str, errors: list[RuleError], work: Callable[[], list[_T]]) -> list[_T]:
    """Do a rule's work; where it breaks, note the error and return nothing."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 -- isolation point: one rule must not end the run
        errors.append(RuleError(rule_id, f"{type(error).__name__}: {error}"))
        return []


def _findings(failed: list[Judgement], errors: list[RuleError]) -> tuple[Finding, ...]:
    explained = {id(each): cause for each in failed if (cause := _cause(each, failed)) is not None}
    found: list[Finding] = []
    for each in failed:
        if id(each) not in explained:
            ids = tuple(sorted({e.rule.id for e in failed if explained.get(id(e)) is each}))
            found += _isolated(each.rule.id, errors, partial(_finding_alone, each, ids))
    return tuple(sorted(found, key=_order))


def _finding_alone(each: Judgement, consequences: tuple[str, ...]) -> list[Finding]:
    return [_finding(each, consequences)]


def _cause(each: Judgement, failed: list[Judgement]) -> Judgement | None:
    """Return the failure that explains this one, at the root: causes can have causes."""
    seen = {each.rule.id}
    cause: Judgement | None = None
    current = each
    while (nearest := _nearest_cause(current, failed)) is not None:
        if nearest.rule.id in seen:
            break
        seen.add(nearest.rule.id)
        cause = current = nearest
    return cause


def _nearest_cause(each: Judgement, failed: list[Judgement]) -> Judgement | None:
    for other in failed:
        same_subject = other.subject in (each.subject, "environment")
        if other.rule.id in each.rule.explained_by and same_subject:
            return other
    return None


def _order(finding: Finding) -> tuple[int, int, str, str]:
    return (
        _SEVERITIES.index(finding.severity),
        _CONFIDENCES.index(finding.confidence),
        finding.rule_id,
        finding.subject,
    )


def _finding(each: Judgement, consequences: tuple[str, ...]) -> Finding:
    """Build a finding. Without evidence there is none: that is an error of the rule."""
    rule = each.rule
    evidence = _evidence(each.scope)
    if not evidence:
        raise ValueError(f"{rule.id} failed without reading a fact")
    return Finding(
        rule_id=rule.id,
        severity=rule.severity,
        confidence=rule.confidence,
        title=rule.title,
        message=each.scope.fill(rule.message),
        why=rule.why,
        subject=each.subject,
        evidence=evidence,
        fixes=tuple(_fix(each, fix) for fix in rule.fixes if _offered(each.scope, fix)),
        consequences=consequences,
        references=rule.references,
        fingerprint=_fingerprint(rule.id, each.subject),
    )


def _fingerprint(rule_id: str, subject: str) -> str:
    import hashlib  # noqa: PLC0415 -- loads OpenSSL, 3 ms that a healthy environment does not need

    return hashlib.sha256(f"{rule_id}\n{subject}".encode()).hexdigest()[:16]


def _evidence(scope: Scope) -> tuple[Evidence, ...]:
    found = []
    for name, fact in scope.read.items():
        if isinstance(fact, Known):
            found.append(Evidence(name, fact.value, fact.source))
        elif isinstance(fact, Absent):
            found.append(Evidence(name, None, fact.source))
    return tuple(found)


def _offered(scope: Scope, fix: FixTemplate) -> bool:
    """Return whether a fix's condition holds and its commands can be written out."""
    aside = Scope(scope.environment, scope.matrix, scope.rule, scope.bindings)
    if fix.when and holds(fix.when, aside) is not Truth.TRUE:
        return False
    commands = [text for s in fix.steps for text in (*s.install, *s.uninstall, *s.set, s.index)]
    return all(aside.can_fill(text) for text in commands)


def _fix(each: Judgement, fix: FixTemplate) -> Fix:
    aside = Scope(each.scope.environment, each.scope.matrix, each.rule, each.scope.bindings)
    return Fix(
        id=fix.id,
        title=aside.fill(fix.title),
        safety=fix.safety,
        steps=tuple(_step(aside, step) for step in fix.steps),
        side_effects=aside.fill(fix.side_effects),
    )


def _step(scope: Scope, step: StepTemplate) -> Step:
    lists = {
        StepKind.INSTALL: step.install,
        StepKind.UNINSTALL: step.uninstall,
        StepKind.SET: step.set,
        StepKind.UNSET: step.unset,
    }
    for kind, items in lists.items():
        if items:
            filled = tuple(scope.fill(item) for item in items)
            index = scope.fill(step.index)
            return Step(kind, _sentence(kind, filled, step), filled, index, step.options)
    texts = {
        StepKind.SETTING: step.setting,
        StepKind.SYSTEM: step.system,
        StepKind.ADVICE: step.advice,
    }
    kind, text = next((kind, text) for kind, text in texts.items() if text)
    return Step(kind, scope.fill(text))


def _sentence(kind: StepKind, items: tuple[str, ...], step: StepTemplate) -> str:
    words = " ".join((kind.value, *step.options, *items))
    return f"{words} (index {step.index})" if step.index else words


def _undecided(each: Judgement) -> Undecided:
    needs = tuple(each.scope.unknown_facts()) or tuple(each.scope.read)
    return Undecided(each.rule.id, needs, each.reason, each.subject)
