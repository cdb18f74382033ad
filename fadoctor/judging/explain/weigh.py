"""Weigh what a log shows by the facts that stand in the same log.

Facts confirm a cause, exclude it, or, where its wording fits several, say which one it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.symptoms import SymptomMatch
from fadoctor.judging.explain.causes import Cause
from fadoctor.model.explanation import Agreement
from fadoctor.model.finding import Confidence, Finding, Outcome, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.judging.engine.judge import Assessment
    from fadoctor.model.rule import Rule

_SEVERITIES = list(Severity)

_OF_A_SHELL = "toolkit."
"""How facts begin that two shells of one machine can answer differently."""


class Weighed(msgspec.Struct, frozen=True):
    """A cause, and what the facts of its own log say of it."""

    cause: Cause
    agreement: Agreement
    finding: Finding | None = None
    """What the facts alone say; its evidence are lines of the log."""


def weigh(
    causes: Iterable[Cause], assessment: Assessment, rules: Iterable[Rule]
) -> tuple[Weighed, ...]:
    """Return causes in order: what facts confirm rises, what they exclude falls.

    A cause that a wording shows for certain is passed by none that the wording leaves open.
    """
    by_id = {rule.id: rule for rule in rules}
    found: list[Weighed] = []
    for cause in causes:
        each = _weighed(cause, assessment, by_id)
        known = next((one for one in found if one.cause.rule.id == each.cause.rule.id), None)
        if known is not None:
            found[found.index(known)] = _joined(known, each)
        elif not _is_told(each, found):
            found.append(each)
    return tuple(_in_order(found))


def _is_told(each: Weighed, found: list[Weighed]) -> bool:
    return any(each.cause.rule.id in one.cause.consequences for one in found)


def _joined(known: Weighed, other: Weighed) -> Weighed:
    ids = {*known.cause.consequences, *other.cause.consequences}
    weight = min(known.cause.severity, other.cause.severity, key=_SEVERITIES.index)
    cause = msgspec.structs.replace(known.cause, consequences=tuple(sorted(ids)), severity=weight)
    finding = known.finding or other.finding
    agreement = Agreement.CONFIRMED if finding is not None else known.agreement
    return Weighed(cause, agreement, finding)


def _weighed(cause: Cause, assessment: Assessment, by_id: dict[str, Rule]) -> Weighed:
    shown = {cause.rule.id, *cause.consequences}
    is_sure = cause.match.confidence is Confidence.HIGH
    for finding in assessment.findings:
        if cause.rule.id in (finding.rule_id, *finding.consequences):
            root = cause if is_sure else _rooted(cause, finding, by_id)
            return Weighed(root, Agreement.CONFIRMED, finding)
    for finding in assessment.findings:
        follows = cause.rule.id in by_id[finding.rule_id].explained_by
        if follows or shown & {finding.rule_id, *finding.consequences}:
            return Weighed(cause, Agreement.CONFIRMED, finding)
    excluded = cause.rule.refutes and _excludes(
        [each for each in assessment.judgements if each.rule.id == cause.rule.id]
    )
    is_open = excluded or not is_sure
    decided = _decided_by(cause, assessment.findings) if is_open else None
    if decided is not None:
        return Weighed(_rooted(cause, decided, by_id), Agreement.CONFIRMED, decided)
    return Weighed(cause, Agreement.REFUTED if excluded else Agreement.OPEN)


def _excludes(mine: list[Judgement]) -> bool:
    """Return whether facts of a log speak against a cause that its words show.

    The toolkit in a report is the one of the shell that printed it; a build can take another one.
    """
    passed = bool(mine) and all(each.outcome is Outcome.PASS for each in mine)
    read = {name for each in mine for name in each.scope.read}
    return passed and not any(name.startswith(_OF_A_SHELL) for name in read)


def _decided_by(cause: Cause, findings: Iterable[Finding]) -> Finding | None:
    """Return the finding that a cause can come from, where wording or facts leave that open."""
    return next(
        (
            finding
            for name in cause.rule.explained_by
            for finding in findings
            if finding.rule_id == name and finding.severity is not Severity.NOTE
        ),
        None,
    )


def _rooted(cause: Cause, finding: Finding, by_id: dict[str, Rule]) -> Cause:
    """Return a cause with a finding as its root; itself where it is that root."""
    rule = by_id[finding.rule_id]
    if rule.id == cause.rule.id:
        return cause
    weight = max(_SEVERITIES.index(cause.severity), _SEVERITIES.index(rule.severity))
    match = SymptomMatch(
        rule_id=rule.id,
        index=0,
        severity=_SEVERITIES[weight],
        confidence=rule.confidence,
        captures={},
        message=finding.message,
        specific=0,
        start=cause.match.start,
        end=cause.match.end,
    )
    ids = {cause.rule.id, *cause.consequences, *finding.consequences} - {rule.id}
    return msgspec.structs.replace(
        cause,
        rule=rule,
        match=match,
        severity=_SEVERITIES[weight],
        consequences=tuple(sorted(ids)),
    )


def _in_order(found: list[Weighed]) -> list[Weighed]:
    """Return causes by severity; within one, the confirmed above the open above the excluded."""
    ordered: list[Weighed] = []
    for each in found:
        at = len(ordered)
        while at and _goes_above(each, ordered[at - 1]):
            at -= 1
        ordered.insert(at, each)
    return ordered


def _goes_above(each: Weighed, other: Weighed) -> bool:
    mine, theirs = each.cause.severity, other.cause.severity
    if mine is not theirs:
        return _SEVERITIES.index(mine) < _SEVERITIES.index(theirs)
    if other.agreement is Agreement.REFUTED:
        return each.agreement is not Agreement.REFUTED
    is_open = other.agreement is Agreement.OPEN
    sure = other.cause.match.confidence is Confidence.HIGH
    return each.agreement is Agreement.CONFIRMED and is_open and not sure
