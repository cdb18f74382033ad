"""The versions of packages that the tables list, and what each of them requires of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.installable import uninstallable
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.knowledge.matrix.versions import (
    parse_specifier,
    parse_version,
    version_key,
    version_part,
)
from fadoctor.knowledge.matrix.wheels import TRITON_WINDOWS
from fadoctor.model.fact import Fact, Known, Unknown, fact_mapping
from fadoctor.model.packages import (
    BESIDE_TORCH,
    PACKAGES,
    RELEASE_TABLES,
    RELEASES,
    TORCH,
    XFORMERS,
)
from fadoctor.repair.plan.choices.released import is_in_specifier
from fadoctor.repair.plan.choices.releases import python_of
from fadoctor.repair.plan.choices.wheel_facts import known
from fadoctor.repair.resolution.helper_releases import HelperReleases
from fadoctor.sources.manifests.installed.combine import Combined, Planned
from fadoctor.sources.manifests.installed.markers import Markers
from fadoctor.sources.manifests.installed.package_facts import Facts
from fadoctor.sources.probes.requires import marker_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment

_NOT_LISTED = ("", "other", "rocm")
"""Builds of torch of which no table says what they are made of; "" where none is known."""
_LABELLED = ("linux_x86_64", "win_amd64")
"""Platforms on which companions have the label of their index."""
_OTHER_TABLES = {TRITON_WINDOWS: "triton-windows-releases"}
"""Distributions that come in place of a package's own, with a table of their releases."""
_BUILD = ("torch.build", "torch.cuda", "torch.hip", "torch.cxx11_abi")


