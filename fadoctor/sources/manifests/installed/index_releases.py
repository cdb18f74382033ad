"""Releases of torch and its companions that the named index does not have."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.knowledge.matrix.query import Matrix, cell_words
from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version, version_part
from fadoctor.model.fact import Absent, Fact, Known, fact_text, printable
from fadoctor.model.packages import COMPILED_BESIDE, RELEASES, TORCH, XFORMERS
from fadoctor.sources.manifests.installed.fact_names import UNSERVED, UNSERVED_INSTEAD
from fadoctor.sources.manifests.installed.package_indexes import (
    is_without_release,
    lacks_package,
    serves_others,
)
from fadoctor.sources.manifests.planned import speaks_of_files, speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from packaging.version import Version

    from fadoctor.sources.manifests.installed.combine import Combined, Planned

UNLABELLED, OF_PYPI = "packages.unlabelled", "packages.of_pypi"
_SOURCE = "the releases of each index, by the tables"
_PLATFORMS = ("linux_x86_64", "win_amd64")
# https://download.pytorch.org/whl/cu128 and mirrors, which have more below nightly and test
_OF_CUDA = re.compile(r"(?!.{0,200}/(?:nightly|test)/).{1,300}/(cu\d{3})/?")
_LABEL = re.compile(r"cu\d{3}")
# --index-url https://download.pytorch.org/whl/cu128
_IN_LINE = re.compile(r"(?:--index-url|-i)[ =]\s{0,9}\S{1,400}/(cu\d{3})/?(?=\s|$)")
_XFORMERS = RELEASES[XFORMERS][0]


class Range(NamedTuple):
    """The first and the last release on one index; no last one where it still gets some."""

    first: Version
    last: Version | None

    @property
    def words(self) -> str:
        """The releases, as a sentence ends."""
        return f"{self.first} to {self.last}" if self.last else f"{self.first} and newer releases"

    def has(self, release: Version) -> bool:
        """Say whether a release lies between both."""
        return self.first <= release and (self.last is None or release <= self.last)


@lru_cache(maxsize=1)
def companions() -> dict[str, str]:
    """Return the packages with the builds of a torch -> the table that says of which one."""
    return {
        name: f"{name}-releases" for name in load_knowledge().tables["torch-companions"].columns
    }


@lru_cache(maxsize=1)
def index_of_backend() -> dict[str, str]:
    """Return the index of each build of torch, as uv's setting ``torch-backend`` names builds."""
    rows = load_knowledge().tables["torch-indexes"].rows
    return {str(row["build"]): str(row["index"]) for row in rows}


@lru_cache(maxsize=1)
def _ranges() -> dict[str, Range]:
    found = {}
    for row in load_knowledge().tables["torch-index-ranges"].rows:
        first, last = (parse_version(str(row.get(key, ""))) for key in ("first", "last"))
        if first is not None:
            found[str(row["build"])] = Range(first, last)
    return found


def lacks(build: str, version: str) -> bool:
    """Return whether the index of a build surely has no torch of this version."""
    served, release = _ranges().get(build), parse_version(version)
    if served is None or release is None or release.is_prerelease:
        return False
    public = parse_version(release.public)
    return public is not None and not served.has(public)


def names_another(line: str, wanted: str) -> bool:
    """Return whether a line names the index of a build that lacks the xformers that is wanted."""
    name, _, release = wanted.partition("==")
    found = _IN_LINE.search(line) if name == XFORMERS else None
    torch = _torch_of_xformers(release) if found else None
    return found is not None and torch is not None and lacks(found[1], str(torch))


@lru_cache(maxsize=256)
def _torch_of_xformers(version: str) -> Version | None:
    """Return the one torch that a release is for, whose indexes alone have it; None for several."""
    matrix = Matrix(load_knowledge().tables)
    needs = matrix.find(_XFORMERS, {"version": Known(version, "asked")}).cell(TORCH)
    return parse_version(fact_text(needs, "").removeprefix("=="))


def is_behind(build: str, specifier: str) -> bool:
    """Return whether a range of torch admits newer releases than the last on a build's index.

    pip takes the newest release that any index has, and a label counts between equal ones alone.
    """
    last, allowed = _last(build), parse_specifier(specifier)
    return last is not None and any(
        last < release and (allowed is None or allowed.contains(release))
        for release in _listed("torch-releases")
    )


