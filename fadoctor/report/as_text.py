"""Any document as the text that its command prints, without colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.environment import Environment
from fadoctor.model.explanation import Explanation
from fadoctor.model.plan import Plan
from fadoctor.model.report import Report
from fadoctor.report import explanation_text, plan_text, smoke_text, text
from fadoctor.report.environment_text import environment_lines
from fadoctor.report.style import Style

if TYPE_CHECKING:
    from fadoctor.report.html.fragment import Shown


def as_text(document: Shown) -> str:
    """Return a document's text without a line end at its end."""
    return _render(document).rstrip("\n")


def _render(document: Shown) -> str:
    style = Style()
    if isinstance(document, Environment):
        return "\n".join([document.target.label, *environment_lines(document.facts)])
    if isinstance(document, Report):
        return text.render(document, style)
    if isinstance(document, Explanation):
        return explanation_text.render(document, style)
    if isinstance(document, Plan):
        return plan_text.render(document, style)
    return smoke_text.render(document, style)
