"""What files and metadata of a release say of rows that people write, one function a table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from fadoctor.knowledge.matrix.versions import is_in
from tools.refresh.spans.pythons import told_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.refresh.index import File, Index, Release

Row = Mapping[str, object]

PLATFORMS = {
    "linux_x86_64": ("linux", "x86_64", "Linux", "posix"),
    "linux_aarch64": ("linux", "aarch64", "Linux", "posix"),
    "win_amd64": ("win32", "AMD64", "Windows", "nt"),
    "macosx_arm64": ("darwin", "arm64", "Darwin", "posix"),
}
_PYTHON = "3.12"
_CP = re.compile(r"cp3(\d{1,2})")
_LIBRARY = re.compile(r"bitsandbytes/libbitsandbytes_cuda(\d{2})(\d)(?:_nocublaslt)?\.dll")


@dataclass(frozen=True)
class Told:
    """One cell: what the table says, and what the source says."""

    what: str
    column: str
    said: frozenset[str]
    found: frozenset[str]

    @property
    def is_right(self) -> bool:
        """Whether both are the same."""
        return self.said == self.found


def words(cell: object) -> frozenset[str]:
    """Return the words of a cell."""
    return frozenset(str(cell).split()) if cell is not None else frozenset()


def on_platforms(file: File) -> frozenset[str]:
    """Return the platforms on which a wheel can be installed."""
    tags = {tag.platform for tag in file.tags}
    if "any" in tags:
        return frozenset(PLATFORMS)
    found = set()
    for tag in tags:
        for name in PLATFORMS:
            system, _, machine = name.partition("_")
            fits = tag.endswith((machine, "universal2") if system == "macosx" else machine)
            own = ("manylinux", "linux_") if system == "linux" else system
            if fits and tag.startswith(own):
                found.add(name)
    return frozenset(found)


def minors(files: Iterable[File]) -> frozenset[str]:
    """Return the Pythons of CPython wheels, those without a lock left out."""
    found = set()
    for file in files:
        for tag in file.tags:
            match = _CP.fullmatch(tag.interpreter)
            if match and tag.abi.removesuffix("m") == tag.interpreter:
                found.add(f"3.{match[1]}")
    return frozenset(found)


def wheels_of(release: Release) -> list[File]:
    """Return the wheels of a release."""
    return [file for file in release.files if file.tags]


def needs_on(index: Index, release: Release, platform: str) -> frozenset[str]:
    """Return the names that a release requires on a platform, without extras."""
    system, machine, name, kind = PLATFORMS[platform]
    there = {
        "sys_platform": system, "platform_machine": machine, "platform_system": name,
        "os_name": kind, "python_version": _PYTHON, "python_full_version": f"{_PYTHON}.0",
        "extra": "",
    }  # fmt: skip
    [file, *_] = wheels_of(release) or release.files
    lines = index.metadata(file).get_all("Requires-Dist") or []
    parsed = (Requirement(line) for line in lines)
    return frozenset(
        canonicalize_name(each.name)
        for each in parsed
        if each.marker is None or Marker(str(each.marker)).evaluate(there)
    )


def release_platforms(row: Row, release: Release, _: Index) -> Iterator[Told]:
    """Hold the platforms against the names of the files; what it pins may leave fewer."""
    found = frozenset(p for file in wheels_of(release) for p in on_platforms(file))
    if "platforms" in row and found and found != frozenset(PLATFORMS):
        yield Told("", "platforms", words(row["platforms"]), found)


def requirement_platforms(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the platforms against the markers."""
    needs = {platform: needs_on(index, release, platform) for platform in PLATFORMS}
    for name in sorted(words(row["needs"])):
        found = frozenset(platform for platform, all_ in needs.items() if name in all_)
        if found:
            yield Told(name, "platforms", words(row["platforms"]), found)


def python_tags(row: Row, release: Release, _: Index) -> Iterator[Told]:
    """Hold the Pythons against the tags of the wheels."""
    yield Told("", "python", words(row["python"]), minors(wheels_of(release)))


def windows_python_tags(row: Row, release: Release, _: Index) -> Iterator[Told]:
    """Hold the Pythons of the wheels for Windows, and the torch that these require."""
    files = [file for file in wheels_of(release) if "win_amd64" in on_platforms(file)]
    if found := minors(files):
        yield Told("", "wheels_for", words(row["wheels_for"]), found)


def windows_libraries(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the CUDA versions against the names of libraries in the wheel for Windows."""
    files = [file for file in wheels_of(release) if "win_amd64" in on_platforms(file)]
    for file in files[:1]:
        names = map(_LIBRARY.fullmatch, index.wheel(file).names)
        found = frozenset(f"{match[1]}.{match[2]}" for match in names if match)
        yield Told("", "cuda", words(row["cuda"]), found)


def needed(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold what is imported first against what is declared to be required."""
    said = words(row["requirements"])
    yield Told("", "requirements", said, said & needs_on(index, release, "linux_x86_64"))


def told_pythons(row: Row, release: Release, _: Index) -> Iterator[Told]:
    """Hold the range of Pythons against what the index tells of the release."""
    said = frozenset(each for each in PYTHONS if is_in(each, str(row["python"])) is not False)
    takes = SpecifierSet(told_python(release))
    yield Told("", "python", said, frozenset(p for p in PYTHONS if takes.contains(f"{p}.99")))


PYTHONS = tuple(f"3.{minor}" for minor in range(8, 15))


def companions(row: Row, _: Release, index: Index) -> Iterator[Told]:
    """Hold the torch of a companion against what its METADATA pins."""
    for name in ("torchvision", "torchaudio"):
        version = row.get(name)
        release = index.releases(name).get(Version(str(version))) if version else None
        if release is None or not wheels_of(release):
            continue
        lines = index.metadata(wheels_of(release)[0]).get_all("Requires-Dist") or []
        pins = {str(r.specifier) for r in map(Requirement, lines) if r.name == "torch"}
        if pins and pins != {""}:
            asked = {f"=={torch}" for torch in words(row["torch"])}
            yield Told(f"{name} {version}", name, frozenset(asked & pins or asked), frozenset(pins))


def modules(row: Row, release: Release, index: Index) -> Iterator[Told]:
    """Hold the modules against the names of files in a wheel of the newest release."""
    for file in wheels_of(release)[:1]:
        names = set(index.wheel(file).names)
        said = words(row["module"])
        places = {each: each.replace(".", "/") for each in said}
        found = frozenset(
            each
            for each, place in places.items()
            if names & {f"{place}/__init__.py", f"{place}.py"}
            or any(name.startswith((f"{place}.", f"{place}/")) for name in names)
        )
        yield Told("", "distribution", said, found)
