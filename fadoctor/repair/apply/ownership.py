"""Which distribution owns which file of an environment, by the lists that installers leave."""

from __future__ import annotations

import csv
import os
import posixpath
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.probes.metadata import normalise_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

SITES = frozenset({"site-packages", "dist-packages"})
LIBRARIES = ("lib", "lib64", "Lib")
_SCRIPTS = ("bin", "Scripts")
_INFO = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,200}?)-([^-/]{1,100})\.dist-info")
_EGG = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._]{0,200})(?:-([^-/]{1,100})(?:-py[\d.]{1,10})?)?\.egg-info"
)
_PYC = re.compile(r"(.*/)?__pycache__/([^/.]+)\.[^/]+\.pyc")
_SIZE_LIMIT = 32 << 20


class OwnedDistribution(msgspec.Struct, frozen=True, array_like=True):
    """One installed distribution, with the stamp of the list of its files."""

    name: str
    version: str
    info: str
    """Its dist-info or egg-info, relative to the environment."""
    size: int
    mtime_ns: int


Installed = dict[str, tuple[OwnedDistribution, ...]]
"""By normalised name; more than one where an installer left an old one behind."""


class Claims(msgspec.Struct, frozen=True):
    """The paths that belong to a distribution, relative to the environment."""

    files: frozenset[str]
    folders: tuple[str, ...]
    """Everything below these is its, too."""

    def own(self, path: str) -> bool:
        """Return whether a path is its; a compiled file belongs to whom its source belongs."""
        found = source_of(path)
        return found in self.files or any(
            found == folder or found.startswith(folder + "/") for folder in self.folders
        )


def in_packages(path: str) -> bool:
    """Return whether a path, relative to the environment, lies where packages are installed."""
    parts = path.replace(os.sep, "/").split("/", 3)
    if parts[0] not in LIBRARIES:
        return False
    return any(part in SITES for part in parts[1 : min(3, len(parts) - 1)])


def source_of(path: str) -> str:
    """Return the source of a compiled file, ``a/b.py`` for ``a/__pycache__/b.cpython-311.pyc``."""
    # lib/python3.11/site-packages/torch/__pycache__/version.cpython-311.pyc
    match = _PYC.fullmatch(path)
    return f"{match[1] or ''}{match[2]}.py" if match else path


def is_compiled(path: str) -> bool:
    """Return whether a path is one that Python writes by itself when it imports something."""
    return path.endswith("/__pycache__") or _PYC.fullmatch(path) is not None


def installed(root: Path, *, follow: bool = False) -> Installed:
    """Return the distributions of an environment, or of its snapshot.

    `follow`: also those that lie beyond a link, as the interpreter finds them.
    """
    found: dict[str, list[OwnedDistribution]] = {}
    for site in _sites(root, follow=follow):
        with os.scandir(site) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                match = _INFO.fullmatch(entry.name) or _EGG.fullmatch(entry.name)
                if match:
                    one = _distribution(root, Path(entry.path), match[1], match[2] or "")
                    found.setdefault(one.name, []).append(one)
    return {name: tuple(each) for name, each in found.items()}


def _sites(root: Path, *, follow: bool) -> Iterator[Path]:
    """Yield the folders with packages, each once; by their real names, unless links count."""
    seen: set[str] = set()
    for library in LIBRARIES:
        top = root / library
        if not _is_folder(top, follow=follow):
            continue
        inner = sorted(path for path in top.iterdir() if _is_folder(path, follow=follow))
        sites = (folder / name for folder in (top, *inner) for name in sorted(SITES))
        for site in sites:
            real = os.path.realpath(site)
            if _is_folder(site, follow=follow) and real not in seen:
                seen.add(real)
                yield site


def _is_folder(path: Path, *, follow: bool) -> bool:
    return path.is_dir() and (follow or not path.is_symlink())


def _distribution(root: Path, info: Path, name: str, version: str) -> OwnedDistribution:
    canonical = normalise_name(name)
    size = mtime_ns = 0
    for stamp in (info / "RECORD", info / "METADATA", info / "PKG-INFO", info):
        if stamp.is_file():
            status = stamp.stat()
            size, mtime_ns = status.st_size, status.st_mtime_ns
            break
    return OwnedDistribution(canonical, version, info.relative_to(root).as_posix(), size, mtime_ns)


