"""The releases of packages that the tables list: what each requires, and what goes with a torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.installable import uninstallable
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.knowledge.matrix.requirement_parser import asked_for
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import Absent, Known, fact_mapping
from fadoctor.model.packages import (
    BESIDE_TORCH,
    COMPILED_BESIDE,
    FRAMEWORK_TABLE,
    FRAMEWORKS,
    PLANNED,
    RELEASES,
    TABLED_FRAMEWORKS,
    TORCH,
    XFORMERS,
    package_of,
)
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, distribution_of
from fadoctor.repair.plan.choices.indexes import PYPI
from fadoctor.repair.plan.choices.later_bounds import as_later_ones
from fadoctor.repair.plan.choices.released import accepts, is_in_specifier, released
from fadoctor.repair.plan.choices.wheel_facts import known, text_of
from fadoctor.repair.plan.states.compiled import AFTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.indexes import Indexes

_DECIDING = (
    "torch.version", "torch.build", "python.version", "python.abi_tag", "host.platform",
)  # fmt: skip
"""Facts that decide which releases fit."""

_MOST_BUILT = "linux_x86_64"
"""The platform on which each release of torch has a build with CUDA."""


def drawn_in(packages: Iterable[str]) -> set[str]:
    """Return the packages with a table of releases that releases of others can require."""
    needed = {name for package in packages for name in RELEASES.get(package, ("", {}))[1].values()}
    return {package_of(name, name) for name in needed} & RELEASES.keys()


class Releases:
    """The releases of one knowledge base; it keeps what it has looked up."""

    def __init__(self, matrix: Matrix, indexes: Indexes) -> None:
        """Take the matrix, and what is known of the indexes with builds of torch."""
        self.matrix = matrix
        self.indexes = indexes
        self.published = ReadyMadeFiles.of(matrix)
        self._all: dict[str, tuple[Choice, ...]] = {}
        self._asked: dict[tuple[str, ...], tuple[Choice, ...]] = {}
        self._come: dict[tuple[str, str, InstalledWhere], bool] = {}
        self._had: dict[tuple[str, str, InstalledWhere], Choice | None] = {}

    def fitting(self, package: str, environment: Environment) -> tuple[Choice, ...]:
        """Return the releases of a package that ask for the environment's torch, newest first."""
        if package not in PLANNED:
            return ()
        if isinstance(environment.fact("torch.version"), Absent):
            return ()  # all of them are for some torch
        asked = (package, *(text_of(environment, name) for name in _DECIDING))
        if asked not in self._asked:
            self._asked[asked] = tuple(self._fitting(package, environment))
        return self._asked[asked]

    def _fitting(self, package: str, environment: Environment) -> list[Choice]:
        torch, python = text_of(environment, "torch.version"), python_of(environment)
        if package in COMPILED_BESIDE and not self._has_cuda_of_pypi(torch, environment):
            return []
        place = InstalledWhere(text_of(environment, "host.platform"), python.rstrip("t"))
        fits = (
            choice
            for choice in self.every(package)
            if accepts(fact_mapping(choice.facts[f"{package}.requires"])[TORCH], torch)
            and is_in_specifier(python.rstrip("t"), choice.facts.get(f"{package}.requires_python"))
            and (not choice.pythons or python in choice.pythons)
        )
        had = (self._to_be_had(choice, place) for choice in fits)
        found = [choice for choice in had if choice is not None]
        if package in BESIDE_TORCH:
            found = [
                self._built_like_torch(choice, environment)
                for choice in found
                if not self._is_for_other_cuda(choice, environment)
            ]
        return found

    def _to_be_had(self, choice: Choice, place: InstalledWhere) -> Choice | None:
        """Return a release with what it requires in a place; None where it cannot be had there.

        Each torch asks again for most of them.
        """
        asked = (choice.package, choice.version, place)
        if asked not in self._had:
            self._had[asked] = self._had_in(choice, place)
        return self._had[asked]

    def _had_in(self, choice: Choice, place: InstalledWhere) -> Choice | None:
        """Return what `_to_be_had` keeps."""
        fact, name = f"{choice.package}.requires", distribution_of(choice.package)
        needs = fact_mapping(choice.facts[fact])
        here = self.published.required(name, choice.version, needs, place.platform)
        is_whole = all(self._comes(other, text, place) for other, text in here.items())
        if not (is_whole and self.published.can_be_had(name, choice.version, here, place)):
            return None
        if len(here) == len(needs):
            return choice
        return msgspec.structs.replace(choice, facts={**choice.facts, fact: Known(here, AFTER)})

    def _comes(self, name: str, specifier: str, place: InstalledWhere) -> bool:
        """Return whether an installer gets a release that is asked for, or nobody knows which."""
        asked = (name, specifier, place)
        if asked not in self._come:
            table, _ = RELEASES.get(package_of(name, ""), ("", {}))
            rows = self.matrix.tables[table].rows if table else ()
            versions = (v for row in rows for v in cell_words(row["version"]))
            among = [version for version in versions if accepts(specifier, version)]
            served = (self.published.is_served(name, version, place) for version in among)
            self._come[asked] = any(served) or not among
        return self._come[asked]

    def _is_for_other_cuda(self, choice: Choice, environment: Environment) -> bool:
        """Return whether PyPI's file is for another CUDA, and no other file is known to be there.

        Several releases of torch share such a release: with which builds it was published is not
        told.
        """
        build, mine = text_of(environment, "torch.build"), environment.fact("torch.cuda")
        if self.published_with(choice.package, choice.version) or build in ("", PYPI):
            return False
        platform = text_of(environment, "host.platform")
        theirs = self._cuda_of_file(choice.package, choice.version, platform)
        return (
            bool(theirs)
            and isinstance(mine, Known)
            and (theirs != version_part(str(mine.value), "major"))
        )

    def _cuda_of_file(self, package: str, version: str, platform: str) -> str:
        """Return the CUDA major whose library PyPI's file loads, "" where nobody has read it.

        The column is read from the files for Linux on x86-64; a Mac's load none.
        """
        if platform != _MOST_BUILT:
            return ""
        keys = {"version": Known(version_part(version, "base") or version, "asked")}
        cell = self.matrix.find(f"{package}-releases", keys).cell("cuda")
        return str(cell.value) if isinstance(cell, Known) else ""

    def every(self, package: str) -> tuple[Choice, ...]:
        """Return all releases of a package, newest first."""
        if package not in self._all and package in TABLED_FRAMEWORKS:
            self._all[package] = tuple(self._frameworks(package))
        if package not in self._all:
            table, columns = RELEASES[package]
            rows = {
                v: row for row in self.matrix.tables[table].rows for v in cell_words(row["version"])
            }
            refused = uninstallable(self.matrix, distribution_of(package))
            order = sorted(rows.keys() - refused, key=version_key, reverse=True)
            found = (
                self._choice(package, version, rows[version], age, columns)
                for age, version in enumerate(order)
                # a blank: nobody knows what it requires, so nothing proves that it fits
                if columns.keys() <= rows[version].keys()
            )
            needs = f"{package}.requires"
            every = tuple(c for c in found if TORCH in fact_mapping(c.facts[needs]))
            self._all[package] = tuple(as_later_ones(every)) if package in FRAMEWORKS else every
        return self._all[package]

    def _frameworks(self, package: str) -> Iterator[Choice]:
        """Yield the releases of a framework, newest first, by what their metadata require."""
        name = distribution_of(package)
        refused = uninstallable(self.matrix, name)
        rows = {
            version: row
            for row in self.matrix.tables[FRAMEWORK_TABLE].rows
            if row["package"] == name
            for version in cell_words(row["version"])
            if version not in refused
        }
        for age, version in enumerate(sorted(rows, key=version_key, reverse=True)):
            found = map(asked_for, cell_words(rows[version].get("requires")))
            needs = {each.name: each.specifier for each in found if each is not None}
            if package not in COMPILED_BESIDE:
                needs.setdefault(TORCH, "")  # older releases have it in an extra
            if TORCH in needs:
                facts = released(package, version)
                facts[f"{package}.requires"] = Known(needs, AFTER)
                if isinstance(rows[version].get("python"), str):
                    facts[f"{package}.requires_python"] = known(rows[version]["python"])
                yield Choice(package, ChoiceKind.INSTALL, version, version, f"{name}=={version}",
                             facts=facts, age=age)  # fmt: skip

    def drawn_by_frameworks(self, packages: Iterable[str]) -> tuple[str, ...]:
        """Return the packages with a table that releases of some frameworks require."""
        needed = {
            name
            for package in packages
            for choice in self.every(package)
            for name in fact_mapping(choice.facts[f"{package}.requires"])
        }
        return tuple(sorted({package_of(name, name) for name in needed} & {*PLANNED}))

    def _choice(
        self, package: str, version: str, row: Row, age: int, columns: dict[str, str]
    ) -> Choice:
        requires = {
            name: str(row[column])
            for column, name in columns.items()
            if isinstance(row.get(column), str)
        }
        requires |= dict.fromkeys(cell_words(row.get("others")), "")
        facts = released(package, version)
        facts[f"{package}.requires"] = Known(requires, AFTER)
        pythons: tuple[str, ...] = ()
        if package in BESIDE_TORCH:
            pythons = tuple(cell_words(row.get("python")))
        elif isinstance(row.get("python"), str):
            facts[f"{package}.requires_python"] = known(row["python"])
        if package == XFORMERS:
            facts["xformers.extension"] = known("_C.so")
            pythons = tuple(cell_words(row.get("wheels_for")))
        requirement = f"{distribution_of(package)}=={version}"
        return Choice(
            package, ChoiceKind.INSTALL, version, version, requirement,
            facts=facts, age=age, pythons=pythons,
        )  # fmt: skip

    def _built_like_torch(self, choice: Choice, environment: Environment) -> Choice:
        """Return the build of a release that goes with the build of torch.

        PyPI's own where one file is for several releases of torch: no source says which indexes
        have it. Of others of which nobody knows the index and the installer decide.
        """
        build = text_of(environment, "torch.build")
        platform = text_of(environment, "host.platform")
        index = self.indexes.of(build)
        if not index or platform.startswith("macosx"):  # PyPI's files for a Mac are the only ones
            return choice
        version = choice.version
        if not (published := self.published_with(choice.package, version)):
            return choice
        its = (build, published)
        where = (*its, platform)
        if self.indexes.has(*where) and not self.indexes.is_plain(*where):
            version = f"{version}+{build}"
        facts = {**choice.facts, f"{choice.package}.version": known(version)}
        requirement = f"{distribution_of(choice.package)}=={version}"
        return msgspec.structs.replace(
            choice, key=version, version=version, requirement=requirement, index=index, facts=facts
        )

    def published_with(self, package: str, version: str) -> str:
        """Return the torch that a release was published with, "" where that is not known."""
        keys = {"version": Known(version_part(version, "base") or version, "asked")}
        cell = self.matrix.find(f"{package}-releases", keys).cell("with")
        return str(cell.value) if isinstance(cell, Known) else ""

    def _has_cuda_of_pypi(self, torch: str, environment: Environment) -> bool:
        """Return whether a torch has the CUDA major of its build on PyPI, or nobody knows.

        What is compiled beside a build of PyPI's without CUDA has the CUDA of its build for x86_64.
        """
        base, platform = version_part(torch, "base") or "", text_of(environment, "host.platform")
        builds = (self.indexes.cuda_of(PYPI, base, each) for each in (platform, _MOST_BUILT))
        there, mine = next(filter(None, builds), ""), environment.fact("torch.cuda")
        if text_of(environment, "torch.build") == "cpu":
            return not there
        if not there or not isinstance(mine, Known):
            return True
        return version_part(there, "major") == version_part(str(mine.value), "major")

    def goes_with_torch(self, package: str, environment: Environment) -> bool:
        """Return whether an installed torchvision or torchaudio is for this torch and its CUDA.

        True where nobody knows better.
        """
        version, torch = (text_of(environment, f"{p}.version") for p in (package, TORCH))
        base = version_part(version, "base")
        if not base or not torch or text_of(environment, "torch.build") in ("", "other", "rocm"):
            return True
        keys = {"version": Known(base, "asked")}
        wanted = self.matrix.find(f"{package}-releases", keys).cell(TORCH)
        if isinstance(wanted, Known) and not accepts(str(wanted.value), torch):
            return False
        needs = fact_mapping(environment.fact(f"{package}.requires"))
        if not accepts(needs.get(TORCH, ""), torch):
            return False
        platform, build = text_of(environment, "host.platform"), text_of(environment, "torch.build")
        if self.indexes.is_plain(build, version_part(torch, "base") or "", platform):
            return True
        theirs = self._cuda_of(package, version, platform)
        mine = environment.fact("torch.cuda")
        if theirs is None or not isinstance(mine, (Known, Absent)):
            return True
        major = version_part(str(mine.value), "major") if isinstance(mine, Known) else ""
        return (version_part(theirs, "major") or "") == (major or "")

    def has_other_abi(self, package: str, environment: Environment) -> bool:
        """Return whether a build is of a torch that is known to have the other C++ string ABI."""
        version = text_of(environment, f"{package}.version")
        keys = {
            "version": self.published_with(package, version),
            "build": version_part(version, "local") or PYPI,
            "platform": text_of(environment, "host.platform"),
        }
        asked = {name: Known(value, "asked") for name, value in keys.items()}
        theirs = self.matrix.find("torch-builds", asked).cell("cxx11_abi")
        mine = environment.fact("torch.cxx11_abi")
        return isinstance(theirs, Known) and isinstance(mine, Known) and theirs.value != mine.value

    def _cuda_of(self, package: str, version: str, platform: str) -> str | None:
        """Return the CUDA of a build, "" for a CPU build, None where it is not known."""
        build = version_part(version, "local") or PYPI
        if build == PYPI and (read := self._cuda_of_file(package, version, platform)):
            return read
        return self.indexes.cuda_of(build, self.published_with(package, version), platform)


def python_of(environment: Environment) -> str:
    """Return the Python as tables write it: ``3.12``, ``3.13t``."""
    minor = version_part(text_of(environment, "python.version"), "minor") or ""
    return minor + ("t" if text_of(environment, "python.abi_tag").endswith("t") else "")
