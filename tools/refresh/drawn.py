"""Draw cells of tables that people write, and hold them against files and metadata of the index.

Usage: python -m tools.refresh.drawn [--count N] [--seed TEXT] [--table NAME] [--write]

Each table has a function that reads the primary source of one row for one release. What was held
is added to the ledger `tools/refresh/held.txt` with ``--write``. Ends with 1 where a cell is wrong.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from fadoctor.knowledge.matrix.versions import is_in
from tools.refresh.cli import TABLES, _cache_folder
from tools.refresh.errors import FetchError, WheelError
from tools.refresh.index import Index
from tools.refresh.ledger import Held, add
from tools.refresh.names.cli import rows_of
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tools.refresh.index import File, Release

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


def numpy_pythons(row: Row, release: Release, _: Index) -> Iterator[Told]:
    """Hold the range of Pythons against Requires-Python and the newest wheel."""
    found = minors(wheels_of(release))
    said = frozenset(each for each in PYTHONS if is_in(each, str(row["python"])))
    yield Told("", "python", said, found & frozenset(PYTHONS))


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


@dataclass(frozen=True)
class Drawable:
    """A table, whose package a row is about, and what holds a row."""

    table: str
    hold: Callable[[Row, Release, Index], Iterator[Told]]
    package: str = ""
    """"" where the rows name it."""
    version: str = "version"
    named: str = "package"
    """The column that names it."""


DRAWABLE = (
    Drawable("release-platforms", release_platforms),
    Drawable("requirement-platforms", requirement_platforms),
    Drawable("triton-windows-releases", python_tags, "triton-windows"),
    Drawable("xformers-windows-wheels", windows_python_tags, "xformers"),
    Drawable("bitsandbytes-windows", windows_libraries, "bitsandbytes"),
    Drawable("needed-requirements", needed),
    Drawable("numpy-releases", numpy_pythons),
    Drawable("entry-modules", modules, named="distribution"),
    Drawable("torch-companions", companions, "torch", "torch"),
)


def drawn(
    source: Drawable, index: Index, dice: random.Random, count: int
) -> Iterator[tuple[str, Told]]:
    """Yield cells of a table, each with the release that it was read of."""
    rows = rows_of(TABLES / f"{source.table}.yaml")
    for row in dice.sample(rows, min(count, len(rows))):
        package = source.package or dice.choice(str(row[source.named]).split())
        cell = str(row.get(source.version, ""))
        releases = [
            each
            for version, each in index.releases(package).items()
            if not version.is_prerelease and not all(f.yanked for f in each.files)
            and _is_meant(version, cell)
        ]  # fmt: skip
        if not releases:
            continue
        release = dice.choice(releases if cell else releases[-1:])
        for told in source.hold(row, release, index):
            yield f"{package} {release.version} {told.what}".strip(), told


def _is_meant(version: Version, cell: str) -> bool:
    if not cell or any(letter in cell for letter in "<>=~"):
        return not cell or is_in(str(version), cell) is True
    return version in [Version(word) for word in cell.split()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw and hold; return 1 where a cell is wrong, 3 where something was not read."""
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.drawn", description=__doc__)
    parser.add_argument("--count", type=int, default=10, help="rows of each table")
    parser.add_argument("--seed", default="", help="default: the day")
    parser.add_argument("--table", default="", choices=["", *(each.table for each in DRAWABLE)])
    parser.add_argument("--write", action="store_true", help="add what was held to the ledger")
    parser.add_argument("--cache", type=Path, default=_cache_folder(), metavar="DIR")
    asked = parser.parse_args(arguments)
    day = datetime.now(timezone.utc).date().isoformat()
    settings = read_settings()
    index = Index(Transport(settings, asked.cache), settings.indexes)
    held: list[Held] = []
    unread = False
    for source in DRAWABLE:
        if asked.table not in {"", source.table}:
            continue
        dice = random.Random(f"{asked.seed or day} {source.table}")  # noqa: S311 -- a draw
        try:
            for what, told in drawn(source, index, dice, asked.count):
                held.append(Held(source.table, f"{what} {told.column}", 1, day, "drawn",
                                 int(not told.is_right)))  # fmt: skip
                if not told.is_right:
                    lists = (" ".join(sorted(each)) for each in (told.said, told.found))
                    sys.stdout.write(f"WRONG {source.table}: {what}: {' / '.join(lists)}\n")
        except (FetchError, WheelError) as error:
            unread = True
            sys.stdout.write(f"NOT READ {source.table}: {error}\n")
    sys.stdout.write(f"{len(held)} cells held, {sum(each.wrong for each in held)} wrong\n")
    if asked.write:
        add(held)
    return 1 if any(each.wrong for each in held) else 3 if unread else 0


if __name__ == "__main__":
    raise SystemExit(main())
