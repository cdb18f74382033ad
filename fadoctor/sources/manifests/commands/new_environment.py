"""Whether commands install into an environment that holds nothing before them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.packages import TORCH
from fadoctor.sources.manifests.installed.isolated import BEFORE_TORCH, found_early
from fadoctor.sources.manifests.planned import UNSEEN_REST, is_unfollowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fadoctor.sources.manifests.draft import Draft
    from fadoctor.sources.manifests.images.planned_stage import Stage
    from fadoctor.sources.manifests.planned import Requirement

# python -m venv .venv, uv venv, conda create -n train
_FRESH = re.compile(
    r"^[^#\n]{0,200}(?<!\S)(?:-m\s{1,9}venv|virtualenv|uv\s{1,9}venv|(?:conda|mamba|micromamba)\s{1,9}"
    r"(?:env\s{1,9})?create)\b",
    re.MULTILINE,
)

# what somebody writes who knows that packages are there: it takes them away, looks at them, or
# loads a torch of the system
_USED = re.compile(
    r"^[^#\n]{0,200}(?<!\S)(?:pip3?\s{1,9}(?:uninstall|show|list|freeze)|(?:conda|mamba)\s{1,9}(?:remove|list)"
    r"|(?:module|ml)\s(?:[^#\n]{0,200}\s)?\S{0,50}torch)",
    re.MULTILINE | re.IGNORECASE,
)

_OVER_SYSTEM = "--system-site-packages"
"""Of an environment that sees the packages of the system, torch among them: on clusters."""


def is_fresh(script: str) -> bool:
    """Return whether a script makes the environment into which it installs."""
    return _FRESH.search(script) is not None and _OVER_SYSTEM not in script


def begins_empty(script: str, asked: Sequence[Requirement]) -> bool:
    """Return whether a script begins with nothing, though it makes no environment itself.

    It installs torch, on which all that is judged is built, and knows of nothing that is there.
    What it compiles before torch is such knowledge.
    """
    if _OVER_SYSTEM in script or _USED.search(script) is not None:
        return False
    names_torch = any(e.name == TORCH and not (e.doubt or e.is_renewed) for e in asked)
    return names_torch and not any(each.isolated_by == BEFORE_TORCH for each in asked)


def over_nothing(
    script: str, stage: Stage, draft: Draft, rows: Sequence[int] = ()
) -> tuple[list[Requirement], list[str]]:
    """Return what commands install where nothing is there before, and the note on unread ones.

    What stands before the first line that could not be read finds nothing of it either. A line
    before the environment is made installs into another one. `rows`: the lines of the script, where
    it is not the whole file.
    """
    made = _FRESH.search(script)
    row = script.count("\n", 0, made.start()) if made else -1
    start = (rows[row] if row < len(rows) else row + 1) if made else 0
    # as `Draft.note` writes it
    unread = [line for line, note in stage.notes if line >= start and is_unfollowed(f": {note}")]
    found = found_early(draft.requirements)
    if not unread:
        return found, []
    return [
        msgspec.structs.replace(each, is_renewed=True)
        if each.place.file == draft.source.name and each.place.line < min(unread)
        else each
        for each in found
    ], [UNSEEN_REST]
