"""Several manifests as one: what will be installed on the target, in which versions."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model.packages import package_of
from fadoctor.model.place import Place
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.installed.lock_graph import reached
from fadoctor.sources.manifests.planned import Manifest, Requirement, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.sources.manifests.installed.markers import Markers

CONDA_FIRST = "environment.yml"
"""Kind of a file in which pip installs on top of what conda has installed."""

_COMPARED = 50
"""Wishes for one package that are held against each other."""

_EXACT = re.compile(r"===?\s{0,9}([0-9][^\s,*]{0,99})")


class Planned(msgspec.Struct, frozen=True):
    """One distribution that will be there, or may be."""

    name: str
    places: tuple[Place, ...]
    version: str = ""
    """Where a file says it exactly; else ``specifier`` bounds it."""
    specifier: str = ""
    url: str = ""
    index: str = ""
    is_only_index: bool = False
    """Whether all that ask for it ask this index alone."""
    files: tuple[str, ...] = ()
    requires: tuple[str, ...] | None = None
    """PEP 508 strings, where a lock lists them."""
    kind: str = ""
    """Of the file that decides it."""
    manager: str = ""
    build: str = ""
    """Who brings it, and conda's build string, as ``Requirement`` has them."""
    open: str = ""
    """Why nobody can say what it will be: files contradict each other, or a marker is open."""
    is_sure: bool = False
    """Whether it surely will be there, in whatever version."""
    is_isolated: bool = False
    """Whether an installer surely builds it in an environment that has no torch."""
    isolated_by: str = ""
    """The tool that does so, where it has ways of its own to turn it off: ``Poetry``."""
    is_isolated_by_new: bool = False
    """Whether the newer releases of the installer do so, though torch is there before."""
    is_renewed: bool = False
    """Whether what is there of it does not stay."""
    extras: tuple[str, ...] = ()
    """Those that are surely asked for."""

    @property
    def source(self) -> str:
        """Where it stands and what it says, as facts name their source."""
        exact = f"=={self.version}" if self.version else self.specifier
        said = self.url or f"{self.name}{exact}"
        return f"{self.places[0]}: {said}" if self.places else said


class Combined(msgspec.Struct, frozen=True):
    """What all files come to on one target."""

    packages: dict[str, Planned]
    bounds: dict[str, str]
    """Name -> specifier that whatever is installed must meet."""
    is_complete: bool
    indexes: tuple[Setting, ...] = ()
    python: Setting | None = None
    image: Setting | None = None
    variables: dict[str, Setting] = {}
    notes: tuple[str, ...] = ()
    at_once: frozenset[str] = frozenset()
    """Packages that one installer takes, with regard to all that is said of them."""
    only_index: str = ""
    """The index from which all of it has to come, "" where there may be others."""
    contradicted: dict[str, str] = {}
    """Those of them that no release can meet -> which of what is said excludes each other."""

    def is_in_image(self, planned: Planned) -> bool:
        """Return whether the image that the files start from has a package already."""
        return self.image is not None and self.image.place in planned.places


Asked = tuple[Requirement, Manifest, bool | None]
"""A requirement, who says it, and whether it holds on the target; None where nobody knows."""


