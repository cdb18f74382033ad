"""Locks that list packages once for each platform: one requirement for what is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.manifests.entries import all_of
from fadoctor.sources.manifests.formats.conda_platforms import platform_marker

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.sources.manifests.planned import Requirement


def merged(entries: Iterable[tuple[Requirement, str]]) -> list[Requirement]:
    """Return what is asked for, with a marker for what only some of the platforms have.

    Same name, version, build and origin are the same package. A platform that is not known has
    no marker: what is only there is left out.
    """
    platforms: set[str] = set()
    found: dict[tuple[str, ...], tuple[Requirement, list[str]]] = {}
    for each, platform in entries:
        platforms.add(platform)
        # conda's builds are named alike on platforms that have nothing in common
        files = each.files if each.build else ()
        key = (each.name, each.specifier, each.build, each.manager, each.marker, *files)
        first, where = found.setdefault(key, (each, []))
        where.append(platform)
    out = []
    for first, where in found.values():
        marker = _marker(set(where), platforms)
        if marker is not None:
            out.append(msgspec.structs.replace(first, marker=all_of(first.marker, marker)))
    return out


def _marker(where: set[str], platforms: set[str]) -> str | None:
    """Return when a package is there: "" where it always is, None where that cannot be said."""
    known = {each: platform_marker(each) for each in sorted(where)}
    if where == platforms and len(platforms) > 1:
        return ""
    texts = [each for each in known.values() if each is not None]
    if not texts:
        return None
    if "" in texts:
        return ""
    return texts[0] if len(texts) == 1 else " or ".join(f"({each})" for each in texts)
