"""The headers of torch, minor release by minor release, by the names of the files in its wheels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.version import Version

from tools.refresh.spans.span import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools.refresh.index import File, Release

GONE, NEW = "torch-headers-gone", "torch-headers-new"
OLDEST = Version("1.5.0")

# torch/include/ATen/cuda/CUDAContext.h | torch/include/torch/csrc/api/include/torch/fft.h
_HEADER = re.compile(
    r"torch/include/(?:torch/csrc/api/include/)?((?:ATen|c10|torch)/[\w./-]{1,200}\.(?:h|cuh|hpp))"
)
_MADE = re.compile(r"ATen/ops/")
"""Headers of single operators: thousands, of which other headers include what a program needs."""


def first_of_minors(releases: Mapping[Version, Release]) -> list[Version]:
    """Return the first release of each minor one, from the oldest that is read."""
    found: dict[tuple[int, ...], Version] = {}
    for version in sorted(releases):
        if version >= OLDEST and not version.is_prerelease:
            found.setdefault(version.release[:2], version)
    return list(found.values())


def wheels_of(release: Release) -> list[File]:
    """Return a wheel for Linux, and one for macOS where there is one."""
    mac = [each for each in release.files if each.name.endswith(".whl") and "macosx" in each.name]
    return [
        wheels[0]
        for wheels in (release.wheels("x86_64"), sorted(mac, key=lambda each: each.name))
        if wheels
    ]


def everywhere(had: Mapping[Version, list[frozenset[str]]]) -> dict[Version, frozenset[str]]:
    """Return the headers of each release, without those that one platform alone ever had.

    ``had``: the headers of each wheel of a release.
    """
    of_one = frozenset[str]().union(*map(_differing, had.values()))
    return {version: found[0] - of_one for version, found in had.items() if found}


def _differing(found: list[frozenset[str]]) -> frozenset[str]:
    first = found[0] if found else frozenset[str]()
    return frozenset[str]().union(*(first ^ other for other in found))


def headers_in(names: Iterable[str]) -> frozenset[str]:
    """Return the headers that code includes, by the names of a wheel's files."""
    found = (match[1] for name in names if (match := _HEADER.fullmatch(name)))
    return frozenset(name for name in found if not _MADE.match(name))


def header_rows(had: Mapping[Version, frozenset[str]]) -> tuple[list[str], list[str]]:
    """Return the rows of the headers that went, and of those that came.

    One that came and went is among the former: of the releases that are made, none has it.
    """
    newest: dict[str, list[str]] = {}
    for header in sorted(had[max(had)]):
        newest.setdefault(header.rpartition("/")[2], []).append(header)
    gone: list[str] = []
    new: dict[Version | None, list[str]] = {}
    for span in spans(had):
        if span.last is None:
            new.setdefault(span.first, []).extend(span.names)
            continue
        moved: dict[str, list[str]] = {}
        for name in span.names:
            places = newest.get(name.rpartition("/")[2], [])
            moved.setdefault(places[0] if len(places) == 1 else "", []).append(name)
        for instead, names in sorted(moved.items()):
            cell = f", instead: {instead}" if instead else ""
            gone.append(f"{' '.join(names)}, last: {span.last}, gone: {span.gone}{cell}")
    came = [f"{' '.join(sorted(names))}, first: {first}" for first, names in new.items()]
    return [f"  - {{header: {row}}}\n" for row in gone], [
        f"  - {{header: {row}}}\n" for row in came
    ]
