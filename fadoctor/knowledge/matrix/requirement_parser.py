"""Requirements and markers by PEP 508; the parser is loaded when something is parsed.

It costs a tenth of a start, and most texts that are explained ask for no requirement.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packaging.markers import Marker
    from packaging.requirements import Requirement


class AskedFor(NamedTuple):
    """What a requirement of a table asks for."""

    name: str
    specifier: str
    is_marked: bool
    """Whether it holds on some machines alone."""


@lru_cache(maxsize=32_768)
def asked_for(text: str) -> AskedFor | None:
    """Return what a requirement asks for; None where the text is none.

    Rows of tables are read for each question, and most releases ask for the same.
    """
    found = parse_requirement(text)
    if found is None:
        return None
    return AskedFor(found.name, str(found.specifier), found.marker is not None)


def parse_requirement(text: str) -> Requirement | None:
    """Return a requirement; None where the text is none."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 -- see above

    try:
        return Requirement(text)
    except (InvalidRequirement, RecursionError):
        return None


def parse_marker(text: str) -> Marker | None:
    """Return a marker; None where the text is none."""
    from packaging.markers import InvalidMarker, Marker  # noqa: PLC0415 -- see above

    try:
        return Marker(text)
    except (InvalidMarker, RecursionError):
        return None


def marker_result(marker: Marker, variables: Mapping[str, str]) -> bool | None:
    """Return whether a marker holds; None where the variables do not decide it."""
    from packaging.markers import (  # noqa: PLC0415 -- see above
        UndefinedComparison,
        UndefinedEnvironmentName,
    )

    try:
        return marker.evaluate(dict(variables))
    except (UndefinedComparison, UndefinedEnvironmentName, ValueError, RecursionError):
        return None
