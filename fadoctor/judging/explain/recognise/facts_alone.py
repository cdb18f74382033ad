"""Errors that a text's facts show, of which its words say nothing that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.judging.engine.judge import judge
from fadoctor.judging.explain.recognise.ideas import told_idea
from fadoctor.judging.explain.recognise.line_cause import line_cause
from fadoctor.judging.explain.recognise.proved import LINES_LIMIT, is_of_ggml
from fadoctor.judging.explain.vetoes.solved_errors import is_over
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.finding import Severity
from fadoctor.model.rule import rules_by_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.judging.explain.causes import Cause
    from fadoctor.model.finding import Finding
    from fadoctor.model.rule import Knowledge
    from fadoctor.sources.logs.cleaning import Line
    from fadoctor.sources.logs.facts import LogFacts

TROUBLE = "trouble-in-words"
"""The idea of words by which people complain of anything."""

ABOUT_GPU = "about-a-gpu"
"""The idea of words about a GPU: what else fails is no matter of torch."""

FACTS_ALONE = (
    "The versions and hardware in the text do not go together: "
    "`fadoctor check --facts` shows {} in the same text."
)


def errors_of(facts: LogFacts, knowledge: Knowledge) -> tuple[Finding, ...]:
    """Return the errors that the facts of a text show, whatever it complains of."""
    if not any(name.endswith(".version") for name in facts.named):
        return ()
    judged = judge(facts.environment, knowledge, Matrix(knowledge.tables))
    return tuple(each for each in judged.findings if each.severity is Severity.ERROR)


def facts_alone(errors: Sequence[Finding]) -> str:
    """Return in words how many errors the facts of a text show that complains of nothing known."""
    count = len(errors)
    return FACTS_ALONE.format(f"{count} error{'s' if count > 1 else ''}") if errors else ""


def shown_alone(
    lines: tuple[Line, ...], errors: Sequence[Finding], knowledge: Knowledge
) -> tuple[Cause, ...]:
    """Return the one error of a text's facts, where a line complains of something about a GPU.

    No word of such a text names the error, so it is no more than a warning. Of several errors none
    is meant for sure.
    """
    rules = {finding.rule_id for finding in errors}
    if len(rules) != 1 or len(lines) > LINES_LIMIT or is_of_ggml(lines):
        return ()
    trouble, gpu = (told_idea(name, knowledge) for name in (TROUBLE, ABOUT_GPU))
    line = next(
        (
            line
            for line in lines
            if trouble.search(low := line.text.lower())
            and gpu.search(low)
            and not is_over(line.text)
        ),
        None,
    )
    if line is None:
        return ()
    finding = errors[0]
    cause = line_cause(
        rules_by_id(knowledge)[finding.rule_id],
        finding.message,
        line,
        severity=Severity.WARNING,
        consequences=finding.consequences,
    )
    return (cause,)
