"""A plan as text for a person: each action with its command, its reason and its undoing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.judging.engine.shell_lines import assignment, unassignment
from fadoctor.model.fact import printable
from fadoctor.model.plan import ActionKind, Answer
from fadoctor.model.plan_words import (
    KEEPING,
    UNCHANGED,
    alternative_text,
    change_text,
    conflict_text,
)
from fadoctor.repair.plan.written.dialect import command_line
from fadoctor.report.paper import wrapped
from fadoctor.report.plan_answer import answer_text, left_over, one_line
from fadoctor.report.style import Style
from fadoctor.report.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.plan import (
        Action,
        Conflict,
        Edit,
        Plan,
        Proof,
        Verification,
    )

_LINE_LIMIT = 4_000

# 1. Remove flash-attn
_TITLE = re.compile(r"\d{1,3}\. ")
_CONTINUED = re.compile(r" {3}\S(?!\w{1,12}: )")
# By hand:
_HEADING = re.compile(r"[A-Z][^:]{0,60}:$")
#    but:     code that ...  |  +torch==2.8.0  |  -torch==2.6.0
_BEGINNING = re.compile(r"^( {3}|)(but:|(?<! )[+-](?![+-]).*)")
_COLOURS = {"b": "33", "+": "32", "-": "31"}


def render(plan: Plan, style: Style = Style()) -> str:  # noqa: B008 -- frozen
    """Return the plan. Commands are never wrapped, so that they can be pasted."""
    found = [one_line(plan)] if style.quiet else _lines(plan, style)
    lines = [printable(line, _LINE_LIMIT).rstrip() for line in found]
    text = "\n".join(_painted(lines) if style.colour and not style.quiet else lines) + "\n"
    return text.encode("ascii", "replace").decode() if style.ascii_only else text


def _painted(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines with what they begin with in colour, which only repeats what they say.

    Titles of steps are bold, with their second lines (indented by three), and headings.
    """
    in_title = False
    for line in lines:
        in_title = bool(_TITLE.match(line)) or (in_title and bool(_CONTINUED.match(line)))
        if in_title or _HEADING.match(line):
            yield f"\x1b[1m{line}\x1b[0m"
        else:
            yield _BEGINNING.sub(_in_colour, line)


def _in_colour(found: re.Match[str]) -> str:
    return f"{found[1]}\x1b[{_COLOURS[found[2].strip()[0]]}m{found[2]}\x1b[0m"


def steps(plan: Plan, style: Style) -> Iterator[str]:
    """Yield the lines about what a plan does and leaves, without those about the environment."""
    for line in _steps(plan, style):
        yield printable(line, _LINE_LIMIT).rstrip()


def _lines(plan: Plan, style: Style) -> Iterator[str]:
    width = style.width
    yield from wrapped(f"Environment: {plan.target.label} ({plan.target.reason})", width)
    if plan.assumed:
        yield from wrapped(f"Assumed: {'; '.join(plan.assumed)}", width)
    if plan.windows and plan.actions:
        yield from wrapped(
            "Commands are for PowerShell; --format script writes them for cmd.", width
        )
    yield from _steps(plan, style)


def _steps(plan: Plan, style: Style) -> Iterator[str]:
    width = style.width
    run = [action for action in plan.actions if action.is_step]
    by_hand = [action for action in plan.actions if action not in run]
    in_files = plan.target.kind == "manifest"
    installs = any(action.argv for action in run)
    whose = f" for {plan.installer}" if installs else ""
    steps = f"{counted(len(run), 'step')}{whose}. " if run and not in_files else ""
    yield from wrapped(f"{steps}{answer_text(plan)}", width)
    first = [note for note in plan.notes if note.startswith((KEEPING, UNCHANGED))]
    for note in first:
        yield ""
        said = (
            f"First consider {note}." if note.startswith(KEEPING) else note[:1].upper() + note[1:]
        )
        yield from wrapped(said, width, "", "  ")
    for edit in plan.edits:
        yield from _edited(edit, width, windows=plan.windows)
    for number, action in enumerate(() if in_files and plan.edits else run, 1):
        yield ""
        yield from _step(number, action, style, windows=plan.windows)
    yield from _changed(plan, style)
    if by_hand:
        yield ""
        yield "By hand:"
        for action in by_hand:
            yield from _advice(action, width)
    yield from _left(plan.proof, width)
    for conflict in plan.conflicts:
        yield ""
        yield from _conflict(conflict, width)
    for alternative in plan.alternatives:
        yield ""
        yield from wrapped(f"Or {alternative_text(alternative)}.", width, "", "  ")
    if plan.verification is not None:
        yield ""
        yield from wrapped(_verified(plan.verification), width, "", "  ")
    for note in (each for each in plan.notes if each not in first):
        yield ""
        yield from wrapped(f"Note: {note}", width)


