"""What the forms of CI services share: findings, each with the place in a file that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.explanation import Explanation
from fadoctor.model.fact import printable
from fadoctor.model.finding import Finding, Severity, Undecided
from fadoctor.model.place import Place
from fadoctor.model.report import Report, RuleError
from fadoctor.report.ci.anchor import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from fadoctor.model.smoke import SmokeReport

TEXT_LIMIT = 4_000
"""Longest text of one field, in characters."""


class Located(msgspec.Struct, frozen=True):
    """A finding and where it is shown: a line of a manifest, of a log, or of the project."""

    finding: Finding
    places: tuple[Place, ...]
    """At least one; the first is what to edit."""


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
        tuple(_located(document.findings, folder, _manifest(document))),
        undecided,
        document.rule_errors,
        document.notes,
    )


def _manifest(document: Report | SmokeReport | Explanation) -> Place | None:
    """Return the file that was examined, where one was: what has no line in it is shown there."""
    if document.target is None or document.target.kind != "manifest":
        return None
    named = [place.file for finding in document.findings for place in finding.locations]
    return Place((named or [document.target.label])[0], 1)


def _located(
    findings: Iterable[Finding], folder: Path, manifest: Place | None
) -> Iterable[Located]:
    order = list(Severity)
    for finding in sorted(findings, key=lambda each: order.index(each.severity)):
        otherwise = manifest or place_of(finding, folder)
        yield Located(finding, finding.locations or (otherwise,))


def summary_of(finding: Finding) -> str:
    """Return what is wrong and the first thing to do, in one paragraph."""
    return printable(" ".join([_sentence(finding.message), *advice_of(finding)[:1]]), TEXT_LIMIT)


def advice_of(finding: Finding) -> list[str]:
    """Return each way to repair it, in one line with its commands."""
    return [
        _sentence(f"Fix: {': '.join([fix.title, *(step.text for step in fix.steps)][:4])}")
        for fix in finding.fixes
    ]


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
