"""Judge an environment: every rule, then findings in order, roots before consequences."""

from __future__ import annotations

import re
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
    from fadoctor.model.rule import FixTemplate, Knowledge, Rule, StepTemplate

_SEVERITIES, _CONFIDENCES = list(Severity), list(Confidence)


class Assessment(msgspec.Struct, frozen=True):
    """What the rules say about one environment."""

    judgements: tuple[Judgement, ...]
    findings: tuple[Finding, ...]
    unknown: tuple[Undecided, ...]
    errors: tuple[RuleError, ...]


def judge(
    environment: Environment,
    knowledge: Knowledge,
    ignore: tuple[str, ...] = (),
    matrix: Matrix | None = None,
) -> Assessment:
    """Evaluate all rules but the ignored ones. One that breaks is reported and harms no other.

    A matrix that has answered before answers again without looking.
    """
    matrix = matrix or Matrix(knowledge.tables)
    judgements: list[Judgement] = []
    errors: list[RuleError] = []
    for rule in knowledge.rules:
        if rule.when and rule.id not in ignore:
            work = partial(evaluate, rule, environment, matrix)
            judgements += _isolated(rule.id, errors, work) or [_broken(rule, environment, matrix)]
    failed = [each for each in judgements if each.outcome is Outcome.FAIL]
    return Assessment(
        tuple(judgements),
        _findings(failed, errors),
        tuple(_undecided(each) for each in judgements if each.outcome is Outcome.UNKNOWN),
        tuple(errors),
    )


def _broken(rule: Rule, environment: Environment, matrix: Matrix) -> Judgement:
    scope = Scope(environment, matrix, rule, {})
    return Judgement(rule, rule.subject, Outcome.ERROR, scope, "it broke")


_T = TypeVar("_T")


def _isolated(rule_id: str, errors: list[RuleError], work: Callable[[], list[_T]]) -> list[_T]:
    """Do a rule's work; where it breaks, note the error and return nothing."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001 -- isolation point: one rule must not end the run
        errors.append(RuleError(rule_id, f"{type(error).__name__}: {error}"))
        return []


def _findings(failed: list[Judgement], errors: list[RuleError]) -> tuple[Finding, ...]:
    """Return a finding for each root; what it explains is named in it.

    What a root explains gets findings of its own where the root's cannot be written out.
    """
    explained: dict[int, list[Judgement]] = {id(each): [] for each in failed}
    roots = {id(each): _root(each, failed) for each in failed}
    for each in failed:
        if roots[id(each)] is not each:
            explained[id(roots[id(each)])].append(each)
    found: list[Finding] = []
    for root in (each for each in failed if roots[id(each)] is each):
        ids = tuple(sorted({each.rule.id for each in explained[id(root)]}))
        mine = _isolated(root.rule.id, errors, partial(_finding_alone, root, ids))
        for orphan in [] if mine else explained[id(root)]:
            mine += _isolated(orphan.rule.id, errors, partial(_finding_alone, orphan, ()))
        found += mine
    return tuple(sorted(found, key=order_of))


def _finding_alone(each: Judgement, consequences: tuple[str, ...]) -> list[Finding]:
    return [_finding(each, consequences)]


def _root(each: Judgement, failed: list[Judgement]) -> Judgement:
    """Return the failure at the root of this one; of rules that explain each other, the first."""
    chain = [each]
    while (nearest := _nearest_cause(chain[-1], failed)) is not None:
        if nearest in chain:
            return min(chain[chain.index(nearest) :], key=lambda member: member.rule.id)
        chain.append(nearest)
    return chain[-1]


def _nearest_cause(each: Judgement, failed: list[Judgement]) -> Judgement | None:
    """Return a failure that explains this one; an error does not hide under a warning."""
    weight = _SEVERITIES.index(each.rule.severity)
    for other in failed:
        same_subject = other.subject in (each.subject, "environment")
        as_grave = _SEVERITIES.index(other.rule.severity) <= weight
        is_named = other is not each and other.rule.id in each.rule.explained_by
        if is_named and same_subject and as_grave:
            return other
    return None


def order_of(finding: Finding) -> tuple[int, int, str, list[tuple[int, str]]]:
    """Return the key that sorts findings of one report."""
    return (
        _SEVERITIES.index(finding.severity),
        _CONFIDENCES.index(finding.confidence),
        finding.rule_id,
        _natural(finding.subject),
    )


def _natural(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts ``gpu[2]`` before ``gpu[10]``."""
    parts = re.split(r"(\d+)", text)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]


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
        why=each.scope.fill(rule.why),
        subject=each.subject,
        evidence=evidence,
        fixes=fixes_in(each.scope),
        consequences=consequences,
        references=rule.references,
        fingerprint=fingerprint_of(rule.id, each.subject),
    )


def fingerprint_of(rule_id: str, subject: str) -> str:
    """Return what keeps the same problem recognisable across runs and machines."""
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


_REQUIREMENT = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}(\[[A-Za-z0-9,._ -]{0,100}\])?"
    r"( ?(===?|~=|!=|<=?|>=?) ?[A-Za-z0-9.*+!_-]{1,60},?){0,8}"
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}(=[^\n]{0,500})?")
_INDEX = re.compile(r"(https://[A-Za-z0-9./_-]{1,200})?")


def _offered(scope: Scope, fix: FixTemplate) -> bool:
    """Return whether a fix's condition holds and its commands can be written out, and safely so.

    Values come from outside: a requirement must be a name with a specifier, never an option, a
    path or a URL, whatever the metadata say.
    """
    aside = Scope(scope.environment, scope.matrix, scope.rule, scope.bindings)
    if fix.when and holds(fix.when, aside) is not Truth.TRUE:
        return False
    forms = [
        (pattern, text)
        for step in fix.steps
        for pattern, texts in (
            (_REQUIREMENT, (*step.install, *step.uninstall)),
            (_VARIABLE, (*step.set, *step.unset)),
            (_INDEX, (step.index,)),
        )
        for text in texts
    ]
    return all(
        aside.can_fill(text) and pattern.fullmatch(aside.fill(text)) for pattern, text in forms
    )


def fixes_in(scope: Scope) -> tuple[Fix, ...]:
    """Return a rule's fixes whose conditions hold, filled in; what they read is no evidence."""
    return tuple(_fix(scope, fix) for fix in scope.rule.fixes if _offered(scope, fix))


def _fix(scope: Scope, fix: FixTemplate) -> Fix:
    aside = Scope(scope.environment, scope.matrix, scope.rule, scope.bindings)
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
            text = _sentence(kind, filled, step.options, index)
            return Step(kind, text, filled, index, step.options)
    texts = {
        StepKind.SETTING: step.setting,
        StepKind.SYSTEM: step.system,
        StepKind.ADVICE: step.advice,
    }
    kind, text = next((kind, text) for kind, text in texts.items() if text)
    return Step(kind, scope.fill(text))


def _sentence(kind: StepKind, items: tuple[str, ...], options: tuple[str, ...], index: str) -> str:
    words = " ".join((kind.value, *options, *items))
    return f"{words} (index {index})" if index else words


def _undecided(each: Judgement) -> Undecided:
    needs = tuple(each.scope.unknown_facts()) or tuple(each.scope.read)
    return Undecided(each.rule.id, needs, each.reason, each.subject)
