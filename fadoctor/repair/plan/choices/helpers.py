"""The packages that come along because others require them, each as one exact release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.installable import uninstallable
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.knowledge.matrix.requirement_parser import asked_for
from fadoctor.knowledge.matrix.versions import is_in, version_key
from fadoctor.model.fact import Known
from fadoctor.model.packages import FRAMEWORK_TABLE, HUGGINGFACE_HUB, TRANSFORMERS
from fadoctor.repair.plan.choices.offers import is_told, newest_in, offer
from fadoctor.repair.plan.choices.released import accepts, is_in_specifier
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.wheel_facts import known, text_of
from fadoctor.sources.manifests.installed.contradicted import is_impossible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice

Needs = tuple[tuple[str, str], ...]
"""Distribution and specifier, of what a release requires."""


MOVE_ALONG = {TRANSFORMERS: (HUGGINGFACE_HUB,)}
"""Distribution -> what moves with it: the one that is here keeps no release from being chosen."""


class Helpers:
    """The helpers of one knowledge base; it keeps what it has looked up."""

    def __init__(self, matrix: Matrix) -> None:
        """Take the matrix, whose table names their releases."""
        self.matrix = matrix
        self.published = ReadyMadeFiles.of(matrix)
        tables = ("helper-releases", "numpy-releases", FRAMEWORK_TABLE)
        self.rows = tuple(row for table in tables for row in matrix.tables[table].rows)
        self._releases: dict[str, list[tuple[str, str, Needs]]] = {}
        self._pythons: dict[tuple[str, str], list[tuple[str, Needs]]] = {}
        self._found: dict[object, tuple[Choice, ...]] = {}
        self._asked_by: dict[str, tuple[str, ...]] = {}
        self._declared: dict[str, list[Row]] = {}
        self._needs: dict[tuple[str, str, str], dict[str, str]] = {}
        self._told: dict[tuple[str, str], dict[str, str]] = {}
        self._offers: dict[str, Choice | None] = {}
        self._brought: dict[str, tuple[Choice, ...]] = {}
        self._whole: dict[tuple[str, str], bool] = {}
        self._all: dict[tuple[str, str], bool] = {}

    def fitting(
        self,
        name: str,
        environment: Environment,
        specifiers: Iterable[str],
        there: Mapping[str, str],
    ) -> tuple[Choice, ...]:
        """Return the releases that everything takes, newest first; none where none is known.

        `there`: distribution -> version of what is installed by then, which a release must take.
        """
        wanted = tuple(sorted(set(filter(None, specifiers))))
        python = python_of(environment).rstrip("t")
        place = InstalledWhere(text_of(environment, "host.platform"), python)
        beside = tuple(map(there.get, self._beside(name)))
        asked = (name, python, place.platform, wanted, beside)
        if asked not in self._found:
            found = self._fitting(name, python, wanted, there)
            can_be_had = self.published.can_be_had
            self._found[asked] = tuple(c for c in found if can_be_had(name, c.version, {}, place))
        return self._found[asked]

    def own(self, name: str, version: str) -> Needs:
        """Return what a release requires of others in certain versions, as its table has it."""
        return next((needs for other, _, needs in self._of(name) if other == version), ())

    def _beside(self, name: str) -> tuple[str, ...]:
        """Return the distributions that some release of one requires in a certain version."""
        if name not in self._asked_by:
            mine = {other for _, _, needs in self._of(name) for other, _ in needs}
            self._asked_by[name] = tuple(sorted(mine))
        return self._asked_by[name]

    def _fitting(
        self, name: str, python: str, wanted: tuple[str, ...], there: Mapping[str, str]
    ) -> Iterator[Choice]:
        for version, needs in self._for_python(name, python):
            fits = all(accepts(each, version) for each in wanted)
            if fits and all(accepts(each, there.get(other, "")) for other, each in needs):
                asked = f"{name}=={version}"
                if asked not in self._offers:
                    self._offers[asked] = offer(asked)
                if (choice := self._offers[asked]) is not None:
                    yield choice

    def _for_python(self, name: str, python: str) -> list[tuple[str, Needs]]:
        """Return the releases for a Python, newest first, and what each requires."""
        asked = (name, python)
        if asked not in self._pythons:
            self._pythons[asked] = [
                (version, needs)
                for version, pythons, needs in self._of(name)
                if not pythons or is_in_specifier(python, known(pythons))
            ]
        return self._pythons[asked]

    def is_elsewhere(self, choice: Choice, environment: Environment) -> bool:
        """Return whether an exact release that is known is for other Pythons or platforms alone."""
        name, wanted = choice.distribution, (choice.requirement.removeprefix(choice.distribution),)
        return self.has(name, wanted[0]) and not self.fitting(name, environment, wanted, {})

    def knows(self, name: str) -> bool:
        """Return whether any release of a distribution is known."""
        return bool(self._of(name))

    def computes(self, name: str) -> bool:
        """Return whether a distribution computes with torch, and does not require it itself."""
        return any(row.get("computes") is True for row in self.rows if row["package"] == name)

    def has(self, name: str, specifier: str) -> bool:
        """Return whether a release in a range is known, and none between those that are is not."""
        asked = (name, specifier)
        if asked not in self._whole:
            rows = [row for row in self.rows if row["package"] == name]
            is_sparse = any(row.get("sparse") is True for row in rows)
            self._whole[asked] = not is_sparse and any(
                accepts(specifier, version) for version, _, _ in self._of(name)
            )
        return self._whole[asked]

    def lists_all(self, name: str, specifier: str) -> bool:
        """Return whether all releases in a range are known: from its end below to the newest."""
        asked = (name, specifier)
        if asked not in self._all:
            sparse = (
                version
                for row in self.rows
                if row["package"] == name and row.get("sparse") is True
                for version in cell_words(row["version"])
            )
            known = self.reaches(name, specifier) and not accepts(specifier, "0")
            self._all[asked] = known and not any(accepts(specifier, each) for each in sparse)
        return self._all[asked]

    def newest_in(self, name: str, specifier: str) -> str:
        """Return the newest known release of a distribution in a range, "" for none."""
        versions = (version for version, _, _ in self._of(name))
        return next((version for version in versions if accepts(specifier, version)), "")

    def brought(self, name: str, specifier: str) -> tuple[Choice, ...]:
        """Return the release that an installer brings of what is missing: the last of its range.

        Of a range without an end nothing is told: an older release may be the one that fits.
        """
        asked = f"{name}{specifier}"
        if asked not in self._brought:
            found = newest_in(name, specifier, "")
            self._brought[asked] = () if found is None or not is_told(found) else (found,)
        return self._brought[asked]

    def reaches(self, name: str, specifier: str) -> bool:
        """Return whether some known release of a distribution is in a range."""
        return bool(self.newest_in(name, specifier))

    def unlisted(self, name: str, specifier: str) -> Choice | None:
        """Return the one release that a range names, where it is in no table; else None."""
        is_one = specifier.startswith("==") and "," not in specifier and "*" not in specifier
        return offer(f"{name}{specifier}") if is_one and not self.reaches(name, specifier) else None

    def begins(self, name: str) -> str:
        """Return the oldest release of a distribution that is known, "" for none."""
        return self._of(name)[-1][0] if self._of(name) else ""

    def closure(self, name: str) -> frozenset[str]:
        """Return a distribution, what its newest release requires by name, and what those do."""
        found: set[str] = set()
        open_ = [name]
        while open_:
            asker = open_.pop()
            if asker not in found:
                found.add(asker)
                for version, _, _ in self._of(asker)[:1]:
                    open_ += self.needs(asker, version)
        return frozenset(found)

    def needs(self, name: str, version: str, platform: str = "") -> dict[str, str]:
        """Return what a release requires of others in certain versions, on a platform."""
        asked = (name, version, platform)
        if asked not in self._needs:
            self._needs[asked] = self._needed(name, version, platform)
        return self._needs[asked]

    def _needed(self, name: str, version: str, platform: str) -> dict[str, str]:
        """Return what `needs` keeps."""
        own = self._library_of(version) if name == TRANSFORMERS else {}
        for other, _, needs in self._of(name):
            if other == version:
                return self.published.required(name, version, dict(needs), platform) | own
        return own

    def declared(self, name: str, version: str) -> dict[str, str]:
        """Return what a release requires of packages that no plan decides about, where known."""
        asked = (name, version)
        if asked not in self._told:
            self._told[asked] = {
                other: specifier
                for row in self._declaring(name)
                if is_in(version, str(row["version"])) is True
                for other, specifier in _needs(row.get("requires"))
            }
        return self._told[asked]

    def refuses(self, name: str, here: str, needs: str, found: str) -> bool:
        """Return whether what is found of another is in no declared range, of `here` and later."""
        later = [
            dict(_needs(row.get("requires"))).get(needs, "")
            for row in self._declaring(name)
            if not is_impossible((str(row["version"]), f">={here}"))
        ]
        return bool(later) and not any(accepts(specifier, found) for specifier in later)

    def _declaring(self, name: str) -> list[Row]:
        """Return the rows that say what releases of a distribution declare."""
        if not self._declared:
            for row in self.matrix.tables["declared-requirements"].rows:
                for each in cell_words(row["package"]):
                    self._declared.setdefault(each, []).append(row)
        return self._declared.get(name, [])

    def _library_of(self, transformers: str) -> dict[str, str]:
        """Return the huggingface-hub that a transformers requires."""
        keys = {"version": Known(transformers, "asked")}
        cell = self.matrix.find("transformers-hub-library", keys).cell("needs")
        return (
            dict.fromkeys(MOVE_ALONG[TRANSFORMERS], str(cell.value))
            if isinstance(cell, Known)
            else {}
        )

    def _of(self, name: str) -> list[tuple[str, str, Needs]]:
        """Return version, Pythons and requirements of each release, newest first."""
        if name not in self._releases:
            refused = uninstallable(self.matrix, name)
            found = [
                (version, str(row.get("python") or ""), _needs(row.get("requires")))
                for row in self.rows
                if row["package"] == name
                for version in cell_words(row["version"])
                if version not in refused
            ]
            found.sort(key=lambda release: version_key(release[0]), reverse=True)
            self._releases[name] = found
        return self._releases[name]


def _needs(cell: object) -> Needs:
    found = map(asked_for, cell_words(cell))
    return tuple((each.name, each.specifier) for each in found if each is not None)
