"""Judge an environment: every rule, then findings in order, roots before consequences."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import msgspec

from fadoctor.judging.engine.evaluate import Judgement, evaluate
from fadoctor.judging.engine.scope import Scope
from fadoctor.judging.engine.weaker_gpu import (
    evaluate_outcomes,
    mark_outdone,
    reads_outcomes,
    with_outcomes,
)
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.environment import Subject
from fadoctor.model.fact import Absent, Known
from fadoctor.model.finding import (
    Confidence,
    Evidence,
    Finding,
    Outcome,
    Severity,
    Undecided,
)
from fadoctor.model.report import RuleError
from fadoctor.model.rule import kept_with

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place
    from fadoctor.model.rule import Knowledge, Rule

_OF_A_LOG = "log."
"""How facts begin that are no evidence: a log's evidence are its lines."""

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
    matrix: Matrix | None = None,
) -> Assessment:
    """Evaluate all rules. One that breaks is reported and harms no other.

    A matrix that has answered before answers again without looking.
    """
    matrix = matrix or Matrix(knowledge.tables)
    judgements: list[Judgement] = []
    errors: list[RuleError] = []
    about_facts, about_gpus = kept_with(knowledge, "judged", _judged)
    for rule in about_facts:
        found = _isolated(rule.id, errors, evaluate, rule, environment, matrix)
        judgements += found or [_broken(rule, environment, matrix)]
    judgements = mark_outdone(judgements, environment)
    environment = with_outcomes(environment, judgements) if about_gpus else environment
    for rule in about_gpus:
        found = _isolated(rule.id, errors, evaluate_outcomes, rule, environment, matrix)
        judgements += found or [_broken(rule, environment, matrix)]
    failed = [each for each in judgements if each.outcome is Outcome.FAIL]
    return Assessment(
        tuple(judgements),
        _findings(failed, errors),
        tuple(_undecided(each) for each in judgements if each.outcome is Outcome.UNKNOWN),
        tuple(errors),
    )


def _judged(knowledge: Knowledge) -> tuple[list[Rule], list[Rule]]:
    """Return the rules that facts decide, and those about how the others come out."""
    about_gpus = [rule for rule in knowledge.rules if reads_outcomes(rule)]
    return [r for r in knowledge.rules if r.when and not reads_outcomes(r)], about_gpus


def left_by(assessment: Assessment, ignored: tuple[str, ...]) -> tuple[Finding, ...]:
    """Return the findings that are not hidden, in order; the others stay word for word.

    What a hidden finding explains is no finding of its rule: it stands on its own.
    """
    if not ignored:
        return assessment.findings
    failed = [each for each in assessment.judgements if each.outcome is Outcome.FAIL]
    orphans = [
        each
        for each in failed
        if each.rule.id not in ignored and _root(each, failed).rule.id in ignored
    ]
    shown = [finding for finding in assessment.findings if finding.rule_id not in ignored]
    return tuple(sorted((*shown, *_findings(orphans, [])), key=order_of))


def _broken(rule: Rule, environment: Environment, matrix: Matrix) -> Judgement:
    scope = Scope(environment, matrix, rule, {})
    return Judgement(rule, Subject(rule.subject), Outcome.ERROR, scope, "it broke")


_T = TypeVar("_T")
_P = ParamSpec("_P")


def _isolated(
    rule_id: str,
    errors: list[RuleError],
    work: Callable[_P, list[_T]],
    /,
    *given: _P.args,
    **options: _P.kwargs,
) -> list[_T]:
    """Do a rule's work; where it breaks, note the error and return nothing."""
    try:
        return work(*given, **options)
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
        mine = _isolated(root.rule.id, errors, _finding_alone, root, ids)
        for orphan in [] if mine else explained[id(root)]:
            mine += _isolated(orphan.rule.id, errors, _finding_alone, orphan, ())
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
    weight = _SEVERITIES.index(each.shown_severity)
    for other in failed:
        same_subject = other.subject in (each.subject, *each.about.within, "environment")
        as_grave = _SEVERITIES.index(other.shown_severity) <= weight
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
    # Late: what writes fixes is a dozen modules, and an environment without findings needs none.
    from fadoctor.judging.engine.fixes import offered_fixes  # noqa: PLC0415

    rule = each.rule
    evidence = _evidence(each.scope)
    if not evidence:
        raise ValueError(f"{rule.id} failed without reading a fact")
    return Finding(
        rule_id=rule.id,
        severity=each.shown_severity,
        confidence=each.confidence,
        title=rule.title,
        message=each.scope.fill(rule.message),
        why=each.scope.fill(rule.why),
        subject=each.subject,
        evidence=evidence,
        fixes=offered_fixes(each.scope),
        consequences=consequences,
        references=rule.cited,
        fingerprint=fingerprint(rule.id, each.subject),
        locations=_locations(each.scope, each.subject),
    )


def fingerprint(rule_id: str, subject: str) -> str:
    """Return what names the same problem across runs and machines."""
    digest: str = _sha256()(f"{rule_id}\n{subject}".encode()).hexdigest()
    return digest[:16]


@cache
def _sha256() -> Callable[[bytes], Any]:
    """Return SHA-256 as `random` takes its hash: of `hashlib`, but without OpenSSL (4 MB)."""
    for name in ("_sha2", "_sha256", "hashlib"):
        with suppress(ImportError):
            found: Callable[[bytes], Any] = import_module(name).sha256
            return found
    raise ImportError("hashlib")


def _evidence(scope: Scope) -> tuple[Evidence, ...]:
    found = []
    for name, fact in scope.read.items():
        if name.startswith(_OF_A_LOG):
            continue
        if isinstance(fact, Known):
            found.append(Evidence(name, fact.value, fact.source))
        elif isinstance(fact, Absent):
            found.append(Evidence(name, None, fact.source))
    return tuple(found)


def _locations(scope: Scope, subject: str) -> tuple[Place, ...]:
    """Return the lines of files that were read, each once; those of the subject come first."""
    places = scope.environment.places
    own = f"{subject.replace('-', '_')}."
    names = sorted(scope.read, key=lambda name: not name.startswith(own))
    return tuple(dict.fromkeys(at for name in names for at in places.get(name, ())))


def _undecided(each: Judgement) -> Undecided:
    needs = tuple(each.scope.unknown_facts()) or tuple(each.scope.read)
    return Undecided(each.rule.id, needs, each.reason, each.subject)
