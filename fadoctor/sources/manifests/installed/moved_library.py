"""Libraries that a later command moves out of what an earlier package compares at its import."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.declared import declared, import_bounds
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import is_in, is_older, parse_specifier, version_key
from fadoctor.model.fact import Absent, Fact, Known, fact_text, printable
from fadoctor.model.packages import NUMPY, TORCH, package_of
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.installed.planned_torch import is_pypi
from fadoctor.sources.manifests.installed.range_ends import has_end
from fadoctor.sources.manifests.planned import speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined
    from fadoctor.sources.manifests.planned import Manifest, Requirement

MOVED_LIBRARY, MOVED_LIBRARY_BOUND = "packages.moved_library", "packages.moved_library_bound"
_SOURCE = "the tables of requirements, and the order of the commands"
_DECLARED, _PYTHONS = "declared-requirements", "release-pythons"
_CHECKS, _BRINGS, _BOUNDS = "requirement-checks", "may-bring", "may-bound"
_NO_FACT = Absent("not read")

_NUMPY_1, _OF_NUMPY_2 = "<2", "2.3"
"""What torch before its release 2.3 can use of NumPy, as rule numpy-torch-abi has it."""
_WITH_NUMPY_2 = "3.9"
"""The first Python for which NumPy 2 has releases."""

_COMPARES = "refuses to be imported without"
_IMPORTS = "asks at import for names of"
_COMPILED = "was compiled for"

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


def with_pins_undone(
    manifests: Iterable[Manifest],
    combined: Combined,
    facts: Mapping[str, Fact],
    matrix: Matrix,
) -> Combined:
    """Return the same without the pins of libraries that a later command replaces.

    What comes then is no longer bound by them: an installer does not look at what it replaces.
    """
    found: dict[str, str] = {}
    for manifest in manifests:
        if manifest.is_in_steps and not any(map(speaks_of_image, manifest.notes)):
            for asker, _, library, _ in _Steps(manifest, combined, facts, matrix).moved():
                found.setdefault(library, asker)
    undone = {
        name: msgspec.structs.replace(
            combined.packages[name],
            version="",
            specifier="",
            open=f"a later command that installs {asker} replaces it",
        )
        for name, asker in found.items()
        if name in combined.packages and not package_of(name)
    }
    return msgspec.structs.replace(combined, packages={**combined.packages, **undone})


class _Steps:
    """The commands of one file."""

    def __init__(
        self, manifest: Manifest, combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
    ) -> None:
        self.asked = [each for each in manifest.requirements if each.command]
        self.bounds = combined.bounds.keys()
        self.aside = combined.packages.keys() - {each.name for each in self.asked}
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
            if asker.is_upgraded and version:
                needs[asker.name] = f">={version}"
            for there in self.asked if needs else ():
                for library, own, how in self._checked(there, asker):
                    needed = needs.get(library, "")
                    if not needed or not is_impossible((own, needed)):
                        continue
                    if self._is_new(asker) and self._stays(there, asker, (library, needed), how):
                        takes = f"{library}{needed}"
                        if library != asker.name:
                            takes = f"{asker.name} {version} requires {takes}"
                        what = f"({asker.place}: {takes}, and {there.name} of {there.place}"
                        yield asker.name, f"{what} {how} {library}{own})", library, own

    def _checked(self, there: Requirement, asker: Requirement) -> Iterator[tuple[str, str, str]]:
        """Yield what an earlier package needs of a library in which no later command has a say."""
        if there.command >= asker.command or there.url or there.marker or there.doubt:
            return
        found = self.facts.get(f"{package_of(there.name)}.version", _NO_FACT)
        version = exact_version(there.specifier) or fact_text(found, "")
        for library, own, how in self._needed(there.name, version) if version else ():
            if self._is_free(library, asker):
                yield library, own, how

    def _needed(self, name: str, version: str) -> Iterator[tuple[str, str, str]]:
        """Yield what a release needs of libraries, in which releases, and how it does so."""
        keys = {"package": Known(name, "asked"), "version": Known(version, "asked")}
        needs = declared(name, version, self.matrix, self.python)
        for library in cell_words(_value(self.matrix.find(_CHECKS, keys).cell("checks"))):
            if library in needs:
                yield library, needs[library], _COMPARES
        for library, fits in import_bounds(name, version, self.matrix).items():
            if has_end(fits) and not package_of(library):
                yield library, fits, _IMPORTS
        comes = bool(self.python) and is_older(self.python, _WITH_NUMPY_2) is False
        is_old = name == TORCH and is_older(version, _OF_NUMPY_2)
        if is_old and comes and self._is_held(NUMPY):
            yield NUMPY, _NUMPY_1, _COMPILED

    def _is_held(self, library: str) -> bool:
        """Return whether a command keeps a library from its newest release: it is meant."""
        return any(e.name == library and has_end(e.specifier) for e in self.asked)

    def _is_free(self, library: str, asker: Requirement) -> bool:
        """Return whether what a command requires of a library comes, whatever was named before."""
        if library in self.bounds or library in self.aside:
            return False
        return all(
            max(e.command, e.last_command) < asker.command
            or (e is asker and e.is_upgraded and not e.specifier)
            for e in self.asked
            if e.name == library
        )

    def _is_new(self, asker: Requirement) -> bool:
        """Return whether nothing brings a package before its command, or that takes the newest.

        A package that no table knows brings neither datasets nor diffusers.
        """
        before = [each for each in self.asked if each.command < asker.command]
        comes = (self._is_brought(asker.name, each, unknown=False) for each in before)
        return asker.is_upgraded or not any(comes)

    def _stays(
        self, there: Requirement, asker: Requirement, moved: tuple[str, str], how: str
    ) -> bool:
        """Return whether nothing puts a library right again.

        What has the earlier package in its requirements does so where that one requires it, and a
        package that no table knows may. What it needs without a word, nobody looks at.
        """
        after = [each for each in self.asked if each.command >= asker.command]
        if how == _COMPARES:
            return not any(self._is_brought(there.name, each, unknown=True) for each in after)
        return not any(self._takes_back(each, *moved) for each in after if each is not asker)

    def _takes_back(self, asked: Requirement, library: str, needed: str) -> bool:
        """Return whether a package may require an older release of a library than what came."""
        version = exact_version(asked.specifier) or self._newest(asked)
        needs = declared(asked.name, version, self.matrix, self.python) if version else {}
        if library in needs:
            return is_impossible((needs[library], needed))
        key = {"package": Known(asked.name, "asked")}
        is_known = bool(needs or package_of(asked.name))
        return not (is_known or any(self.matrix.find(t, key).rows for t in (_BRINGS, _BOUNDS)))

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
