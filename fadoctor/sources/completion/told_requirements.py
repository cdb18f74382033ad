"""What installers say that installed releases require: they have read what no table has."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.sources.pasted.requirement_lines import requirement_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

Requirements = dict[str, dict[str, str]]
"""Distribution -> what it requires -> specifier."""

TOLD_LIMIT = 40
"""Most of such requirements of one text that are read."""


def told_requirements(text: str, there: Mapping[str, str]) -> Requirements:
    """Return what lines of installers say that the releases require which a text names.

    Of another release than the one that is named last the line is of an earlier time.
    """
    found: Requirements = {}
    told = (each for line in text.splitlines() for each in requirement_lines(line) if each.found)
    for each in islice(told, TOLD_LIMIT):
        is_here = each.asker in there and _is_of(each.release, there[each.asker])
        is_read = bool(each.specifier) and parse_specifier(each.specifier) is not None
        if is_here and is_read and each.needs in there:
            found.setdefault(each.asker, {})[each.needs] = each.specifier
    return found


def _is_of(release: str, there: str) -> bool:
    """Return whether a line speaks of the release that is there; some name none."""
    return not release or parse_version(there) == parse_version(release)
