"""A wheel of flash-attn that a text names, and that nobody published by the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.wheels import OFFICIAL_TABLE, Wheels
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.sources.logs.wheel_names import wheel_names
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fadoctor.model.rule import Table

FACT = "log.unpublished"

# flash_attn-2.7.2.post1+cu12torch2.7cxx11abiFALSE-cp311-cp311-win_amd64.whl, as its own files are
# named; those of third parties have another form, and may be on a page that nobody read
_OWN = compiled(
    r"flash_attn-(?P<version>\d\.\d{1,2}\.\d{1,2}(?:\.post\d)?)\+cu\d{2,3}torch\d\.\d{1,2}"
    r"cxx11abi(?:TRUE|FALSE)-cp3\d{1,2}-cp3\d{1,2}t?-(?:win_amd64|linux_x86_64|linux_aarch64)\.whl"
)


def unpublished(lines: Sequence[str], tables: Mapping[str, Table]) -> Fact:
    """Return the name of the one wheel that a text names, where no release page has it."""
    found = {
        name: match["version"]
        for name in wheel_names(lines)
        if (match := _OWN.fullmatch(name)) is not None
    }
    if len(found) != 1:
        return Absent("the log names no one wheel of flash-attn")
    name, version = next(iter(found.items()))
    wheels = Wheels(load_apart(tables))
    rows = wheels.tables[OFFICIAL_TABLE].rows
    if not any(version in cell_words(row["version"]) for row in rows):
        return Absent("the tables do not list the files of this release")
    files = (*wheels.official(version), *wheels.community(version))
    if any(file.name == name for file in files):
        return Absent("a release page has this file")
    return Known(name, "the log")
