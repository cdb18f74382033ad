"""The commands of uv for one lock as one command: single ones would contradict each other."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.plan import Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


def naming_index(
    edits: Iterable[Edit],
    wanted: Iterable[tuple[str, str, str]],
    is_named: Callable[[str, str, str], bool],
) -> list[Edit]:
    """Return edits that name the index of a build in the project first: uv finds none without.

    `wanted`: name, requirement and index of what is changed. `is_named`: whether a lock, or its
    project, has a package from an index by now.
    """
    indexes = {name: index.rstrip("/") for name, _, index in wanted if index}
    found: list[Edit] = []
    for edit in edits:
        asked = edit.command[-1] if edit.command[: len(LOCK)] == LOCK else ""
        name, _, version = asked.partition("==")
        index = indexes.get(name, "")
        if "+" in version and index and not is_named(edit.file, name, index):
            project = str(PurePath(edit.file).with_name("pyproject.toml"))
            label = f"pytorch-{index.rpartition('/')[2]}"
            text = (
                f"{project}: name the index of {asked} there first: [[tool.uv.index]] with "
                f'name = "{label}", url = "{index}" and explicit = true, and under '
                f'[tool.uv.sources] {name} = {{ index = "{label}" }}. This counts for {name} in '
                "the list of dependencies"
            )
            found.append(Edit(project, text=text))
        found.append(edit)
    return found