def _last(build: str) -> Version | None:
    if build.startswith("rocm"):
        return max(_listed("torch-rocm-builds", build), default=None)
    served = _ranges().get(build)
    return served.last if served else None


@lru_cache(maxsize=32)
def _listed(table: str, rocm: str = "") -> frozenset[Version]:
    """Return the releases of torch in a table, of one ROCm where one is named."""
    found = (
        parse_version(version)
        for row in load_knowledge().tables[table].rows
        if not rocm or rocm in cell_words(row["rocm"])
        for version in cell_words(row["version"])
    )
    return frozenset(each for each in found if each is not None)


def ends_before(index: str, specifier: str) -> bool:
    """Return whether the last torch on an index is too old for what is asked for."""
    served = _ranges().get(build_of_index(index))
    allowed = parse_specifier(specifier) if specifier else None
    return bool(served and served.last and allowed and not allowed.contains(served.last))


def newest_of_index(index: str, specifier: str) -> str:
    """Return the torch that an installer takes of an index which gets none any more; "" else."""
    last = _last(build_of_index(index)) if index else None
    allowed = parse_specifier(specifier) if specifier else None
    return str(last) if last and (allowed is None or allowed.contains(last)) else ""


def is_bounded(index: str) -> bool:
    """Return whether the tables list the last torch on an index."""
    served = _ranges().get(build_of_index(index)) if index else None
    return bool(served and served.last)


def served_range(planned: Planned, combined: Combined) -> str:
    """Return what is asked for of torch, bound to what the one index has that is asked for it."""
    served = _ranges().get(_build(planned, combined)) if planned.name == TORCH else None
    if served is None:
        return planned.specifier
    has = f">={served.first}" + (f",<={served.last}" if served.last else "")
    return f"{planned.specifier},{has}" if planned.specifier else has


