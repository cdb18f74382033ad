"""A plan as a requirements file: exact pins and direct addresses of what it installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.plan import ActionKind
from fadoctor.model.plan_words import shortcomings
from fadoctor.report.plan_answer import short_answer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.plan import Plan


def render(plan: Plan) -> str:
    """Return the file; what has to be removed, and what pins cannot say, stands in comments."""
    return "\n".join(printable(line, 4_000) for line in _lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield f"# {plan.target.label}: {short_answer(plan)}"
    yield from (f"# {text}" for text in shortcomings(plan))
    for action in plan.actions:
        match action.kind:
            case ActionKind.UNINSTALL:
                yield f"# first uninstall: {' '.join(action.requirements)}"
            case ActionKind.INSTALL | ActionKind.BUILD:
                if action.index:
                    yield f"--extra-index-url {action.index}"
                if action.kind is ActionKind.BUILD:
                    yield "# compiled here: needs --no-build-isolation"
                yield from action.requirements
            case _:
                pass