def _changed(plan: Plan, style: Style) -> Iterator[str]:
    if style.verbose and plan.changes:
        yield ""
        yield "All that changes:"
        for change in plan.changes:
            yield from wrapped(change_text(change), style.width, "  - ", "    ")


def _edited(edit: Edit, width: int, *, windows: bool) -> Iterator[str]:
    """Yield the change of a manifest: a diff, which is never wrapped, or what to do instead."""
    yield ""
    yield from edit.diff.split("\n") if edit.diff else ()
    if edit.text:
        yield from wrapped(edit.text, width)
    if edit.command:
        yield f"    {command_line(edit.command, windows=windows)}"


def _verified(found: Verification) -> str:
    """Return what the installer said, in one paragraph."""
    match found.answer:
        case Answer.RESOLVES:
            text = f"{found.by} agrees, and would install {', '.join(found.would_install)}"
            text = (
                text if found.would_install else f"{found.by} agrees: everything is there already"
            )
        case Answer.REFUSED:
            text = f"{found.by} refuses this plan"
        case Answer.DIFFERS:
            text = f"{found.by} would not carry out the plan"
        case Answer.UNREACHABLE:
            text = "The plan could not be verified"
    return f"{text}: {found.detail}" if found.detail else f"{text}."


def _advice(action: Action, width: int) -> Iterator[str]:
    """Yield what a person does, and why; what is copied stays one line."""
    cause = f"(for {', '.join(action.findings)})"
    line = f"{action.text}  {cause}"
    if action.kind is ActionKind.ADVICE or len(line) + 4 <= width:
        yield from wrapped(line, width, "  - ", "    ")
    else:
        yield f"  - {action.text}"
        yield from wrapped(cause, width, "    ", "    ")


def _step(number: int, action: Action, style: Style, *, windows: bool) -> Iterator[str]:
    width = style.width
    yield from wrapped(f"{number}. {action.text[:1].upper()}{action.text[1:]}", width, "", "   ")
    for line in command_lines(action, windows=windows):
        yield f"     {line}"
    details = {
        "repairs": ", ".join(action.findings),
        "because": action.why,
        "but": "; ".join(action.side_effects),
        "sha256": action.sha256 if style.verbose else "",
        "index": action.index if style.verbose else "",
    }
    for word, text in details.items():
        if text:
            yield from wrapped(text, width, f"   {word + ':':9}", " " * 12)
    if action.undo:
        yield f"   {'undo:':9}{action.undo}"


def command_lines(action: Action, *, windows: bool) -> list[str]:
    """Return what is pasted into a shell for an action; none for what is done by hand."""
    if action.kind in (ActionKind.SET, ActionKind.UNSET):
        return [
            assignment(f"{name}={value}", windows=windows)
            if value
            else unassignment(name, windows=windows)
            for name, value in action.env.items()
        ]
    if not action.argv:
        return []
    return [command_line(action.argv, windows=windows, env=action.env)]


def _left(proof: Proof, width: int) -> Iterator[str]:
    found = left_over(proof)
    if found:
        yield ""
    for words, items in found.items():
        yield from wrapped(f"{words}: {'; '.join(items)}", width, "", "  ")


def _conflict(conflict: Conflict, width: int) -> Iterator[str]:
    yield from wrapped(f"Impossible: {conflict_text(conflict)}.", width)
    if conflict.alternatives:
        yield "What would help:"
    for letter, alternative in zip(
        "abcdefghijklmnopqrstuvwxyz", conflict.alternatives, strict=False
    ):
        yield from wrapped(alternative_text(alternative), width, f"  ({letter}) ", "      ")
