"""Versions and ranges of versions, by PEP 440, pre-releases included."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_CLAUSE = r"(>=|<|==|~=)\s*([0-9A-Za-z.+!]{1,60})"
"""``>=2.7.3``. PEP 440's ``>`` and ``<=`` surprise with ``.postN``, so ranges do without them."""


# The caches below hold pure functions of their text: they save time and hold no state.
@lru_cache(maxsize=4096)
def parse_version(text: str) -> Version | None:
    """Return a version, or None where the text is not one."""
    if len(text) > 100:
        return None
    try:
        return Version(text)
    except InvalidVersion:
        return None


def version_key(text: str) -> Version:
    """Return what sorts version texts; what is not a version sorts first."""
    return parse_version(text) or Version("0")


@lru_cache(maxsize=2048)
def parse_range(text: str) -> SpecifierSet | None:
    """Return a table's range, None where it is not one; ``*`` is the range of everything."""
    if text == "*":
        return parse_specifier("")
    clauses = [clause.strip() for clause in text.split(",")]
    if not all(re.fullmatch(_CLAUSE, clause) for clause in clauses):
        return None
    return parse_specifier(",".join(clauses))


@lru_cache(maxsize=2048)
def parse_specifier(text: str) -> SpecifierSet | None:
    """Return a requirement's specifier (any operator), or None where it is not one."""
    # Late: few texts that are explained ask for a range.
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415

    if len(text) > 500:
        return None
    try:
        return SpecifierSet(text, prereleases=True)
    except InvalidSpecifier:
        return None


@lru_cache(maxsize=8192)
def is_in(version: str, range_text: str) -> bool | None:
    """Return whether a version lies in a range; None where either cannot be read.

    By PEP 440 a pre-release of a bound lies on neither side of it: 2.6.0a0 is in neither ``<2.6``
    nor ``>=2.6``, so a table has no row for it and the answer stays unknown.
    """
    parsed, allowed = parse_version(version), parse_range(range_text)
    if parsed is None or allowed is None:
        return None
    return allowed.contains(parsed, prereleases=True)


@lru_cache(maxsize=8192)
def admits(specifier: str, version: str) -> bool:
    """Return whether a specifier admits a version; what cannot be read is taken to be admitted."""
    allowed, parsed = parse_specifier(specifier) if specifier else None, parse_version(version)
    return allowed is None or parsed is None or allowed.contains(parsed, prereleases=True)


def is_older(text: str, than: str) -> bool | None:
    """Compare releases alone: 2.5.0a0 has what 2.5.0 has. None where one is not a version."""
    one, other = parse_version(text), parse_version(than)
    return None if one is None or other is None else one.release < other.release


def version_part(text: str, part: str) -> str | None:
    """Return ``major`` (2), ``minor`` (2.10), ``base`` (2.10.0) or ``local`` (cu128), or None."""
    version = parse_version(text)
    if version is None:
        return None
    match part:
        case "major":
            return str(version.major)
        case "minor":
            return f"{version.major}.{version.minor}"
        case "base":
            return version.public
        case _:
            return version.local