def combine(manifests: Iterable[Manifest], markers: Markers) -> Combined:
    """Return what will be there on a target; contradictions between files are named."""
    manifests = tuple(manifests)
    asked: dict[str, list[Asked]] = {}
    for manifest in manifests:
        for requirement, holds in _on_target(manifest, markers):
            asked.setdefault(requirement.name, []).append((requirement, manifest, holds))
    bounding = _bounding(manifests, markers)
    bounds = {name: ",".join(_texts(each)) for name, each in bounding.items()}
    packages = {name: _joined(name, found, bounding.get(name, [])) for name, found in asked.items()}
    at_once = _at_once(manifests, asked, bounds)
    listed = {name for name, found in asked.items() if any(m.is_complete for _, m, _ in found)}
    pythons = [manifest.python for manifest in manifests if manifest.python]
    notes = [note for manifest in manifests for note in manifest.notes]
    notes += [f"{p.name}: {p.open}" for p in packages.values() if p.open]
    return Combined(
        packages,
        bounds,
        any(manifest.is_complete for manifest in manifests) and listed == packages.keys(),
        tuple(index for manifest in manifests for index in manifest.indexes),
        pythons[0] if pythons else None,
        next((manifest.image for manifest in manifests if manifest.image), None),
        {name: value for m in reversed(manifests) for name, value in m.variables.items()},
        tuple(dict.fromkeys(notes)),
        at_once,
        _only_index(manifests),
        {
            name: text
            for name in sorted(at_once & asked.keys())
            if (text := _contradiction(_sure(asked[name]), bounding.get(name, [])))
        },
    )


def _only_index(manifests: tuple[Manifest, ...]) -> str:
    found = {manifest.only_index for manifest in manifests}
    return found.pop() if len(found) == 1 else ""


def _at_once(
    manifests: tuple[Manifest, ...], asked: dict[str, list[Asked]], bounds: dict[str, str]
) -> frozenset[str]:
    """Return the packages of which one installer heeds all that is said, by whoever says it.

    A lock was resolved by its tool, commands install one after the other, conda and pip too, and
    an override overrules what others require. Of commands the one that names most counts.
    """
    apart = {name for manifest in manifests for name in manifest.overridden}
    command = _largest_command(asked)
    for name, found in asked.items():
        if any(
            m.is_complete or r.manager or (m.is_in_steps and r.command != command)
            for r, m, _ in found
        ):
            apart.add(name)
    for manifest in manifests:
        if manifest.is_complete or manifest.is_in_steps:
            apart |= {each.name for each in manifest.constraints}
    return frozenset((asked.keys() | bounds.keys()) - apart)


def _largest_command(asked: dict[str, list[Asked]]) -> int:
    """Return the command that names most of what the catalogue knows; -1 where none names two."""
    counted = Counter(
        command
        for name, found in asked.items()
        if package_of(name)
        for command in {each.command for each, _, _ in found if each.command}
    )
    number, count = max(counted.items(), key=lambda item: (item[1], item[0]), default=(-1, 0))
    return number if count > 1 else -1


def _sure(found: list[Asked]) -> list[Requirement]:
    return [requirement for requirement, _, holds in found if holds]


def _on_target(manifest: Manifest, markers: Markers) -> Iterable[tuple[Requirement, bool | None]]:
    """Yield what is installed on the target, and whether that is sure; what is not, not at all."""
    held = [
        (requirement, holds)
        for requirement in manifest.requirements
        if (holds := markers.hold(requirement.marker)) is not False
    ]
    return reached(held, manifest.roots, markers) if manifest.roots else held


def _bounding(manifests: Iterable[Manifest], markers: Markers) -> dict[str, list[Requirement]]:
    """Return the constraints that hold, by the name of what they bound."""
    found: dict[str, list[Requirement]] = {}
    for manifest in manifests:
        for bound in manifest.constraints:
            if bound.specifier and markers.hold(bound.marker):
                found.setdefault(bound.name, []).append(bound)
    return found


def _texts(asked: Iterable[Requirement]) -> dict[str, None]:
    """Return what some ask for, each once, in order."""
    return dict.fromkeys(each.specifier for each in asked if each.specifier)


