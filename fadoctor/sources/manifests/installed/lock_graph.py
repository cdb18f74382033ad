"""What of a lock is installed: all that its roots lead to on the target, by markers and extras."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from packaging.requirements import InvalidRequirement
from packaging.requirements import Requirement as Parsed

from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.sources.manifests.installed.markers import Markers
    from fadoctor.sources.manifests.planned import Requirement

# torch==2.7.1+cu128 ; sys_platform == 'linux'
_PLAIN = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]{0,99})(?:\[(?P<extras>[\w.,-]{0,400})\])?"
    r"(?P<specifier>==[\w.!+-]{1,100})?(?: ; (?P<marker>.{1,2000}))?"
)


class Need(msgspec.Struct, frozen=True):
    """A requirement as locks write it, taken apart."""

    name: str
    extras: tuple[str, ...] = ()
    specifier: str = ""
    marker: str = ""


@lru_cache(maxsize=8192)
def need_of(text: str) -> Need | None:
    """Return a PEP 508 string taken apart, None where it is none."""
    if found := _PLAIN.fullmatch(text):
        extras = tuple(filter(None, (found["extras"] or "").split(",")))
        return Need(
            normalise_name(found["name"]), extras, found["specifier"] or "", found["marker"] or ""
        )
    try:
        parsed = Parsed(text[:4000])
    except (InvalidRequirement, RecursionError):
        return None
    specifier, marker = str(parsed.specifier), str(parsed.marker or "")
    return Need(normalise_name(parsed.name), tuple(sorted(parsed.extras)), specifier, marker)


def needs_on(texts: Iterable[str], markers: Markers) -> Iterator[Need | None]:
    """Yield what of some requirements holds on the target; None once for each that may hold."""
    for need in filter(None, map(need_of, texts)):
        holds = markers.hold(need.marker)
        if holds is not False:
            yield need if holds else None


def reached(
    packages: Iterable[tuple[Requirement, bool | None]], roots: Iterable[str], markers: Markers
) -> list[tuple[Requirement, bool | None]]:
    """Return the packages that the roots lead to; what only an open marker leads to is not sure."""
    by_name: dict[str, list[tuple[Requirement, bool | None]]] = {}
    for each in packages:
        by_name.setdefault(each[0].name, []).append(each)
    found: dict[int, tuple[Requirement, bool | None]] = {}
    seen: set[tuple[int, str, bool]] = set()
    todo = [(need, "", True) for text in roots if (need := need_of(text))]
    while todo:
        need, extra, sure = todo.pop()
        holds = markers.hold(need.marker, extra)
        if holds is False:
            continue
        for package, is_meant in by_name.get(need.name, ()):
            if need.specifier and package.specifier and need.specifier != package.specifier:
                continue  # another fork of the lock
            is_sure = sure and bool(holds) and bool(is_meant)
            if not is_sure and found.get(id(package), (package, None))[1]:
                is_sure = True  # another way leads to it surely
            found[id(package)] = (package, True if is_sure else None)
            for wanted in ("", *need.extras):
                if (id(package), wanted, is_sure) not in seen:
                    seen.add((id(package), wanted, is_sure))
                    todo += [(n, wanted, is_sure) for t in package.requires if (n := need_of(t))]
    return list(found.values())