def unserved(combined: Combined, facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return which releases the one index that is asked for them does not have.

    A label such as ``+cu118`` names its index itself: no other one has that file.
    """
    found: dict[str, str] = {}
    ways: list[str] = []
    platform = fact_text(facts.get("host.platform", Absent("not read")), "")
    for name in (TORCH, *companions(), XFORMERS) if platform in _PLATFORMS else ():
        planned = combined.packages.get(name)
        if planned is None or not _is_looked_up(planned):
            continue
        build = _build(planned, combined)
        served = _ranges().get(build)
        if served is None or _is_there(planned, served, matrix):
            continue
        asked = planned.version or planned.specifier
        at = f"{planned.places[0]}: " if planned.places else ""
        beside = "" if name == TORCH else f" the {name} of torch"
        text = f"{asked} ({at}the index {build} has{beside} {served.words})"
        found[name] = printable(text, 300)
        ways += _others(planned, platform, matrix)
    for name, planned in combined.packages.items():
        index = (
            planned.index if planned.is_only_index else "" if planned.index else combined.only_index
        )
        if _is_looked_up(planned) and lacks_package(index, name):
            at = f"{planned.places[0]}: " if planned.places else ""
            asked = planned.version or planned.specifier
            said = f"({at}no other index is asked than torch's own)"
            found[name] = printable(f"{asked} {said}" if asked else said, 300)
            ways.append(f"{name} is on PyPI.")
    return {
        UNSERVED: Known(found, _SOURCE),
        UNLABELLED: _unlabelled(combined),
        OF_PYPI: _of_pypi(combined),
        UNSERVED_INSTEAD: Known(" ".join(ways), _SOURCE) if ways else Absent(_SOURCE),
    }


def _unlabelled(combined: Combined) -> Fact:
    """Return what is asked for with the label of a build, where no index is named that has such.

    PyPI takes no labels. What is there already, and what a variable names, nobody knows.
    """
    is_open = any(speaks_of_image(note) or speaks_of_files(note) for note in combined.notes)
    names_one = any("INDEX" in name or "FIND_LINKS" in name for name in combined.variables)
    if combined.indexes or combined.only_index or is_open or names_one:
        return Absent(_SOURCE)
    found = {
        name: printable(f"{planned.version} ({planned.places[0]})", 300)
        for name in (TORCH, *companions())
        if (planned := combined.packages.get(name)) and planned.places and not planned.index
        and _is_looked_up(planned)
        and _LABEL.fullmatch(version_part(planned.version, "local") or "")
    }  # fmt: skip
    return Known(found, _SOURCE) if found else Absent(_SOURCE)


def _of_pypi(combined: Combined) -> Fact:
    """Return what is asked for in a release of PyPI's, which no index that is named has."""
    names_one = any("INDEX" in name or "FIND_LINKS" in name for name in combined.variables)
    found = {
        name: printable(f"{planned.version} ({planned.places[0]})", 300)
        for name in (*COMPILED_BESIDE, XFORMERS)
        if (planned := combined.packages.get(name)) and planned.places and planned.version
        and _is_looked_up(planned) and not version_part(planned.version, "local")
        and all(is_without_release(each, name) for each in _indexes_of(planned, combined))
    }  # fmt: skip
    return Known(found, _SOURCE) if found and not names_one else Absent(_SOURCE)


def _indexes_of(planned: Planned, combined: Combined) -> list[str]:
    """Return the indexes that are asked for a package beside PyPI."""
    named = [planned.index] if planned.index else [each.value for each in combined.indexes]
    return [*named, *filter(None, (combined.only_index,))]


def _is_looked_up(planned: Planned) -> bool:
    """Return whether an installer looks for a package by name and release on an index."""
    is_asked = planned.is_sure and not planned.open and not planned.manager
    return is_asked and not (planned.url or planned.files) and planned.requires is None


def _build(planned: Planned, combined: Combined) -> str:
    """Return the build that alone can come, "" where several can."""
    if label := version_part(planned.version, "local") if planned.version else "":
        return label if _LABEL.fullmatch(label) else ""
    if planned.is_only_index:
        return build_of_index(planned.index)
    return "" if planned.index else build_of_index(combined.only_index)


def build_of_index(index: str) -> str:
    """Return the CUDA build of torch that an index serves: ``cu128``; "" of any other index."""
    found = None if serves_others(index) else _OF_CUDA.fullmatch(index)
    return found[1] if found else ""


def _is_there(planned: Planned, served: Range, matrix: Matrix) -> bool:
    """Return whether an index may have a release that is asked for."""
    if planned.version:
        release = _torch_of(planned, matrix)
        return release is None or release.is_prerelease or served.has(release)
    allowed = parse_specifier(planned.specifier) if planned.specifier else None
    if allowed is None or planned.name != TORCH:
        return True
    known = list(_releases(matrix))
    within = [each for each in known if served.has(each)]
    newest = max(known, default=served.first)
    is_open = served.last is None and allowed.contains(f"{newest.major + 1}.0")
    return is_open or not within or any(allowed.contains(each) for each in within)


def _torch_of(planned: Planned, matrix: Matrix) -> Version | None:
    """Return the torch release of which a package has the builds; None where no table says it."""
    release = parse_version(planned.version)
    if release is None:
        return None
    if planned.name == XFORMERS:
        return _torch_of_xformers(release.public)
    table = companions().get(planned.name)
    if table is None:
        return parse_version(release.public)
    rows = matrix.find(table, {"version": Known(release.public, planned.source)})
    if rows.rows and rows.rows[0].get("undeclared"):
        return None  # it goes with several, and comes in the builds of them all
    return parse_version(fact_text(rows.cell("with"), ""))


def _releases(matrix: Matrix) -> Iterator[Version]:
    rows = matrix.tables["torch-releases"].rows
    texts = {text for row in rows for text in str(row["version"]).split()}
    yield from (found for text in texts if (found := parse_version(text)) is not None)


def _others(planned: Planned, platform: str, matrix: Matrix) -> list[str]:
    """Return on which indexes a release is, as one sentence; none where no table says it."""
    release = _torch_of(planned, matrix) if planned.version else None
    if release is None:
        return []
    keys = {"version": Known(str(release), _SOURCE), "platform": Known(platform, _SOURCE)}
    rows = matrix.find("torch-builds", keys).rows
    words = {word for row in rows for word in str(row["build"]).split() if _LABEL.fullmatch(word)}
    builds = sorted(word for word in words if not lacks(word, str(release)))
    public = planned.version.partition("+")[0]
    return [f"{planned.name} {public} is on {' and '.join(builds)}."] if builds else []
