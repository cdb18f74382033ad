"""Values of INI files, line by line, with their places: ``setup.cfg``, ``tox.ini``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.sources.manifests.source import Source

LINE_LIMIT = 20_000
_SECTION = re.compile(r"\[([^\]\n]{1,200})\]\s{0,100}")
# install_requires =, or train: torch==2.8.0
_KEY = re.compile(r"([A-Za-z0-9][\w.-]{0,100})\s{0,20}[=:]\s{0,20}([^\n]{0,4000})")


class IniValue(msgspec.Struct, frozen=True):
    """One line of a value."""

    section: str
    key: str
    place: Place
    text: str


def ini_values(source: Source) -> Iterator[IniValue]:
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
            yield IniValue(section, key, Place(source.name, number, column), text)
