"""From which release to which one something is there, of what each release has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from packaging.version import Version


@dataclass(frozen=True)
class Span:
    """Names that came and went together. None: the oldest or the newest release has them, too."""

    names: tuple[str, ...]
    """In order."""
    first: Version | None
    last: Version | None
    gone: Version | None
    """The release after the last one."""


def spans(had: Mapping[Version, frozenset[str]]) -> list[Span]:
    """Return what did not stay, by first and last release; what came back is in no span.

    ``had``: what each release has. A release that was not read must not be in it.
    """
    versions = sorted(had)
    groups: dict[tuple[int, int], list[str]] = {}
    for name in sorted(frozenset().union(*had.values())):
        places = [place for place, version in enumerate(versions) if name in had[version]]
        is_whole = len(places) == places[-1] - places[0] + 1
        if is_whole and len(places) < len(versions):
            groups.setdefault((places[0], places[-1]), []).append(name)
    newest = len(versions) - 1
    return [
        Span(
            tuple(names),
            versions[first] if first else None,
            versions[last] if last < newest else None,
            versions[last + 1] if last < newest else None,
        )
        for (first, last), names in sorted(groups.items())
    ]


def cells(span: Span, end: str) -> str:
    """Return the cells of a row: when its names came and went, and what an installer is asked for.

    ``end``: the release from which on one is not asked for.
    """
    found = [f"first: {span.first}"] if span.first is not None else []
    if span.last is None:
        releases = f">={span.first},<{end}"
    else:
        found += [f"last: {span.last}", f"gone: {span.gone}"]
        releases = f"=={span.last}"
    return ", ".join([*found, f'releases: "{releases}"'])
