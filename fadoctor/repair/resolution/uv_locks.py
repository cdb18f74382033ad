"""The commands of uv for one lock as one command: single ones would contradict each other."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fadoctor.model.plan import Edit

LOCK = ("uv", "lock", "--upgrade-package")

# torch==2.6.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def together(edits: Iterable[Edit], follows: Callable[[str, str], bool]) -> list[Edit]:
    """Return edits with one command for each such lock, in the place of its first.

    `follows`: whether what a lock has of a distribution follows by itself from a list that is
    changed too. Then no option names it.
    """
    found: dict[object, Edit] = {}
    for edit in edits:
        if edit.command[: len(LOCK)] != LOCK:
            found[edit] = edit
            continue
        before = found.get(edit.file, msgspec.structs.replace(edit, command=LOCK[:-1]))
        wanted = edit.command[-1]
        name = _NAME.match(wanted)
        more = () if name is None or follows(edit.file, name[0]) else (LOCK[-1], wanted)
        found[edit.file] = msgspec.structs.replace(before, command=(*before.command, *more))
    return list(found.values())
