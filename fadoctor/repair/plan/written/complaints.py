"""What a text complains of and no fact decides: what helps is named, and no plan calls it done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import EXTENSIONS, LOADS_ALONE
from fadoctor.model.plan_words import DOUBT_NOTE
from fadoctor.repair.plan.choices.released import is_there
from fadoctor.repair.plan.written.advice import names_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fadoctor.judging.diagnose import Prognosis
    from fadoctor.model.finding import Finding
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Problem


def undecided_complaints(before: Prognosis) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the errors, and the warnings, that a text shows by its words alone.

    What the facts decide is judged by them, before and after. A warning of low confidence is
    left out.
    """
    decided = {finding.rule_id for finding in before.assessment.findings}
    shown = [finding for finding in before.shown if finding.rule_id not in decided]
    errors = (each for each in shown if each.severity is Severity.ERROR)
    warnings = (
        each
        for each in shown
        if each.severity is Severity.WARNING and each.confidence is not Confidence.LOW
    )
    return tuple(errors), tuple(warnings)


def never_ended(
    complaints: Iterable[Finding], changes: Iterable[Choice], problem: Problem
) -> tuple[Finding, ...]:
    """Return the complaints that no change ends: an extension that fails beside torch goes on so.

    Neither torch moves then, nor a package that is there with an extension that is linked to it.
    """
    moved = {each.package for each in changes if is_there(problem.environment, each.package)}
    if not moved.isdisjoint(EXTENSIONS.keys() - set(LOADS_ALONE)):
        return ()
    rules = problem.session.knowledge.rules
    linked = {rule.id for rule in rules if rule.area == _OF_EXTENSIONS}
    return tuple(each for each in complaints if each.rule_id in linked)


_OF_EXTENSIONS = "torch-abi"
"""Area of the rules about compiled parts that do not fit torch."""


def complaint_notes(complaints: Iterable[Finding], changes: Iterable[Choice]) -> Iterable[str]:
    """Say that nothing proves of steps that they end what the text shows, and what else helps."""
    moved = {each.distribution for each in changes}
    for each in complaints:
        shown = f'the text shows "{each.title}", and no fact tells whether the steps end that: '
        command = _installs(each, moved)
        helps = f"`{command}` may be needed as well" if command else _ELSEWHERE
        yield shown + helps


_ELSEWHERE = "`fadoctor check` names what else helps"


def _installs(complaint: Finding, moved: Collection[str]) -> str:
    """Return the command of the first fix, where it installs what the steps leave as it is."""
    steps = complaint.fixes[0].steps if complaint.fixes else ()
    first = next((each for each in steps if each.kind is StepKind.INSTALL), None)
    if first is None:
        return ""
    names = names_of(first.items)
    return first.text if names and names.isdisjoint(moved) else ""


def doubt_notes(findings: Iterable[Finding]) -> Iterable[str]:
    """Say what may be wrong, and how to find out: no fact tells, and nothing is planned for it."""
    for each in findings:
        if each.severity is Severity.NOTE and each.confidence is Confidence.LOW:
            yield f"{DOUBT_NOTE}{each.message}"
