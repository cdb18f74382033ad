"""Which release of a package accepts what is installed, and which torch a release accepts.

By what releases declare, so that an advice names a release that can be typed. What installed
packages require of each other bounds both: no release is named that one of them refuses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.declared import RELEASE_REQUIRES, declared
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import admits, version_key, version_part
from fadoctor.model.fact import Known
from fadoctor.model.packages import BESIDE_TORCH, STACK, TORCH, TRITON

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.knowledge.matrix.query import Matrix, Row

_EXTRAS = {
    "tensorflow": "tensorflow[and-cuda]",
    "jax-cuda12-plugin": "jax-cuda12-plugin[with-cuda]",
}
"""Packages whose libraries of NVIDIA an extra requires: rows of their own in the table."""
# <2.6, <=4.47.1, ==2.2.1, ~=2.6.0
_END = re.compile(r"(?:<=?|==|~=)\s*([0-9][0-9A-Za-z.]{0,40}?)(?:\.\*)?")
_LATER = "99"
"""A release of torch that does not exist yet."""


class FittingSetting(msgspec.Struct, frozen=True):
    """What a release is to go with."""

    there: Mapping[str, str]
    """Distribution -> version of all that is installed, or that a text names."""
    python: str = ""
    system: str = ""
    requires: Mapping[str, Mapping[str, str]] = {}
    """What releases require by their own metadata: distribution -> needs -> specifier."""
    kept: Mapping[str, str] = {}
    """What stays beside the stack -> the specifier that does not admit it now."""


class FittingRelease(msgspec.Struct, frozen=True):
    """A release of a package, and what it requires."""

    version: str
    requires: Mapping[str, str]
    is_compiled: bool
    """Whether its files are for one system each: with a torch that it names it was compiled."""


def is_listed(name: str, matrix: Matrix) -> bool:
    """Return whether the table has the releases of a package."""
    return bool(_rows(name, matrix))


def fitting_release(name: str, setting: FittingSetting, matrix: Matrix) -> str:
    """Return the release of a package that accepts what stays, "" where none is known.

    What stays is what is installed of the stack; the rest can move with the package. It is the
    newest of the nearest minor release: above the one that is there, else below. An older release
    that does not name what is not accepted now only says less, and a compiled one that does not
    name its torch, or names many, may not load.
    """
    here = setting.there.get(name, "")
    fitting = [
        each.version
        for each in accepting_releases(name, setting, matrix)
        if _names_it(each, setting, is_older=version_key(each.version) < version_key(here))
        and not (TORCH in setting.kept and each.is_compiled and _is_open(each))
    ]
    return _nearest(fitting, here)


def accepting_releases(name: str, setting: FittingSetting, matrix: Matrix) -> list[FittingRelease]:
    """Return the releases of a package that refuse nothing that stays, and that nothing refuses."""
    bounds = _bounds_on(name, setting, matrix)
    stack = (STACK | setting.kept.keys()) - {name}
    stays = {other: each for other, each in setting.there.items() if other in stack}
    return [
        each
        for each in _releases(name, setting, matrix)
        if _admits(bounds, each.version)
        and _accepts(each.requires, stays)
        and all(_accepts(more, stays) for more in _pinned_along(each, matrix))
    ]


def _names_it(release: FittingRelease, setting: FittingSetting, *, is_older: bool) -> bool:
    """Return whether a release says which versions it accepts of what is not accepted now.

    A newer one without a bound has given it up where what is there is too new, and has only moved
    it elsewhere where that is too old.
    """
    silent = [name for name in setting.kept if name not in release.requires]
    if not silent:
        return True
    is_linked = release.is_compiled and TORCH in silent
    old = any(not _is_too_new(setting.there.get(n, ""), setting.kept[n]) for n in silent)
    return not (is_older or is_linked or old)


def _is_too_new(version: str, specifier: str) -> bool:
    """Return whether a version is above what a specifier admits."""
    ends = (_END.fullmatch(clause.strip()) for clause in specifier.split(","))
    return any(end is not None and version_key(version) >= version_key(end[1]) for end in ends)


def _accepts(requires: Mapping[str, str], stays: Mapping[str, str]) -> bool:
    return all(admits(text, stays[name]) for name, text in requires.items() if name in stays)


def _pinned_along(release: FittingRelease, matrix: Matrix) -> Iterator[Mapping[str, str]]:
    """Yield what those require that a release pins: they come in one version alone."""
    for name, text in release.requires.items():
        pin = text.removeprefix("==")
        if pin != text and pin[:1].isdigit() and name not in STACK:
            yield declared(name, pin, matrix)


def built_for(name: str, setting: FittingSetting, matrix: Matrix) -> str:
    """Return the release of a package that was compiled for the minor of torch that is there.

    "" where no release of the table names a torch that exactly.
    """
    torch = setting.there.get(TORCH, "")
    minor = version_part(torch, "minor")
    if minor is None:
        return ""
    bound = [
        each.version
        for each in _releases(name, setting, matrix)
        if (text := each.requires.get(TORCH)) and admits(text, torch) and not _wider(text, minor)
    ]
    bounds = _bounds_on(name, setting, matrix) if bound else []
    return _nearest([each for each in bound if _admits(bounds, each)], setting.there.get(name, ""))


def fitting_torch(name: str, setting: FittingSetting, matrix: Matrix) -> tuple[str, ...]:
    """Return the torch that an installed release accepts, and what is released with that torch.

    As an installer takes them. It is the nearest one that no other installed package refuses:
    above the one that is there, else below. Empty where none is known, or torch is accepted.
    """
    needs = _needs(name, setting, matrix)
    torch = setting.there.get(TORCH, "")
    asked = [needs[each] for each in (TORCH, TRITON) if each in needs]
    label = f"+{local}" if (local := version_part(torch, "local")) else ""
    if not torch or not asked or (label and not label.startswith("+cu")):
        return ()
    bounds = _bounds_on(TORCH, setting, matrix, without=(name, *BESIDE_TORCH))
    own = [needs[TORCH]] if TORCH in needs else []
    found = []
    for row in matrix.tables["torch-releases"].rows:
        if "linux_x86_64" not in cell_words(row.get("platform")):
            continue
        pythons = cell_words(row.get("python"))
        if setting.python and version_part(setting.python, "minor") not in pythons:
            continue
        pinned = str(row.get(TRITON) or "").removeprefix("==")
        is_accepted = TRITON not in needs or (bool(pinned) and admits(needs[TRITON], pinned))
        found += [
            version
            for version in cell_words(row["version"])
            if is_accepted
            and _admits([*bounds, *own], version)
            and _has_build(version, label, matrix)
        ]
    best = _nearest(found, torch.partition("+")[0], is_first=True)
    if not best or best == torch.partition("+")[0]:
        return ()
    return (f"{TORCH}=={best}{label}", *_companions(best, label, setting, matrix))


def refusing(name: str, specifier: str, setting: FittingSetting, matrix: Matrix) -> list[str]:
    """Return the installed packages that refuse every release of a package in a range."""
    known = [each.version for each in _releases(name, FittingSetting({}), matrix)]
    inside = [each for each in known if admits(specifier, each)]
    if not inside:
        return []
    bounds = _bounding(name, setting, matrix)
    return [other for other, text in bounds if not any(admits(text, each) for each in inside)]


def moved_with(name: str, asked: Mapping[str, str], setting: FittingSetting, matrix: Matrix) -> str:
    """Return the release of an installed package that accepts others in a range, "" for none.

    The newest release in each range stands for it.
    """
    there = dict(setting.there)
    for other, specifier in asked.items():
        known = [each.version for each in _releases(other, setting, matrix)]
        there[other] = max(
            (each for each in known if admits(specifier, each)), key=version_key, default=""
        )
    kept = dict.fromkeys(asked, "")
    moved = msgspec.structs.replace(setting, there=there, kept=kept)
    return fitting_release(name, moved, matrix)


def bounds_on(name: str, setting: FittingSetting, matrix: Matrix) -> dict[str, str]:
    """Return which installed packages bound a package: distribution -> specifier."""
    return dict(_bounding(name, setting, matrix))


def _is_open(release: FittingRelease) -> bool:
    """Return whether a release names a torch, and every newer one as well."""
    text = release.requires.get(TORCH, "")
    return bool(text) and admits(text, _LATER)


def _rows(name: str, matrix: Matrix) -> tuple[Row, ...]:
    if RELEASE_REQUIRES not in matrix.tables:
        return ()
    return matrix.find(RELEASE_REQUIRES, {"package": Known(name, "asked")}).rows


def _releases(name: str, setting: FittingSetting, matrix: Matrix) -> Iterator[FittingRelease]:
    """Yield the releases of a package that have a file for this Python and system."""
    for row in _rows(name, matrix):
        pythons, systems = str(row.get("python") or ""), cell_words(row.get("systems"))
        if setting.python and pythons and not admits(pythons, setting.python):
            continue
        if setting.system and systems and setting.system not in systems:
            continue
        requires = dict(map(split_requirement, cell_words(row.get("requires"))))
        for version in cell_words(row["version"]):
            yield FittingRelease(version, requires, bool(systems))


def split_requirement(text: str) -> tuple[str, str]:
    """Return name and specifier of ``torch>=2.6.0,<2.7.0``."""
    end = next((place for place, letter in enumerate(text) if letter in "<>=!~"), len(text))
    return text[:end], text[end:]


def _needs(name: str, setting: FittingSetting, matrix: Matrix) -> Mapping[str, str]:
    own = setting.requires.get(name)
    if own is not None:
        return own
    return declared(name, setting.there.get(name, "").partition("+")[0], matrix)


def _bounding(
    name: str, setting: FittingSetting, matrix: Matrix, without: Iterable[str] = ()
) -> Iterator[tuple[str, str]]:
    left_out = {name, *without}
    for other, version in setting.there.items():
        if other in left_out:
            continue
        if text := _needs(other, setting, matrix).get(name):
            yield other, text
        elif extra := _EXTRAS.get(other):
            text = declared(extra, version.partition("+")[0], matrix).get(name, "")
            if text and admits(text, setting.there.get(name, "")):
                yield other, text  # what is there is of the extra


def _bounds_on(
    name: str, setting: FittingSetting, matrix: Matrix, without: Iterable[str] = ()
) -> list[str]:
    """Return what installed packages require of a package; none that is not met already.

    What one of them refuses now is a finding of its own, and would leave no release.
    """
    here = setting.there.get(name, "")
    texts = (text for _, text in _bounding(name, setting, matrix, without))
    return [text for text in texts if not here or admits(text, here)]


def _admits(bounds: Iterable[str], version: str) -> bool:
    return all(admits(text, version) for text in bounds)


def _wider(specifier: str, minor: str) -> bool:
    """Return whether a specifier admits the minor release after or before one as well."""
    head, _, tail = minor.partition(".")
    others = (f"{head}.{int(tail) + each}.{patch}" for each in (-1, 1) for patch in (0, 1, 99))
    return any(admits(specifier, other) for other in others)


def _nearest(versions: Iterable[str], here: str, *, is_first: bool = False) -> str:
    """Return the newest version of the nearest minor release: above, else below.

    `is_first`: the nearest version itself, whatever its minor.
    """
    found = sorted(versions, key=version_key)
    if not found:
        return ""
    above = [each for each in found if here and version_key(each) >= version_key(here)]
    if is_first and above:
        return above[0]
    nearest = above[0] if above else found[-1]
    minor = version_part(nearest, "minor")
    return [each for each in found if version_part(each, "minor") == minor][-1]


def _has_build(version: str, label: str, matrix: Matrix) -> bool:
    """Return whether a release of torch has the build whose label the installed one has."""
    keys = {"version": Known(version, "asked"), "platform": Known("linux_x86_64", "asked")}
    builds = {b for row in matrix.find("torch-builds", keys).rows for b in cell_words(row["build"])}
    return not label or label[1:] in builds


def _companions(torch: str, label: str, setting: FittingSetting, matrix: Matrix) -> Iterator[str]:
    row = matrix.find("torch-companions", {"torch": Known(torch, "asked")})
    for name in BESIDE_TORCH:
        cell = row.cell(name)
        if name in setting.there and isinstance(cell, Known):
            yield f"{name}=={cell.value}{label}"
