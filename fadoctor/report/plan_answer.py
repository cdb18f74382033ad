"""What a plan comes to: in a sentence, in one line, and what it leaves, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.plan import ActionKind, PlanOutcome
from fadoctor.model.plan_words import (
    UNDECIDED_NOTE,
    change_text,
    has_doubts,
    is_mostly_open,
    is_unasked,
    lacks_python,
    leaves_open,
)
from fadoctor.report.words import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.plan import Plan, Proof

_VARIABLES = (ActionKind.SET, ActionKind.UNSET)

_NOTHING = "Nothing to repair"
_NOTHING_KNOWN = "No known problem needs repair"
_NOTHING_NAMED = "No known problem needs repair in what the files decide"
_MOSTLY_OPEN = "No problem was found, and most rules could not be decided"
_UNASKED = "No problem was found, and no installer was asked"
_DOUBTED = "Whether something is wrong here could not be decided"
_HOPELESS = "No known release helps"
_WITHOUT_PYTHON = "No release can be chosen before the Python is named"
_CLEAN = "Afterwards no problem remains"
_NONE_FOUND = "Afterwards no rule that could be decided finds a problem"
_NOT_KNOWN = "Afterwards no known problem remains"
_NO_ERROR = "Afterwards no rule finds an error"
_NO_ERROR_NOW = "No rule finds an error"
_LOSES = "Afterwards some features stop working, or are no longer proved to work"
_SETTINGS = "Settings replace what one of the GPUs cannot run"
_STILL_WRONG = "Afterwards something is still wrong"
_NO_COMMAND = "No command that fadoctor could run repairs this"
_OPEN = "No known problem was found"

_PROVED = "all rules were checked against the simulated result."
_EACH = "all were checked against the simulated result."
_LISTED: Mapping[str, str] = {
    _CLEAN: f": {_PROVED}",
    _NOT_KNOWN: f": {_PROVED} What could not be proved is listed below.",
    _NOTHING_NAMED: ". The notes below name what an installer decides.",
    _MOSTLY_OPEN: ". `fadoctor check` says why.",
    _UNASKED: ". The note below names what only an installer can tell.",
    _DOUBTED: ". The note below says how to find out.",
    _NONE_FOUND: ". What stays open is noted below.",
    _LOSES: f", as listed below. No rule finds an error: {_EACH}",
    _SETTINGS: ", as listed below.",
    _STILL_WRONG: ", as listed below.",
    _OPEN: ". What could not be decided is listed below.",
}
"""How a sentence goes on where what it speaks of follows."""

_BY_HAND = "Manual steps are listed below."
_BY_HAND_AND_OPEN = "Manual steps, and steps that could not be {}, are listed below."


def answer_text(plan: Plan) -> str:
    """Return the answer in a sentence, which what follows must not contradict."""
    said = _said(plan)
    by_hand = any(not action.is_step for action in plan.actions)
    if said == _NO_ERROR:
        how = _BY_HAND_AND_OPEN.format("proved") if plan.proof.unknown else _BY_HAND
        return f"{said}: {_EACH} {how}"
    if said == _NO_ERROR_NOW:
        how = _BY_HAND_AND_OPEN.format("decided") if plan.proof.unknown else _BY_HAND
        return f"{said}. {how}"
    if said == _NO_COMMAND:
        return f"{said}. {_BY_HAND if by_hand else ''}".rstrip()
    return f"{said}{_LISTED.get(said, '.')}"


def short_answer(plan: Plan) -> str:
    """Return what the plan comes to, where nothing is listed below."""
    return f"{_said(plan)}."


def _said(plan: Plan) -> str:
    """Return what the plan comes to, without what is listed."""
    match plan.outcome:
        case PlanOutcome.NOTHING:
            return _said_of_nothing(plan)
        case PlanOutcome.IMPOSSIBLE:
            is_sought = plan.proof.missed or plan.proof.lost or plan.conflicts
            hopeless = _WITHOUT_PYTHON if lacks_python(plan) else _HOPELESS
            return hopeless if is_sought else _NO_COMMAND
        case PlanOutcome.PARTIAL:
            return _said_of_part(plan)
        case PlanOutcome.REPAIRS:
            return _said_of_repair(plan)


def _said_of_nothing(plan: Plan) -> str:
    if has_doubts(plan):
        return _DOUBTED
    if is_mostly_open(plan):
        return _MOSTLY_OPEN
    if leaves_open(plan):
        return _NOTHING_NAMED
    if is_unasked(plan):
        return _UNASKED
    return _NOTHING_KNOWN if plan.notes else _NOTHING


def _said_of_repair(plan: Plan) -> str:
    if plan.proof.lost:
        return _LOSES
    if any(not action.is_step for action in plan.actions):
        return _NO_ERROR
    if plan.proof.unknown:
        return _NOT_KNOWN
    is_noted = leaves_open(plan) or any(note.endswith(UNDECIDED_NOTE) for note in plan.notes)
    return _NONE_FOUND if is_noted else _CLEAN


def _said_of_part(plan: Plan) -> str:
    by_hand = any(not action.is_step for action in plan.actions)
    if not plan.proof.clean:
        runs = any(action.is_step for action in plan.actions)
        return _STILL_WRONG if runs else _NO_COMMAND
    if plan.proof.by_setting:
        return _SETTINGS
    return _NO_ERROR_NOW if by_hand else _OPEN


def one_line(plan: Plan) -> str:
    """Return what would change and how it ends, for ``--quiet``: nothing stands below it."""
    changes = [change_text(change) for change in plan.changes]
    changes += [action.text for action in plan.actions if action.kind in _VARIABLES]
    parts = [f"{', '.join(changes)}."] if changes else []
    by_hand = sum(not action.is_step for action in plan.actions)
    parts += [f"{counted(by_hand, 'thing')} to do by hand."] if by_hand else []
    parts.append(short_answer(plan))
    parts += [f"{words}: {'; '.join(items)}." for words, items in left_over(plan.proof).items()]
    parts += [f"Impossible: {each.wish}." for each in plan.conflicts]
    if plan.outcome is PlanOutcome.NOTHING:
        parts += [f"{note[:1].upper()}{note[1:]}." for note in plan.notes]
    return " ".join(parts)


def left_over(proof: Proof) -> dict[str, tuple[str, ...]]:
    """Return what a plan leaves open or wrong, by what that is called; nothing that is empty."""
    named = {
        "Still wrong": proof.errors,
        "Only by settings, because another GPU needs the package": proof.by_setting,
        "Not reached": proof.missed,
        "Stops working": proof.lost,
        "Would be broken": proof.requirements,
        "Cannot be decided": _by_reason(proof.unknown),
    }
    return {words: items for words, items in named.items() if items}


def _by_reason(items: tuple[str, ...]) -> tuple[str, ...]:
    """Return each reason once, behind all that it is given for: ``fa2, flex: not installed``."""
    found: dict[str, list[str]] = {}
    for item in items:
        name, colon, reason = item.partition(": ")
        found.setdefault(reason if colon else "", []).append(name)
    plain = found.pop("", [])
    return (*plain, *(f"{', '.join(names)}: {reason}" for reason, names in found.items()))
