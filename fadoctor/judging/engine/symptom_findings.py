"""Findings out of what was raised or printed: a symptom that shows, as a finding with its fixes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.engine.fixes import offered_fixes
from fadoctor.judging.engine.judge import fingerprint
from fadoctor.judging.engine.scope import Scope
from fadoctor.model.finding import Evidence, Finding

if TYPE_CHECKING:
    from fadoctor.judging.engine.symptoms import SymptomMatch
    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Rule


def finding_of(
    match: SymptomMatch,
    rule: Rule,
    evidence: tuple[Evidence, ...],
    environment: Environment,
    matrix: Matrix,
) -> Finding:
    """Return the finding for a match; facts fill what the rule's texts leave open."""
    scope = Scope(environment, matrix, rule, {})
    subject = rule.subject
    return Finding(
        rule_id=rule.id,
        severity=match.severity,
        confidence=match.confidence,
        title=rule.title,
        message=match.message,
        why=scope.fill(rule.why),
        subject=subject,
        evidence=evidence,
        fixes=offered_fixes(scope),
        consequences=(),
        references=rule.cited,
        fingerprint=fingerprint(rule.id, subject),
    )