def _joined(name: str, found: list[Asked], bounding: list[Requirement]) -> Planned:
    """Return one package of all that ask for it; a lock goes before wishes.

    The constraint that decides on its release stands before those who ask for any.
    """
    ordered = sorted(found, key=lambda each: not each[1].is_complete)
    ordered = _on_top(ordered, bounding)
    sure = _sure(ordered)
    first, manifest, _ = next((each for each in ordered if each[2]), ordered[0])
    texts = _texts([*sure, *bounding])
    exact = [each for each in (*sure, *bounding) if exact_version(each.specifier)]
    version = exact_version(exact[0].specifier) if exact else ""
    open_ = _contradiction(sure, bounding) or _doubt(ordered)
    deciding = exact[:1] if exact[:1] and exact[0] in bounding else []
    return Planned(
        name,
        tuple(dict.fromkeys(each.place for each in (*deciding, *(r for r, _, _ in ordered)))),
        "" if open_ else version,
        "" if version else ",".join(texts),
        next((each.url for each in sure if each.url), ""),
        next((each.index for each in sure if each.index), ""),
        is_only_index=bool(sure) and all(each.is_only_index for each in sure),
        files=first.files,
        requires=first.requires if _lists_needs(manifest) else None,
        kind=manifest.kind,
        manager=first.manager,
        build=first.build,
        open=open_,
        is_sure=bool(sure),
        is_isolated=bool(sure) and all(each.is_isolated for each in sure),
        isolated_by=first.isolated_by,
        is_isolated_by_new=bool(sure) and all(each.is_isolated_by_new for each in sure),
        is_renewed=any(each.is_renewed for each in sure),
        extras=tuple(dict.fromkeys(extra for each in sure for extra in each.extras)),
    )


def _on_top(found: list[Asked], bounding: list[Requirement]) -> list[Asked]:
    """Return who decides: pip, which replaces what conda brought and does not suit it."""
    by_pip = [each for each in found if each[0].manager != "conda"]
    is_both = 0 < len(by_pip) < len(found) and all(m.kind == CONDA_FIRST for _, m, _ in found)
    return by_pip if is_both and _contradiction(_sure(found), bounding) else found


def _lists_needs(manifest: Manifest) -> bool:
    """Return whether a file says of its packages what they require: locks of most tools do."""
    return manifest.is_complete and any(each.requires for each in manifest.requirements)


def _contradiction(sure: list[Requirement], bounding: list[Requirement]) -> str:
    """Return which two of what is asked cannot both be, "" where all can be."""
    said = [*sure, *bounding]
    first = next((each for each in said if exact_version(each.specifier)), None)
    if first is None:
        return _empty_range(sure, bounding)
    version = exact_version(first.specifier)
    for each in said:
        if not admits(each.specifier, version):
            return f"{first.place} says =={version}, {each.place} says {each.specifier}"
    return ""


def _empty_range(sure: list[Requirement], bounding: list[Requirement]) -> str:
    """Return which two ranges have no version in common, "" where none are so far apart."""
    asked = (*sure[:_COMPARED], *bounding[:_COMPARED])
    said = [(str(each.place), each.specifier) for each in asked]
    for index, (where, text) in enumerate(said):
        if is_impossible((text,)):
            return f"{where} says {text}"
        for other, more in said[index + 1 :]:
            if is_impossible((text, more)):
                return f"{where} says {text}, {other} says {more}"
    return ""


def _doubt(found: list[Asked]) -> str:
    """Return on what it hangs whether it is there as it is asked for, "" where it surely is."""
    if any(holds for _, _, holds in found):
        return next((each.doubt for each, _, holds in found if holds and each.doubt), "")
    return f"the marker may not hold on the target: {found[0][0].marker[:160]}"


def admits(specifier: str, version: str) -> bool:
    """Return whether a version meets a specifier; the label of a build is no other version."""
    allowed, parsed = parse_specifier(specifier) if specifier else None, parse_version(version)
    if allowed is None or parsed is None or allowed.contains(parsed, prereleases=True):
        return True
    asked = parse_version(exact_version(specifier))
    return asked is not None and asked.public == parsed.public and not parsed.local


@lru_cache(maxsize=4096)
def exact_version(specifier: str) -> str:
    """Return the one version that a specifier admits, "" where it admits several."""
    found = _EXACT.fullmatch(specifier)
    return found[1] if found else ""
