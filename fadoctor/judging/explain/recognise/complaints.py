"""What a log complains of in words of its own, where its own facts show what is wrong with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.judging.engine.symptoms import SymptomMatch
from fadoctor.judging.explain.causes import Cause
from fadoctor.model.finding import Confidence, Severity
from fadoctor.model.packages import BYSTANDERS, PACKAGES
from fadoctor.sources.logs.messages import Failure
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Rule
    from fadoctor.sources.logs.cleaning import Line

# Triton Compilation Error | importing xformers fails | flash-attn does not work
_COMPLAINT = compiled(
    r"(?i)\b(?:errors?|fails?|failed|failure|exception|crash(?:es|ed)?|broken"
    r"|(?:does|do|is|are)(?: ?n.t| not) (?:work|load)(?:ing)?|(?:can.?t|cannot) (?:be )?"
    r"(?:import|load)\w{0,4})\b|报错|失败"
)
LINES_LIMIT = 400
"""Most lines in which a complaint is looked for: a report that a person has written is short."""

_GROUND = BYSTANDERS | {"torch"}
"""Packages that are named in every log: a complaint must name another one."""


def complaining(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return the lines of a short log that complain of something."""
    if len(lines) > LINES_LIMIT:
        return ()
    return tuple(line for line in lines if _COMPLAINT.search(line.text))


def complaints(
    loud: tuple[Line, ...], findings: Iterable[Finding], rules: Iterable[Rule]
) -> Iterator[Cause]:
    """Yield the errors that a log's facts show about what its lines complain of."""
    by_id = {rule.id: rule for rule in rules}
    for finding in findings if loud else ():
        if finding.severity is not Severity.ERROR:
            continue
        line = next((line for line in loud if _names(finding, line.text)), None)
        if line is not None:
            yield _cause(finding, line, by_id)


def _names(finding: Finding, text: str) -> bool:
    """Return whether a line names a package that a finding is about."""
    keys = {each.fact.partition(".")[0] for each in finding.evidence}
    names = {name for key in (keys & PACKAGES.keys()) - _GROUND for name in PACKAGES[key]}
    return any(_word(name).search(text) for name in names)


def _word(name: str) -> re.Pattern[str]:
    spelt = "[-_ ]?".join(map(re.escape, name.split("-")))
    return compiled(rf"(?i)(?<![\w/]){spelt}(?![\w/])")


def _cause(finding: Finding, line: Line, by_id: Mapping[str, Rule]) -> Cause:
    match = SymptomMatch(
        rule_id=finding.rule_id,
        index=0,
        severity=finding.severity,
        confidence=Confidence.MEDIUM,
        captures={},
        message=finding.message,
        specific=0,
        start=0,
        end=0,
    )
    failure = Failure(line.channel, (line,))
    return Cause(
        by_id[finding.rule_id], match, finding.severity, (line,), failure, finding.consequences
    )
