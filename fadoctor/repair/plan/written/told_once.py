"""What several findings tell a person to do, each once: the line that says most stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.repair.plan.written.advice import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.plan import Action

# /srv/.venv/bin/python -m pip, python -m pip: which one it is
_WHOSE = re.compile(r"(?:\S{1,200}[\\/])?python(?:3(?:\.\d{1,2})?)? -m pip\b")
_INSTALLED = re.compile(r"\bpip install (?P<words>[^\n]{1,2000})")
_ENDS = re.compile(r"[`),;:]|\.\s|\.\Z|&&")
_WITH_VALUE = ("-f", "--find-links", "-i", "--index-url", "--extra-index-url", "-c", "-r")
_ADDRESS = "://"


def told_once(actions: Iterable[Action]) -> tuple[Action, ...]:
    """Return the actions without what another one says as well, which is for both findings then.

    Two lines are one where they differ in the name of pip alone. A command that names no release
    and no place goes where another finding's command names one for the same packages, and with it
    the rest of its fix.
    """
    told: dict[str, Action] = {}
    for number, each in enumerate(actions):
        key = f"{each.kind} {_plain(each.text)}" if not each.is_step else f"step {number}"
        earlier = told.get(key)
        told[key] = each if earlier is None else _joined(earlier, each)
    lines = list(told.values())
    for each in tuple(lines):
        better = next((one for one in lines if _says_more(one, each)), None)
        if better is None or each not in lines:
            continue
        rest = [one for one in lines if not one.is_step and one.findings == each.findings]
        lines[lines.index(better)] = _for_both(better, each)
        lines = [one for one in lines if one not in rest]
    return tuple(lines)


def _plain(text: str) -> str:
    return _WHOSE.sub("pip", text)


def _joined(one: Action, other: Action) -> Action:
    """Return one of two lines that say the same: the one that names its pip."""
    named = other if len(other.text) > len(one.text) else one
    return msgspec.structs.replace(_for_both(one, other), text=named.text)


def _for_both(stays: Action, goes: Action) -> Action:
    findings = tuple(dict.fromkeys((*stays.findings, *goes.findings)))
    return msgspec.structs.replace(stays, findings=findings)


def _says_more(one: Action, other: Action) -> bool:
    """Return whether another finding's line installs the same, and names a release or a place."""
    if one.is_step or other.is_step or not set(one.findings).isdisjoint(other.findings):
        return False
    more, less = _requirements(one.text), _requirements(other.text)
    is_covered = bool(less) and names_of(less) <= names_of(more)
    return is_covered and _is_exact(one.text, more) and not _is_exact(other.text, less)


def _requirements(text: str) -> tuple[str, ...]:
    """Return what a command in a text installs."""
    found = _INSTALLED.search(text)
    words = _ENDS.split(found["words"])[0].split() if found else []
    options = {number for number, word in enumerate(words) if word.startswith("-")}
    values = {number + 1 for number in options if words[number] in _WITH_VALUE}
    return tuple(w.strip("'\"") for n, w in enumerate(words) if n not in options | values)


def _is_exact(text: str, items: tuple[str, ...]) -> bool:
    """Return whether a command in a text says which files it means."""
    return _ADDRESS in text or any("==" in item for item in items)
