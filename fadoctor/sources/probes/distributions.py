"""Find the distributions on an import path by their metadata folders, as an importer would.

The first folder of the path that holds a usable record of a distribution wins; later ones are
shadowed, which is legal. Two usable records in one folder are not: both are kept.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.probes.metadata import (
    HEADER_LIMIT,
    Headers,
    is_text,
    is_version,
    normalise_name,
    parse_headers,
    trouble_with,
)
from fadoctor.sources.probes.world import read_text

if TYPE_CHECKING:
    from collections.abc import Container

    from fadoctor.sources.probes.import_path import Folder, ImportPath

MAX_READ = 200
"""METADATA files whose headers are read: those of the wanted, and those without a version."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,200}[A-Za-z0-9])?")
_EGG_ENDING = re.compile(r"-py[0-9].*$")


class Distribution(msgspec.Struct, frozen=True):
    """One record of one distribution."""

    name: str
    """Normalised."""
    version: str
    folder: str
    """Folder of the import path that holds the record."""
    entry: str
    """The record in it: ``torch-2.6.0.dist-info``."""
    headers: Headers = Headers()
    """Read only for the distributions that were asked for."""

    @property
    def metadata(self) -> Path:
        """The file with the headers."""
        if self.entry.endswith(".dist-info"):
            return self.member("METADATA")
        entry = Path(self.folder, self.entry)
        return entry / "PKG-INFO" if entry.is_dir() else entry

    def member(self, name: str) -> Path:
        """Return a file of the record."""
        return Path(self.folder, self.entry, name)


class Survey(msgspec.Struct, frozen=True):
    """What was found."""

    chosen: dict[str, tuple[Distribution, ...]]
    """Normalised name -> its usable records, all in the same folder."""
    broken: dict[str, str]
    """Name of a record that cannot be used -> why."""
    unusable: dict[str, str]
    """Normalised name -> why, where only broken records of it were met."""
    links: frozenset[str]
    """Normalised names with an ``.egg-link``: editable the old way."""
    problem: str = ""
    """Why this may not be all of it; empty where it is."""
    hidden: dict[str, tuple[Distribution, ...]] = {}
    """Wanted names -> their records in later folders of the path, by the names of the records."""


def find_distributions(path: ImportPath, wanted: Container[str]) -> Survey:
    """Survey an import path; headers are read for the wanted distributions (normalised names)."""
    search = _Search(wanted, path.problem)
    for folder in path.folders:
        search.look_into(folder)
    unusable = {name: why for name, why in search.unusable.items() if name not in search.chosen}
    return Survey(
        search.chosen, search.broken, unusable, frozenset(search.links), search.problem,
        {name: tuple(records) for name, records in search.hidden.items()},
    )  # fmt: skip


class _Search:
    """The state of one survey."""

    def __init__(self, wanted: Container[str], problem: str) -> None:
        self.wanted = wanted
        self.problem = problem
        self.chosen: dict[str, tuple[Distribution, ...]] = {}
        self.broken: dict[str, str] = {}
        self.unusable: dict[str, str] = {}
        self.links: set[str] = set()
        self.hidden: dict[str, list[Distribution]] = {}
        self.reads = 0

    def look_into(self, folder: Folder) -> None:
        """Take in the records of the next folder of the path."""
        here: dict[str, list[Distribution]] = {}
        for found in self._records(folder):
            if found.name in self.chosen:
                if found.name in self.wanted and is_version(found.version):
                    self.hidden.setdefault(found.name, []).append(found)
                continue
            usable = self._checked(found)
            if usable is not None:
                here.setdefault(usable.name, []).append(usable)
        for name, records in here.items():
            self.chosen.setdefault(name, _without_twins(records))

    def _records(self, folder: Folder) -> list[Distribution]:
        records: list[Distribution] = []
        if folder.path.endswith(".egg") and "EGG-INFO" in folder.names:
            records += self._named(folder, "EGG-INFO", Path(folder.path).name.removesuffix(".egg"))
        for entry in folder.names:
            stem, dot, ending = entry.rpartition(".")
            if entry.startswith("~"):
                self.broken.setdefault(entry, "left behind when an uninstall was interrupted")
            elif dot and ending in ("dist-info", "egg-info"):
                records += self._named(folder, entry, stem)
            elif dot and ending == "egg-link":
                self.links.add(normalise_name(stem))
        return records

    def _named(self, folder: Folder, entry: str, stem: str) -> list[Distribution]:
        name, _, version = stem.partition("-")
        if not entry.endswith(".dist-info"):
            version = _EGG_ENDING.sub("", version)
        if not _NAME.fullmatch(name):
            self.broken.setdefault(entry, "its name is not the name of a distribution")
            return []
        return [Distribution(normalise_name(name), version, folder.path, entry)]

    def _checked(self, found: Distribution) -> Distribution | None:
        """Return the record with its version and headers, or None where it cannot be used."""
        trouble = trouble_with(found.metadata)
        if not trouble and (found.name in self.wanted or not is_version(found.version)):
            self.reads += 1
            if self.reads > MAX_READ:
                self.problem = self.problem or f"there are more than {MAX_READ} records to read"
                return None
            found, trouble = _read(found)
        if trouble:
            self.broken.setdefault(found.entry, trouble)
            self.unusable.setdefault(found.name, f"{found.entry}: {trouble}")
            return None
        return found


def _read(found: Distribution) -> tuple[Distribution, str]:
    """Return the record with what its headers say, and why it cannot be used, or ""."""
    file = found.metadata
    text = read_text(file, HEADER_LIMIT)
    if text is None:
        return found, f"{file.name} cannot be read"
    headers = parse_headers(text)
    version = headers.first("version")
    if not is_text(text):
        return found, f"{file.name} is not text"
    if not headers.complete:
        return found, f"the headers of {file.name} have no end"
    if not version:
        return found, f"{file.name} has no Version"
    if not is_version(version):
        return found, f"{file.name}: Version is not a version: {version[:40]!r}"
    return Distribution(found.name, version, found.folder, found.entry, headers), ""


def _without_twins(records: list[Distribution]) -> tuple[Distribution, ...]:
    """Drop an egg-info beside a dist-info of the same version: conda and setuptools leave both."""
    modern = {record.version for record in records if record.entry.endswith(".dist-info")}
    return tuple(
        record
        for record in records
        if record.entry.endswith(".dist-info") or record.version not in modern
    )
