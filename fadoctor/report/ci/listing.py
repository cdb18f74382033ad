"""What the forms of CI services share: findings, each with the place in a file that they need."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.explanation import Explanation
from fadoctor.model.fact import Known, printable
from fadoctor.model.finding import Finding, Severity, Undecided
from fadoctor.model.fix import StepKind
from fadoctor.model.place import Place
from fadoctor.model.report import Report, RuleError
from fadoctor.report.ci.anchor import find_place

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fadoctor.model.fix import Fix
    from fadoctor.model.smoke import SmokeReport

_STEPS_SHOWN = 3

TEXT_LIMIT = 4_000
"""Longest text of one field, in characters."""


class Located(msgspec.Struct, frozen=True):
    """A finding and where it is shown: a line of a manifest, of a log, or of the project."""

    finding: Finding
    places: tuple[Place, ...]
    """At least one; the first is what to edit."""
    is_exact: bool = True
    """Whether the place is where the cause is; else some services still want one."""


class Listing(msgspec.Struct, frozen=True):
    """What a command found, as services list it: the worst first."""

    command: str
    """``check``, ``smoke`` or ``explain``."""
    version: str
    target: str
    located: tuple[Located, ...]
    undecided: tuple[Undecided, ...] = ()
    rule_errors: tuple[RuleError, ...] = ()
    notes: tuple[str, ...] = ()


def listing_of(document: Report | SmokeReport | Explanation, folder: Path) -> Listing:
    """Return what a document found; `folder` is where files of the project are looked for."""
    target = document.target.label if document.target else ""
    undecided: tuple[Undecided, ...] = ()
    if isinstance(document, Report):
        command, undecided = "check", document.unknown
    elif isinstance(document, Explanation):
        command, target = "explain", target or document.log.name
    else:
        command = "smoke"
    return Listing(
        command,
        document.fadoctor,
        printable(target),
        tuple(_located(document.findings, folder, _manifests(document))),
        undecided,
        document.rule_errors,
        document.notes,
    )


# train.yaml:4:1 bf16: true
_OF_CONFIGURATION = re.compile(r"([^:\n]{1,400}):([0-9]{1,9}):[0-9]{1,9}(?: |$)")


def _manifests(document: Report | SmokeReport | Explanation) -> tuple[str, ...]:
    """Return the files that were examined: what has no line is looked for in them."""
    if document.target is not None and document.target.kind == "manifest":
        return tuple(document.target.label.split(", "))
    return tuple(dict.fromkeys(each.file for each in _configured(document)))


def _configured(document: Report | SmokeReport | Explanation) -> list[Place]:
    """Return where configurations say something, as far as facts name a line."""
    facts = document.environment if isinstance(document, Report) else {}
    found = [
        _OF_CONFIGURATION.match(fact.source)
        for name, fact in facts.items()
        if name.startswith("config.") and isinstance(fact, Known)
    ]
    return [Place(each[1], int(each[2])) for each in found if each]


def _located(
    findings: Iterable[Finding], folder: Path, manifests: tuple[str, ...]
) -> Iterable[Located]:
    order = list(Severity)
    for finding in sorted(findings, key=lambda each: order.index(each.severity)):
        if finding.locations:
            yield Located(finding, finding.locations)
            continue
        place, is_exact = find_place(finding, folder, manifests)
        yield Located(finding, (place,), is_exact)


def by_reason(undecided: Iterable[Undecided]) -> dict[str, list[str]]:
    """Return why rules stayed open -> which: one fact that could not be read opens many."""
    found: dict[str, dict[str, None]] = {}
    for each in undecided:
        about = "" if each.subject == "environment" else f" ({each.subject})"
        found.setdefault(each.reason, {})[f"{each.rule_id}{about}"] = None
    return {reason: list(names) for reason, names in found.items()}


def summary_of(finding: Finding) -> str:
    """Return what is wrong and the first thing to do, in one paragraph."""
    return printable(" ".join([_sentence(finding.message), *advice_of(finding)[:1]]), TEXT_LIMIT)


def advice_of(finding: Finding) -> list[str]:
    """Return each way to repair it, in one line with its commands."""
    return [_sentence(f"Fix: {fix.title}{_steps(fix)}") for fix in finding.fixes]


def _steps(fix: Fix) -> str:
    """Return the first steps, numbered where they follow each other.

    Settings of several frameworks are one step, said for each of them.
    """
    shown = fix.steps[:_STEPS_SHOWN]
    steps = [step.text for step in shown]
    if any(step.kind is StepKind.SETTING for step in shown):
        return f": {'; '.join(text.rstrip('.') for text in steps)}"
    if len(steps) > 1:
        steps = [f"({number}) {text}" for number, text in enumerate(steps, 1)]
    return f": {' '.join(steps)}" if steps else ""


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
