"""Follow something through the releases of a package, reading as few of them as will do."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from packaging.version import Version

_T = TypeVar("_T")


def follow(versions: Sequence[Version], look: Callable[[Version], _T | None]) -> dict[Version, _T]:
    """Return what was seen in releases, oldest first; those between two that agree are left out.

    `look` returns None for a release that cannot be read. The first release of each minor is
    looked at, and between two that differ those in the middle.
    """
    seen: dict[Version, _T | None] = {}

    def at(version: Version) -> _T | None:
        if version not in seen:
            seen[version] = look(version)
        return seen[version]

    def between(low: int, high: int) -> None:
        if high - low > 1 and at(versions[low]) != at(versions[high]):
            middle = (low + high) // 2
            at(versions[middle])
            between(low, middle)
            between(middle, high)

    marks = first_of_minors(versions)
    for mark in marks:
        at(versions[mark])
    for low, high in pairwise(marks):
        between(low, high)
    return {version: found for version in versions if (found := seen.get(version)) is not None}


def first_of_minors(versions: Sequence[Version]) -> list[int]:
    """Return the places of the first release of each minor, and of the newest one."""
    found = [
        place
        for place, version in enumerate(versions)
        if place == 0 or version.release[:2] != versions[place - 1].release[:2]
    ]
    return sorted({*found, len(versions) - 1}) if versions else []


def end_of(last: Version, seen: Sequence[Version], every: Sequence[Version]) -> Version:
    """Return the last release of a stretch: patches that were not read are as their minor is."""
    behind = seen[seen.index(last) + 1 :]
    patches = (version for version in every if version.release[:2] == last.release[:2])
    return max([last, *(version for version in patches if not behind or version < behind[0])])


def spans(states: Sequence[tuple[Version, bool | None]]) -> list[tuple[Version, Version]]:
    """Return first and last release of each stretch in which something surely is so."""
    found: list[tuple[Version, Version]] = []
    goes_on = False
    for version, state in states:
        if state:
            first = found.pop()[0] if goes_on else version
            found.append((first, version))
        goes_on = bool(state)
    return found
