"""Libraries that a later command moves out of what an earlier package compares at its import."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_in, parse_specifier, version_key
from fadoctor.model.fact import Absent, Fact, Known, fact_text, printable
from fadoctor.model.packages import package_of
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.installed.planned_torch import is_pypi
from fadoctor.sources.manifests.planned import speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined
    from fadoctor.sources.manifests.planned import Manifest, Requirement

MOVED_LIBRARY, MOVED_LIBRARY_BOUND = "packages.moved_library", "packages.moved_library_bound"
_SOURCE = "the tables of requirements, and the order of the commands"
_DECLARED, _PYTHONS = "declared-requirements", "release-pythons"
_CHECKS, _BRINGS = "requirement-checks", "may-bring"
_NO_FACT = Absent("not read")

# >=5.0.0,<5.3
_BEGINS = re.compile(r">=(\d[\w.]{0,30})")


def moved_library_facts(
    manifests: Iterable[Manifest],
    combined: Combined,
    facts: Mapping[str, Fact],
    matrix: Matrix,
) -> dict[str, Fact]:
    """Return what later commands install whose requirements an earlier package refuses.

    pip and uv heed what a command names and what that requires, and not what is installed beside.
    Only where nothing is unknown: what is there before, what comes with each command, and that no
    later one has the earlier package in its requirements, which puts the library right again.
    """
    told: dict[str, str] = {}
    bounds: dict[str, str] = {}
    for manifest in manifests:
        if manifest.is_in_steps and not any(map(speaks_of_image, manifest.notes)):
            steps = _Steps(manifest, combined, facts, matrix)
            for asker, what, library, bound in steps.moved():
                told.setdefault(asker, printable(what, 300))
                bounds.setdefault(library, bound)
    words = " ".join(f"{name}{bound}" for name, bound in bounds.items())
    return {
        MOVED_LIBRARY: Known(told, _SOURCE),
        MOVED_LIBRARY_BOUND: Known(printable(words, 300), _SOURCE) if words else Absent(_SOURCE),
    }


class _Steps:
    """The commands of one file."""

    def __init__(
        self, manifest: Manifest, combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
    ) -> None:
        self.asked = [each for each in manifest.requirements if each.command]
        self.named = combined.packages.keys() | combined.bounds.keys()
        self.facts, self.matrix = facts, matrix
        python = fact_text(facts.get("python.version", _NO_FACT), "")
        self.python = ".".join(python.split(".")[:2])

    def moved(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield who moves a library, what happens in words, the library, and its bound."""
        first = min((each.command for each in self.asked), default=0)
        for asker in self.asked:
            is_elsewhere = asker.is_only_index and not is_pypi(asker.index)
            is_plain = not (asker.url or asker.marker or asker.doubt or is_elsewhere)
            if asker.command == first or not is_plain:
                continue
            version = exact_version(asker.specifier) or self._newest(asker)
            needs = declared(asker.name, version, self.matrix, self.python) if version else {}
            for there in self.asked if needs else ():
                for library, own in self._checked(there, asker):
                    needed = needs.get(library, "")
                    if needed and is_impossible((own, needed)) and self._stays(there, asker):
                        what = f"({asker.place}: {asker.name} {version} requires {library}{needed}"
                        other = f"{there.name} of {there.place} refuses to be imported without"
                        yield asker.name, f"{what}, and {other} {library}{own})", library, own

    def _checked(self, there: Requirement, asker: Requirement) -> Iterator[tuple[str, str]]:
        """Yield what an earlier package compares at its import and nobody names."""
        if there.command >= asker.command or there.url or there.marker or there.doubt:
            return
        found = self.facts.get(f"{package_of(there.name)}.version", _NO_FACT)
        version = exact_version(there.specifier) or fact_text(found, "")
        if not version:
            return
        keys = {"package": Known(there.name, "asked"), "version": Known(version, "asked")}
        needs = declared(there.name, version, self.matrix, self.python)
        for library in cell_words(_value(self.matrix.find(_CHECKS, keys).cell("checks"))):
            if library in needs and library not in self.named:
                yield library, needs[library]

    def _stays(self, there: Requirement, asker: Requirement) -> bool:
        """Return whether nothing brings the one before, nor the other one after.

        A package that no table knows brings neither datasets nor diffusers, but may have
        transformers in its requirements.
        """
        before = [each for each in self.asked if each.command < asker.command]
        after = [each for each in self.asked if each.command >= asker.command]
        if any(self._is_brought(asker.name, each, unknown=False) for each in before):
            return False
        return not any(self._is_brought(there.name, each, unknown=True) for each in after)

    def _is_brought(self, name: str, by: Requirement, *, unknown: bool) -> bool:
        """Return whether a package has another one in its requirements, at whatever depth.

        `unknown`: the answer for a package that no table lists.
        """
        version = exact_version(by.specifier) or self._newest(by)
        if by.name == name or name in declared(by.name, version, self.matrix, self.python):
            return True
        rows = self.matrix.find(_BRINGS, {"package": Known(by.name, "asked")})
        if rows.rows and not by.extras:
            return name in cell_words(_value(rows.cell("brings")))
        return unknown

    def _newest(self, asked: Requirement) -> str:
        """Return the first release that declares what the newest one declares, "" for none listed.

        The newest that the index has requires the same.
        """
        allowed = parse_specifier(asked.specifier) if asked.specifier else None
        if asked.specifier and allowed is None:
            return ""
        found = [
            version
            for row in self.matrix.tables[_DECLARED].rows
            if row["package"] == asked.name
            for version in _BEGINS.findall(str(row["version"]))
            if (allowed is None or allowed.contains(version))
            and self._is_for_python(asked.name, version)
        ]
        return max(found, key=version_key, default="")

    def _is_for_python(self, name: str, version: str) -> bool:
        keys = {"package": Known(name, "asked"), "version": Known(version, "asked")}
        python = _value(self.matrix.find(_PYTHONS, keys).cell("python"))
        return not (self.python and isinstance(python, str)) or is_in(self.python, python) is True


def _value(fact: Fact) -> object:
    return fact.value if isinstance(fact, Known) else None
