"""What pip says that installed releases require: it has read metadata that no table has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.sources.probes.metadata import normalise_name
from fadoctor.syntax.patterns import compiled

if TYPE_CHECKING:
    from collections.abc import Mapping

Requirements = dict[str, dict[str, str]]
"""Distribution -> what it requires -> specifier."""

TOLD_LIMIT = 40
"""Most of such lines of one text that are read."""
LINE_LIMIT = 600

_WORDS = (" requires ", " has requirement ")
# somerl 0.3.0 requires flash-attn==2.7.3, but you have flash-attn 2.8.0.post2 which is ...
_TOLD = compiled(
    r"(?<![\w.-])(?P<name>[A-Za-z][\w.-]{0,99}) (?P<version>\d[\w.+!-]{0,80}) "
    r"(?:requires|has requirement) (?P<needs>[A-Za-z](?:[\w.-]{0,98}\w)?)(?:\[[\w, -]{1,40}\])?"
    r"(?P<range>[<>=!~][\w.,<>=!~*+ ]{1,120}?)(?:;[^\n]{1,120}?)?, but you(?:'ll)? have "
)


def told_requirements(text: str, there: Mapping[str, str]) -> Requirements:
    """Return what lines of pip say that the releases require which a text names.

    Of another release than the one that is named last the line is of an earlier time.
    """
    found: Requirements = {}
    lines = (line for line in text.splitlines() if any(word in line for word in _WORDS))
    for _, line in zip(range(TOLD_LIMIT), lines, strict=False):
        said = _TOLD.search(line[:LINE_LIMIT])
        if said is None:
            continue
        name, needs = normalise_name(said["name"]), normalise_name(said["needs"])
        specifier = said["range"].replace(" ", "")
        is_here = parse_version(there.get(name, "")) == parse_version(said["version"])
        if is_here and name in there and needs in there and parse_specifier(specifier) is not None:
            found.setdefault(name, {})[needs] = specifier
    return found
