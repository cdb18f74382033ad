"""What poetry is told, where a project names its packages in poetry's own tables."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.plan import Edit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fadoctor.model.place import Place

_TABLE = re.compile(r"\[tool\.poetry\.(?:group\.(?P<group>[\w-]{1,60})\.)?dependencies\]")
_TEXT = re.compile(r"\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'")
_URL = re.compile(r"\burl\s{0,9}=\s{0,9}(?:\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}')")


def by_poetry(lines: Sequence[str], place: Place, wanted: str, index: str) -> list[Edit]:
    """Return the commands of poetry that ask for a release, and first name the index of a build.

    None where the line is in no table of poetry's, or a file is named by its address.
    """
    table = _table_of(lines, place)
    if table is None or not wanted or "@" in wanted:
        return []
    group = ("--group", table["group"]) if table["group"] else ()
    text = f"{place}: poetry writes it"
    if not (index and "+" in wanted):
        return [Edit(place.file, command=("poetry", "add", *group, wanted), text=text)]
    source = f"pytorch-{PurePosixPath(index.rstrip('/')).name}"
    named = ("poetry", "source", "add", "--priority", "explicit", source, index)
    asked = ("poetry", "add", *group, "--source", source, wanted)
    first = f"{place}: poetry finds a build with a label at its own index alone"
    return [
        Edit(place.file, command=named, text=first),
        Edit(place.file, command=asked, text=text),
    ]


def poetry_line(lines: Sequence[str], place: Place, column: int, wanted: str) -> str | None:
    """Return the line of a table of poetry's that asks for an exact release, or for a file.

    For a project whose torch is written anew as well: a command for the others would be refused by
    what still pins the old torch. None where the value has not the form for that.
    """
    line, start = lines[place.line - 1], column - 1
    if _table_of(lines, place) is None:
        return None
    _, is_file, url = wanted.partition(" @ ")
    version = wanted.partition("==")[2]
    pair = f'url = "{url}"' if is_file else f'version = "{version}"'
    if not (is_file or version):
        return None
    text = _TEXT.match(line, start)
    old = text or (_URL.search(line, start) if line[start : start + 1] == "{" else None)
    if old is None or (text and is_file and "{" in line[:start]):
        return None
    new = pair if not text else f"{{ {pair} }}" if is_file else f'"{version}"'
    return line[: old.start()] + new + line[old.end() :]


def is_named_twice(lines: Sequence[str], name: str) -> bool:
    """Return whether more than one line gives a package a value, as tables of poetry's do."""
    key = re.compile("[-_.]".join(map(re.escape, name.split("-"))) + r"\s{0,9}=", re.IGNORECASE)
    return sum(key.match(line) is not None for line in lines) > 1


def _table_of(lines: Sequence[str], place: Place) -> re.Match[str] | None:
    """Return the header above a line, where it is of a table of poetry's."""
    above = (line.strip() for line in reversed(lines[: place.line]))
    return _TABLE.match(next((line for line in above if line.startswith("[")), ""))


def in_one_command(edits: Iterable[Edit]) -> list[Edit]:
    """Return edits with one command for what poetry is asked in the same way, and each one once.

    Asked for one after the other, what still pins the old torch refuses the new one.
    """
    found: dict[object, Edit] = {}
    for edit in edits:
        is_added = edit.command[:2] == _ADD and "--lock" not in edit.command
        asked = edit.command[:-1] if is_added else edit.command
        key = (edit.file, asked) if asked else edit
        before = found.get(key)
        if before is None:
            found[key] = edit
        elif is_added:
            command = (*before.command, edit.command[-1])
            found[key] = msgspec.structs.replace(before, command=command)
    return list(found.values())


_ADD = ("poetry", "add")
