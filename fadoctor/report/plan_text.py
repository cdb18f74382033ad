"""The list of fixes as text that can be read, and pasted line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.fix import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.plan.listing import Plan, PlanStep

_LINE_LIMIT = 4_000

_TITLES = {
    StepKind.SYSTEM: "By hand",
    StepKind.UNINSTALL: "Remove",
    StepKind.INSTALL: "Install",
    StepKind.UNSET: "Unset",
    StepKind.SET: "Set",
    StepKind.SETTING: "Settings of your framework",
    StepKind.ADVICE: "To decide or do yourself",
}


def render(plan: Plan) -> str:
    """Return the list; comments begin with ``#``, so that the commands can be pasted."""
    lines = (line for text in _lines(plan) for line in text.split("\n"))
    return "\n".join(printable(line, _LINE_LIMIT) for line in lines) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield f"# {plan.target.label} ({plan.target.reason})"
    if not plan.steps and not plan.without_fix:
        yield "# Nothing to fix."
    for kind in dict.fromkeys(step.kind for step in plan.steps):
        yield ""
        yield f"# {_TITLES[kind]}"
        for step in plan.steps:
            if step.kind is kind:
                yield from _step_lines(step)
    for conflict in plan.conflicts:
        yield f"# CONFLICT: {conflict}"
    for rule_id in plan.without_fix:
        yield f"# {rule_id}: no fix is known"


def _step_lines(step: PlanStep) -> Iterator[str]:
    is_command = step.kind in (
        StepKind.INSTALL, StepKind.UNINSTALL, StepKind.SET, StepKind.UNSET
    )  # fmt: skip
    if is_command:
        yield f"# for {', '.join(step.findings)} ({step.safety})"
        if step.side_effects:
            yield f"# side effects: {step.side_effects}"
        yield step.text
    else:
        yield f"# - {step.text}  (for {', '.join(step.findings)})"