class Versions:
    """Releases for one planned environment."""

    def __init__(self, environment: Environment, matrix: Matrix) -> None:
        """Take the environment, whose platform and Python decide what can be installed."""
        self.environment, self.matrix = environment, matrix
        self._markers = Markers(marker_target(environment.facts))
        self._helpers = HelperReleases.of_matrix(matrix, python_of(environment))
        platform = _text(environment, "host.platform")
        self._place = InstalledWhere(platform, python_of(environment))
        self._ready_made = ReadyMadeFiles.of(matrix)
        self._files = self._ready_made.files_for(self._place)
        self._known: dict[str, tuple[str, ...]] = {}
        self._within: dict[tuple[str, str], tuple[str, ...]] = {}
        self._facts: dict[tuple[str, str], dict[str, Fact]] = {}

    def of(self, package: str, specifier: str) -> tuple[str, ...]:
        """Return the releases in a range, newest first; pre-releases only where nothing else is."""
        asked = (package, specifier)
        if asked not in self._within:
            self._within[asked] = self._found(package, specifier)
        return self._within[asked]

    def _found(self, package: str, specifier: str) -> tuple[str, ...]:
        if package not in self._known:
            served = self._served(package)
            self._known[package] = tuple(
                v
                for v in self._all(package)
                if (not served or v in served)
                and self._files.come(self._name_of(package), v) is not None
            )
        allowed = parse_specifier(specifier) if specifier else None
        if specifier and allowed is None:
            return ()
        listed = [v for v in self._known[package] if allowed is None or allowed.contains(v)]
        refused = uninstallable(self.matrix, self._name_of(package))
        # where none can be had that is told, and what they were is judged all the same
        found = [v for v in listed if v not in refused] or listed
        stable = [v for v in found if not (parsed := parse_version(v)) or not parsed.is_prerelease]
        return tuple(stable or found)

    def _served(self, package: str) -> set[str]:
        """Return the releases in the one build that its index serves; none where all may come."""
        build = self.environment.builds.get(PACKAGES[package][0])
        table = self.matrix.tables.get("torch-builds")
        if not build or table is None:
            return set()
        platform = _text(self.environment, "host.platform")
        torches = {
            version
            for row in table.rows
            if build in cell_words(row["build"]) and platform in cell_words(row["platform"])
            for version in cell_words(row["version"])
        }
        if package == TORCH:
            return torches
        rows = self.matrix.tables["torch-companions"].rows
        companions = (row.get(package) for row in rows if row[TORCH] in torches)
        return {str(each) for each in companions if each}

    def _all(self, package: str) -> tuple[str, ...]:
        of_its_own = _OTHER_TABLES.get(self._name_of(package), "")
        table = self.matrix.tables.get(of_its_own or RELEASE_TABLES.get(package, ""))
        if table is None:
            return self._helpers.of(package)
        platform = _text(self.environment, "host.platform")
        python = python_of(self.environment)
        found: dict[str, None] = {}
        for row in table.rows:
            elsewhere = "platform" in row and platform not in cell_words(row["platform"])
            unpublished = row.get("on_pypi") is False or row.get("yanked") is True
            is_for_it = _is_for(TORCH if of_its_own else package, row, python)
            if not (elsewhere or unpublished) and is_for_it:
                found |= dict.fromkeys(cell_words(row["version"]))
        return tuple(sorted(found, key=version_key, reverse=True))

    def _name_of(self, package: str) -> str:
        """Return the distribution of a package that comes: triton-windows, where files ask so."""
        asked = _text(self.environment, f"{package}.distribution")
        return asked if asked in _OTHER_TABLES else PACKAGES[package][0]

    def facts(self, package: str, version: str) -> dict[str, Fact]:
        """Return the facts of a release; torch's build is what the files say of its index."""
        asked = (package, version)
        if asked not in self._facts:
            self._facts[asked] = self._made(package, version)
        return self._facts[asked]

    def _made(self, package: str, version: str) -> dict[str, Fact]:
        name = self._name_of(package)
        build = _text(self.environment, "torch.build") if package == TORCH else ""
        if package in BESIDE_TORCH and _text(self.environment, "host.platform") in _LABELLED:
            build = self.environment.builds.get(name, "")  # what was published with it, likewise
        label = f"+{build}" if build == "cpu" or build.startswith("cu") else ""
        places = self.environment.places.get(f"{package}.version", ())
        manager = _text(self.environment, f"{package}.installer")
        manager = manager if manager == "conda" else ""
        planned = Planned(name, places, version + label, kind="a resolver", manager=manager)
        make = Facts(_NOTHING, self.environment.facts, self.matrix, self._markers)
        found = make.of(package, planned)
        if package == TORCH and build in _NOT_LISTED:
            # conda's builds and AMD's are none of PyPI's, whatever their version
            here = {n: self.environment.fact(n) for n in _BUILD}
            found |= {n: fact for n, fact in here.items() if build or isinstance(fact, Unknown)}
            found["torch.requires"] = Unknown("its build is not known", planned.source)
        if package == XFORMERS and version_part(_text(self.environment, "vllm.version"), "local"):
            # vLLM's builds for one CUDA are installed with that index, as its Dockerfile does
            found["xformers.direct_url"] = Unknown("its file may be that of the index", name)
        return found

    def has_file(self, package: str, version: str) -> bool:
        """Return whether a release has a wheel here, as far as the tables know."""
        return self._files.come(self._name_of(package), version) is True

    def is_served(self, package: str, version: str) -> bool:
        """Return whether a release has a file here, or sources that serve, or may have."""
        return self._ready_made.is_served(self._name_of(package), version, self._place)

    def excludes_python(self, package: str, version: str) -> bool:
        """Return whether the tables know a release, and no row of its is for this Python."""
        if self.is_helper(package):
            return self._helpers.excludes(package, version)
        table = self.matrix.tables[RELEASE_TABLES[package]]
        python = python_of(self.environment)
        own = [row for row in table.rows if version in cell_words(row["version"])]
        return bool(own) and not any(_is_for(package, row, python) for row in own)

    def is_read(self, package: str, version: str, *, of_conda: bool = False) -> bool:
        """Return whether the tables decide about a release: it has a file, and its needs are known.

        Sources are compiled, by some installers, and passed over by others: of what bounds nothing
        that is nobody's matter. `of_conda`: whether conda brings it, whose packages name a torch
        where the metadata of a wheel do not.
        """
        bounds_nothing = self.is_helper(package) and not self.requires(package, version)
        if not (bounds_nothing or self.has_file(package, version)):
            return False
        if package == TORCH or package not in RELEASES:
            return True
        needs = self.facts(package, version)[f"{package}.requires"]
        is_known = not isinstance(needs, Unknown)
        return is_known or (not of_conda and self._is_undeclared(package, version))

    def _is_undeclared(self, package: str, version: str) -> bool:
        """Return whether its metadata were read and name no torch: it comes beside any."""
        rows = self.matrix.find(RELEASE_TABLES[package], {"version": Known(version, "asked")})
        cell = rows.cell("undeclared")
        return isinstance(cell, Known) and cell.value is True

    def requires(self, package: str, version: str) -> dict[str, str]:
        """Return what a release requires of other packages, as far as tables say it.

        "" is a release that is left open: it requires nothing that is known.
        """
        if not version:
            return {}
        if package not in RELEASE_TABLES:
            return self._helpers.requires(package, version)
        return fact_mapping(self.facts(package, version)[f"{package}.requires"])

    def is_helper(self, package: str) -> bool:
        """Return whether a package has no table of its own: little is known of its requirements."""
        return package not in RELEASE_TABLES


def _is_for(package: str, row: Row, python: str) -> bool:
    """Return whether an installer takes a release for a Python; of some it builds the sources."""
    cell = row.get("python")
    if not python or not isinstance(cell, str) or package not in (TORCH, *RELEASES):
        return True
    if cell[0].isdigit():  # those that have a wheel
        return python in cell.split()
    return is_in_specifier(python.rstrip("t"), known(cell))


_NOTHING = Combined({}, {}, is_complete=False)


def _text(environment: Environment, name: str) -> str:
    fact = environment.fact(name)
    return str(fact.value) if isinstance(fact, Known) else ""


def package_of(names: Mapping[str, str]) -> dict[str, str]:
    """Return requirements by the prefix of the package's facts; others are left out."""
    prefixes = {name: key for key, each in PACKAGES.items() for name in each}
    return {prefixes[name]: text for name, text in names.items() if name in prefixes}
