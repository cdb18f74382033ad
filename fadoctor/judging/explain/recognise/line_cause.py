"""A cause that one line shows without a wording of its rule: facts, a frame or a person tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.engine.symptoms import SymptomMatch
from fadoctor.judging.explain.causes import Cause
from fadoctor.model.finding import Confidence, Severity
from fadoctor.sources.logs.messages import Failure

if TYPE_CHECKING:
    from fadoctor.model.rule import Rule
    from fadoctor.sources.logs.cleaning import Line


def line_cause(  # noqa: PLR0913 -- what a line can say
    rule: Rule,
    message: str,
    line: Line,
    *,
    severity: Severity | None = None,
    confidence: Confidence = Confidence.MEDIUM,
    captures: dict[str, str] | None = None,
    consequences: tuple[str, ...] = (),
) -> Cause:
    """Return the cause of a rule that a whole line shows, by default as severe as the rule."""
    severity = severity or rule.severity
    match = SymptomMatch(
        rule_id=rule.id,
        index=0,
        severity=severity,
        confidence=confidence,
        captures=captures or {},
        message=message,
        specific=0,
        start=0,
        end=len(line.text),
    )
    failure = Failure(line.channel, (line,))
    return Cause(rule, match, severity, (line,), failure, consequences)
