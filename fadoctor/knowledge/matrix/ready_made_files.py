"""For which platforms and Pythons releases are published, and what they require on some alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.knowledge.matrix.published_files import PublishedFiles
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.required import elsewhere
from fadoctor.knowledge.matrix.versions import is_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix


class InstalledWhere(msgspec.Struct, frozen=True):
    """Where something is installed; "" for what is not known."""

    platform: str = ""
    python: str = ""


class _Files(msgspec.Struct, frozen=True):
    """What there is of some releases of a package."""

    versions: str
    platforms: frozenset[str]
    """Empty for every platform."""
    pythons: str
    alone: bool
    """Whether there are no sources to compile elsewhere."""
    unbuilt: frozenset[str]
    """Platforms where its sources serve nobody, either."""

    def is_without_sources(self, place: InstalledWhere) -> bool:
        return self.alone or place.platform in self.unbuilt

    def are_for(self, place: InstalledWhere) -> bool:
        if place.platform and self.platforms and place.platform not in self.platforms:
            return False
        return not (place.python and self.pythons) or is_in(place.python, self.pythons) is not False


class ReadyMadeFiles:
    """What one knowledge base says of it; nothing is against what it does not name."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix, whose tables tell the platforms."""
        self._matrix = matrix
        self._published: dict[InstalledWhere, PublishedFiles] = {}
        self._along: dict[tuple[str, str, InstalledWhere], dict[str, str]] = {}
        self._had: dict[tuple[str, str, InstalledWhere], bool] = {}
        """Whether releases have a file for a place, and so has what they require in ranges."""
        self._files: dict[str, list[_Files]] = {}
        for row in matrix.tables["release-platforms"].rows:
            platforms, pythons = (row.get(name) for name in ("platforms", "pythons"))
            found = _Files(
                str(row["version"]),
                frozenset(cell_words(platforms)),
                pythons if isinstance(pythons, str) else "",
                row.get("sources") is False,
                frozenset(cell_words(row.get("unbuilt"))),
            )
            for name in cell_words(row["package"]):
                self._files.setdefault(name, []).append(found)
        self._conditions: dict[str, list[tuple[str, frozenset[str], frozenset[str]]]] = {}
        for row in matrix.tables["requirement-platforms"].rows:
            needs, where = (frozenset(cell_words(row[name])) for name in ("needs", "platforms"))
            for name in cell_words(row["package"]):
                self._conditions.setdefault(name, []).append((str(row["version"]), needs, where))

    @staticmethod
    def of(matrix: Matrix) -> ReadyMadeFiles:
        """Return those of a matrix, which all that read it share."""
        found: ReadyMadeFiles | None = matrix.read.get(ReadyMadeFiles)
        if found is None:
            found = matrix.read[ReadyMadeFiles] = ReadyMadeFiles(matrix)
        return found

    def has_file(self, name: str, version: str, place: InstalledWhere) -> bool:
        """Return whether the index has a file of a release for a place, or nobody has looked."""
        is_for_it = all(files.are_for(place) for files in self._of(name, version))
        return is_for_it and self.files_for(place).come(name, version) is True

    def compiled_along(self, name: str, version: str, place: InstalledWhere) -> dict[str, str]:
        """Return what a release requires in ranges of which no release has a file for a place."""
        asked = (name, version, place)
        if asked not in self._along:
            files = self.files_for(place)
            needs = {
                other: specifier
                for other, specifier in declared(name, version, self._matrix, place.python).items()
                if not files.has_one_in(other, specifier)
            }
            out = set(elsewhere(name, version, place.platform, self._matrix)) if needs else ()
            self._along[asked] = {n: specifier for n, specifier in needs.items() if n not in out}
        return self._along[asked]

    def files_for(self, place: InstalledWhere) -> PublishedFiles:
        """Return the files of one place, which are looked up once."""
        if place not in self._published:
            self._published[place] = PublishedFiles(self._matrix, place.platform, place.python)
        return self._published[place]

    def is_served(self, name: str, version: str, place: InstalledWhere) -> bool:
        """Return whether there is a file of a release for a place, or sources, or may be."""
        found = self._of(name, version)
        return all(each.are_for(place) for each in found if each.is_without_sources(place))

    def is_nowhere(self, name: str, place: InstalledWhere, is_among: Callable[[str], bool]) -> bool:
        """Return whether none of some releases has a file for a place, nor sources.

        `is_among` tells of a row's range whether any of these releases may be in it.
        """
        found = [files for files in self._files.get(name, ()) if is_among(files.versions)]
        return bool(found) and all(
            each.is_without_sources(place) and not each.are_for(place) for each in found
        )

    def required(
        self, name: str, version: str, needs: Mapping[str, str], platform: str
    ) -> dict[str, str]:
        """Return what a release requires on a platform."""
        left_out = set(self._left_out(name, version, platform)) if platform else set()
        return {other: specifier for other, specifier in needs.items() if other not in left_out}

    def can_be_had(
        self, name: str, version: str, needs: Mapping[str, str], place: InstalledWhere
    ) -> bool:
        """Return whether a release has a file for a place, and so has what it requires."""
        asked = (name, version, place)
        if asked not in self._had:
            is_ready = self.has_file(name, version, place)
            self._had[asked] = is_ready and not self.compiled_along(name, version, place)
        pins = ((o, s[2:]) for o, s in needs.items() if s.startswith("==") and "," not in s)
        return self._had[asked] and all(self.has_file(other, pin, place) for other, pin in pins)

    def _of(self, name: str, version: str) -> Iterator[_Files]:
        return (f for f in self._files.get(name, ()) if is_in(version, f.versions) is True)

    def _left_out(self, name: str, version: str, platform: str) -> Iterator[str]:
        for versions, needs, platforms in self._conditions.get(name, ()):
            if platform not in platforms and is_in(version, versions) is True:
                yield from needs
