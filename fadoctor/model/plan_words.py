"""How a plan's changes, conflicts and shortcomings are worded, whatever form it is printed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.model.plan import Alternative, Change, Conflict, Plan

KEEPING = "a way that takes nothing back: "
"""How a note begins that is read before the first step."""

UNCHANGED = "no step changes this: "
"""How a note begins that is read there, too: what stays so on this GPU, whatever is installed."""


OPEN_NOTE = "an installer decides which "
"""How a note begins that tells what is wrong with a release that an installer may take."""

UNDECIDED_NOTE = " could not be decided: `fadoctor check` says why"
"""How the note ends that counts the rules without an answer."""


MOST_NOTE = "most rules, "
"""How that note begins where more than half of all rules have none."""

UNASKED_NOTE = "no installer was asked "
"""How a note begins that names pins of which no table knows what goes with them."""


DOUBT_NOTE = "not decided: "
"""How a note begins on what may be wrong, where no fact tells."""


OPEN_PYTHON = "for an unknown Python "
"""How the reason of a conflict begins where nobody knows which files an installer takes."""


def lacks_python(plan: Plan) -> bool:
    """Return whether nothing could be chosen because the Python is unknown."""
    reasons = (text for each in plan.conflicts for text in each.because)
    return any(text.startswith(OPEN_PYTHON) for text in reasons)


def has_doubts(plan: Plan) -> bool:
    """Return whether a plan has a note on what may be wrong."""
    return any(note.startswith(DOUBT_NOTE) for note in plan.notes)


def leaves_open(plan: Plan) -> bool:
    """Return whether a plan has a note on what an installer decides, and not the files."""
    return any(note.startswith(OPEN_NOTE) for note in plan.notes)


def is_mostly_open(plan: Plan) -> bool:
    """Return whether more than half of all rules have no answer."""
    return any(note.startswith(MOST_NOTE) for note in plan.notes)


def is_unasked(plan: Plan) -> bool:
    """Return whether a plan has a note on pins that only an installer can hold together."""
    return any(note.startswith(UNASKED_NOTE) for note in plan.notes)


def change_text(change: Change) -> str:
    """Return a change in words: ``torch 2.6.0 -> 2.8.0``."""
    match change.before, change.after:
        case "", after:
            return f"{change.distribution} {after}".rstrip()
        case before, "":
            return f"{change.distribution} {before} removed"
        case before, after if before == after:
            return f"{change.distribution} {after} (another build)"
        case before, after:
            return f"{change.distribution} {before} -> {after}"


def conflict_text(conflict: Conflict) -> str:
    """Return ``fa2 on gpu[0], because it has ..., and no known release ...``."""
    return f"{conflict.wish}, because {_in_a_row(conflict.because)}"


def alternative_text(alternative: Alternative) -> str:
    """Return what could be done instead, what would change then, and what that needs."""
    text = alternative.give_up
    if alternative.changes:
        text += f": {', '.join(map(change_text, alternative.changes))}"
    if alternative.needs:
        text += f"; needs {', '.join(alternative.needs)}"
    return text


def shortcomings(plan: Plan) -> Iterator[str]:
    """Yield what a plan does not bring about, a line each, for comments of a file."""
    for conflict in plan.conflicts:
        yield f"impossible: {conflict_text(conflict)}"
        yield from (f"what would help: {alternative_text(a)}" for a in conflict.alternatives)
    yield from (f"still wrong: {rule_id}" for rule_id in plan.proof.errors)
    yield from (f"not reached: {text}" for text in plan.proof.missed)
    yield from (f"could not be proved: {text}" for text in plan.proof.unknown)


def _in_a_row(reasons: Sequence[str]) -> str:
    """Return reasons as one sentence names them; semicolons where a comma would not do."""
    *others, last = reasons
    if not others:
        return last
    return f"{'; '.join(others)}{';' if len(others) > 1 else ','} and {last}"
