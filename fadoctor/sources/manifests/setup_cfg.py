"""``setup.cfg``: what setuptools takes from ``[options]``, and its extras."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.place import Place
from fadoctor.sources.manifests.draft import Draft
from fadoctor.sources.manifests.entries import is_specifier
from fadoctor.sources.manifests.planned import Setting
from fadoctor.sources.manifests.requirement_text import read_requirement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.manifests.planned import Manifest
    from fadoctor.sources.manifests.source import Source

KIND = "setup.cfg"
LINE_LIMIT = 20_000
_LIMIT = 5_000
"""Requirements of one file."""

_SECTION = re.compile(r"\[([^\]\n]{1,200})\]\s{0,100}")
# install_requires =, or train: torch==2.8.0
_KEY = re.compile(r"([A-Za-z0-9][\w.-]{0,100})\s{0,20}[=:]\s{0,20}([^\n]{0,4000})")


class _Value(msgspec.Struct, frozen=True):
    section: str
    key: str
    place: Place
    text: str


def recognises(name: str, _head: str) -> bool:
    """Say whether a file is one, by its name."""
    return name == KIND


def read(source: Source) -> Manifest:
    """Return what the project asks for, with the extras that were chosen."""
    draft = Draft(source, KIND)
    others: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    for each in _values(source):
        if (each.section, each.key) == ("options", "python_requires"):
            draft.python = _python(each, source)
        is_plain = (each.section, each.key) == ("options", "install_requires")
        is_extra = each.section == "options.extras_require"
        if not (is_plain or is_extra):
            continue
        if each.text.startswith(("file:", "%(")):
            draft.note(each.place.line, "references to other files are not followed")
            continue
        asked = read_requirement(each.text, each.place, source)
        if is_plain or draft.takes_extra(each.key):
            draft.requirements.append(asked)
        else:
            lines.setdefault(each.key, each.place.line)
            others.setdefault(each.key, []).append(asked.name)
        if len(draft.requirements) > _LIMIT:
            raise source.error(f"more than {_LIMIT:,} requirements", line=each.place.line)
    for extra, names in others.items():
        shown = ", ".join(names[:8]) + (" and more" if len(names) > 8 else "")
        told = f"the extra {extra} is not asked for by default: {shown}; --extra {extra} takes it"
        draft.note(lines[extra], told)
    return draft.manifest()


def _python(each: _Value, source: Source) -> Setting:
    if not is_specifier(each.text):
        raise source.error("is not a version range", line=each.place.line, key=each.key)
    return Setting(each.text, each.place)


def _values(source: Source) -> Iterator[_Value]:
    """Yield each line of a value with its key; a value goes on where a line is indented."""
    rows = source.lines()
    if len(rows) > LINE_LIMIT:
        raise source.error(f"more than {LINE_LIMIT:,} lines")
    section = key = ""
    for number, row in enumerate(rows, 1):
        text = row.strip()
        if not text or text[0] in "#;":
            continue
        column = len(row) - len(row.lstrip()) + 1
        if not row[0].isspace():
            if found := _SECTION.fullmatch(row):
                section, key = found[1].strip(), ""
                continue
            pair = _KEY.fullmatch(row)
            key, text = (pair[1], pair[2].strip()) if pair else ("", "")
            column = pair.start(2) + 1 if pair else 1
        if key and text:
            yield _Value(section, key, Place(source.name, number, column), text)
