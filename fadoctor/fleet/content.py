"""What a node says of itself: how the check ended, what it found, and its environment as a tree."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.fleet.fingerprint import short, tree_of
from fadoctor.model.fact import printable
from fadoctor.model.finding import Severity
from fadoctor.model.fix import StepKind
from fadoctor.model.typed import encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fadoctor.fleet.reports import Plain
    from fadoctor.model.fact import Fact
    from fadoctor.model.finding import Finding
    from fadoctor.model.report import Report
    from fadoctor.model.verdict import Verdict

Tree = dict[str, dict[str, str]]
"""Section -> key -> value, of an environment."""

FINDINGS = "f"
"""The name under which findings that do not fit are counted among what was dropped."""
_PROBLEM_LIMIT = 120
_STEP_LIMIT = 240
"""Longest first step, in characters. A longer one is left out: half a command is none."""
_TYPED = {
    StepKind.INSTALL, StepKind.UNINSTALL, StepKind.SET, StepKind.UNSET, StepKind.SYSTEM,
}  # fmt: skip
_LETTERS = {Severity.ERROR: "e", Severity.WARNING: "w", Severity.NOTE: "n"}
SEVERITIES = {letter: severity for severity, letter in _LETTERS.items()}


class Content(msgspec.Struct, frozen=True, omit_defaults=True):
    """All of a record but who made it: equal nodes have equal contents."""

    x: int
    """The exit code of the check, ``--exit-zero`` apart."""
    d: str = ""
    """Digest of all the rest, before something was dropped."""
    w: str = ""
    """The worst severity: e, w, n, or nothing."""
    c: tuple[int, ...] = ()
    """How many errors, warnings, notes and undecided rules."""
    f: tuple[str, ...] = ()
    """Findings, worst first: ``e driver-too-old``."""
    v: str = ""
    """Digest of the verdicts."""
    t: Tree = {}
    o: dict[str, str] = {}
    """Sections that were dropped, for the record to fit -> their digests."""
    p: str = ""
    """Why there is nothing else, where the check could not be done."""
    s: bool = False
    """Another task of this node reports for it."""
    a: dict[str, str] = {}
    """Rule -> the commands of its first fix, or else its first sentence. Not in the digest:
    commands name paths."""

    @property
    def is_report(self) -> bool:
        """Return whether somebody looked at the node."""
        return not self.s and not self.p


class Alike(NamedTuple):
    """Nodes between which no difference can be seen."""

    content: Content
    nodes: list[str]


SECOND = Content(x=0, s=True)
"""What a task says whose node is reported by its first one."""


class CheckOutcome(NamedTuple):
    """What a check concluded, as its report has it."""

    findings: Sequence[Finding]
    verdicts: Sequence[Verdict]
    counts: tuple[int, int, int, int]
    code: int
    by: dict[str, str]
    """What judged: fadoctor's version, and that of the rules."""

    @classmethod
    def of(cls, report: Report | Plain, code: int) -> CheckOutcome:
        """Return what a report concludes, of a check that ended with this code."""
        total = report.summary
        counts = (total.error, total.warning, total.note, total.unknown)
        by = {"fadoctor": report.fadoctor, "rules": report.rules.version}
        return cls(report.findings, report.verdicts, counts, code, by)


def content_of(
    outcome: CheckOutcome,
    facts: Mapping[str, Fact],
    image: str = "",
    builds: Mapping[str, str] = {},
) -> Content:
    """Return what a node says; `builds` are the build ids of its binaries, where they were read."""
    ids = {f"{_LETTERS[each.severity]} {short(each.rule_id)}" for each in outcome.findings}
    worst = next((letter for letter in "ewn" if any(each[0] == letter for each in ids)), "")
    found = Content(
        x=outcome.code,
        w=worst,
        c=outcome.counts,
        f=tuple(sorted(ids, key=lambda each: ("ewn".index(each[0]), each))),
        v=digest_of([_cell(each) for each in outcome.verdicts]) if outcome.verdicts else "",
        t=tree_of(facts, image, builds, outcome.by),
    )
    return msgspec.structs.replace(sealed(found), a=first_steps(outcome.findings))


def first_steps(findings: Iterable[Finding]) -> dict[str, str]:
    """Return rule -> the commands of its first fix, or else its first sentence."""
    found: dict[str, str] = {}
    for each in findings:
        steps = each.fixes[0].steps if each.fixes and each.severity is not Severity.NOTE else ()
        typed = [step.text for step in steps if step.kind in _TYPED]
        text = " && ".join(typed) or next((step.text for step in steps), "")
        if text and text.isascii() and len(text) <= _STEP_LIMIT:
            found.setdefault(short(each.rule_id), printable(text, _STEP_LIMIT))
    return found


def failed(code: int, problem: str) -> Content:
    """Return what a node says where the check could not be done."""
    shown = printable(problem, _PROBLEM_LIMIT).encode("ascii", "replace").decode()
    return sealed(Content(x=code, p=shown or "without a reason"))


def sealed(content: Content) -> Content:
    """Return a content with its digest."""
    return msgspec.structs.replace(
        content, d=digest_of(msgspec.structs.replace(content, d="", a={}))
    )


def digest_of(what: object) -> str:
    """Return a short digest of data of the model."""
    return hashlib.blake2b(encode(what, order="deterministic"), digest_size=5).hexdigest()


def _cell(verdict: Verdict) -> tuple[str, ...]:
    gpu = verdict.gpu
    return (
        gpu, verdict.backend.value, verdict.package_version, verdict.dtype.value,
        verdict.predicted.value, verdict.measured.value,
    )  # fmt: skip
