"""Put a failure for which all is done already behind the one that came after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.possible import is_marked_tried
from fadoctor.model.finding import Severity

if TYPE_CHECKING:
    from fadoctor.model.finding import Finding


def without_done(findings: list[Finding]) -> list[Finding]:
    """Return findings; where another follows, one whose every fix was tried is a last note.

    Who changed what the first error asked for, and tells of a second one, is past the first.
    """
    past = [
        each for each in findings if _is_done(each) and any(_follows(o, each) for o in findings)
    ]
    left = [each for each in findings if each not in past]
    return left + [msgspec.structs.replace(each, severity=Severity.NOTE) for each in past]


def _is_done(finding: Finding) -> bool:
    return bool(finding.fixes) and all(map(is_marked_tried, finding.fixes))


def _follows(other: Finding, finding: Finding) -> bool:
    """Return whether another failure with a fix that is left shows later in the text."""
    return _line(other) > _line(finding) > 0 and bool(other.fixes) and not _is_done(other)


def _line(finding: Finding) -> int:
    """Return the line in which a failure shows first; 0 where it shows in none."""
    lines = (each.source.rpartition(":")[2] for each in finding.evidence if each.fact == "log")
    return next((int(line) for line in lines if line.isdecimal()), 0)