def claims(root: Path, prefix: Path, distribution: OwnedDistribution) -> Claims:
    """Return what a distribution owns, by its RECORD; by its name where it has none.

    `root` is the environment or its snapshot, `prefix` the environment: RECORD may name paths.
    """
    info = root / distribution.info
    site = posixpath.dirname(distribution.info)
    rows = [*_record(info, prefix, site), *_egg_files(info, distribution.info)]
    folders = [distribution.info]
    if not rows:  # an import package is called like its distribution more often than not
        stem = distribution.name.replace("-", "_")
        names = {stem, distribution.name, *_lines(info / "top_level.txt")}
        folders += [f"{site}/{name}" for name in sorted(names) if name and "/" not in name]
        rows = [f"{folder}.py" for folder in folders[1:]]
    scripts = (f"{place}/{name}" for name in _script_names(info) for place in _SCRIPTS)
    ends = ("", ".exe", "-script.py")
    files = [*rows, *(script + end for script in scripts for end in ends)]
    return Claims(frozenset(path for path in files if _is_inside(path)), tuple(folders))


def claimed_outside(root: Path, prefix: Path, names: Container[str]) -> frozenset[str]:
    """Return what distributions of these names own outside of the folders with packages."""
    found: set[str] = set()
    for name, several in installed(root).items():
        for one in several if name in names else ():
            found.update(path for path in claims(root, prefix, one).files if not in_packages(path))
    return frozenset(found)


def unequal(one: Installed, other: Installed) -> set[str]:
    """Return the names of distributions that two states do not have alike."""
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def folders_above(theirs: Claims) -> frozenset[str]:
    """Return every folder that something of theirs lies in."""
    found: set[str] = set()
    for path in (*theirs.files, *theirs.folders):
        folder = posixpath.dirname(path)
        while folder and folder not in found:
            found.add(folder)
            folder = posixpath.dirname(folder)
    return frozenset(found)


def _is_inside(path: str) -> bool:
    return bool(path) and "\0" not in path and not path.startswith(("..", "/")) and path != "."


def _record(info: Path, prefix: Path, site: str) -> Iterator[str]:
    """Yield RECORD's paths; those of a wheel that is just being unpacked as they will be."""
    # torch/version.py,sha256=...,123      ../../../bin/torchrun,sha256=...,212
    for line in _lines(info / "RECORD"):
        path = _first_field(line)
        if Path(path).is_absolute():
            path = os.path.relpath(path, prefix)
        elif path.partition("/")[0].endswith(".data"):
            yield from _unpacked(path, site)
            continue
        else:
            path = posixpath.normpath(f"{site}/{path}")
        yield path.replace(os.sep, "/")


def _first_field(line: str) -> str:
    if not line.startswith('"'):
        return line.partition(",")[0]
    try:
        return next(csv.reader([line]), [""])[0]
    except csv.Error:  # a zero byte, a field without end
        return ""


def _unpacked(path: str, site: str) -> Iterator[str]:
    """Yield where the installer puts ``name-1.0.data/scripts/tool``."""
    _, _, rest = path.partition(".data/")
    scheme, _, name = rest.partition("/")
    match scheme:
        case "scripts":
            yield from (f"{place}/{name}" for place in _SCRIPTS)
        case "data":
            yield posixpath.normpath(name)
        case "purelib" | "platlib":
            yield posixpath.normpath(f"{site}/{name}")
        case _:
            pass


def _egg_files(info: Path, place: str) -> Iterator[str]:
    for line in _lines(info / "installed-files.txt"):
        yield posixpath.normpath(f"{place}/{line}")


def _script_names(info: Path) -> Iterator[str]:
    """Yield the names of the scripts that the installer writes for entry points."""
    section = ""
    for line in _lines(info / "entry_points.txt"):
        text = line.strip()
        if text.startswith("["):
            section = text
        name, is_entry, _ = text.partition("=")
        if is_entry and section in ("[console_scripts]", "[gui_scripts]") and "/" not in name:
            yield name.strip()


def _lines(path: Path) -> list[str]:
    if not path.is_file():  # a named pipe would be waited for
        return []
    with suppress(OSError, ValueError), path.open("rb") as file:
        return file.read(_SIZE_LIMIT).decode("utf-8", "replace").splitlines()
    return []
