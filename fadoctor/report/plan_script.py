"""A plan as a script that can be run: comments say why, and only what `fix` would run is code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.plan_words import shortcomings
from fadoctor.report.plan_answer import short_answer
from fadoctor.report.plan_text import command_lines
from fadoctor.syntax.windows_command import cmd_line, cmd_set

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.plan import Action, Plan


def render(plan: Plan) -> str:
    """Return a script for sh, or for cmd on Windows. It stops at the first failure."""
    comment = "rem" if plan.windows else "#"
    lines = [*_opening(plan, comment)]
    for action in plan.actions:
        lines += ["", *_action(action, comment, windows=plan.windows)]
    return "\n".join(printable(line, 8_000).rstrip() for line in lines) + "\n"


def _opening(plan: Plan, comment: str) -> Iterator[str]:
    yield "@echo off" if plan.windows else "#!/bin/sh"
    yield f"{comment} {plan.target.label} ({plan.target.reason})"
    yield from (f"{comment} assumed: {overlay}" for overlay in plan.assumed)
    yield f"{comment} {short_answer(plan)} Each step has the command that undoes it beside it."
    yield from (f"{comment} {text}" for text in shortcomings(plan))
    if not plan.windows:
        yield "set -eu"


def _action(action: Action, comment: str, *, windows: bool) -> Iterator[str]:
    yield f"{comment} {action.kind.value}: {action.text}"
    if action.findings:
        yield f"{comment} for {', '.join(action.findings)}"
    for effect in action.side_effects:
        yield f"{comment} but: {effect}"
    if action.undo:
        yield f"{comment} undo: {action.undo}"
    for line in _batch_lines(action) if windows else command_lines(action, windows=False):
        # in a batch file a percent sign is doubled: addresses hold some
        yield f"{line.replace('%', '%%')} || exit /b 1" if windows else line


def _batch_lines(action: Action) -> list[str]:
    """Return the lines of a batch file for an action."""
    variables = [cmd_set(name, value) for name, value in action.env.items()]
    return [*variables, cmd_line(action.argv)] if action.argv else variables
