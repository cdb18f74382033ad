"""The facts of one planned package: what its files alone could show stays Unknown."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.published_files import TABLE
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.knowledge.matrix.required import required
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.knowledge.matrix.wheel_label import wheel_facts
from fadoctor.knowledge.matrix.wheel_words import tags_of
from fadoctor.model.catalogue import DERIVED, build_catalogue
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_text, printable
from fadoctor.model.packages import FLASH_ATTN, FRAMEWORK_TABLE, RELEASE_TABLES, TORCH, XFORMERS
from fadoctor.sources.manifests.installed.combine import CONDA_FIRST, admits
from fadoctor.sources.manifests.installed.lock_graph import needs_on
from fadoctor.sources.manifests.installed.planned_torch import is_conda, is_of_an_index, torch_facts
from fadoctor.sources.manifests.requirement_text import file_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined, Planned
    from fadoctor.sources.manifests.installed.markers import Markers

_OF_TABLES = "the tables of releases"
BY_SOURCES = f"matrix {TABLE}: sources alone"
"""Source of what nobody knows of a package that an installer compiles."""
NOT_YET = "not installed yet"


@cache
def names_of(package: str) -> tuple[str, ...]:
    """Return the facts that reading a package gives; what follows from them is derived later."""
    return tuple(
        name
        for name, spec in build_catalogue().items()
        if name.startswith(f"{package}.") and spec.provider not in (DERIVED, "later")
    )


def absent_facts(package: str, source: str) -> dict[str, Fact]:
    """Return that a package will not be there."""
    return dict.fromkeys(names_of(package), Absent(source))


def open_facts(package: str, reason: str, source: str) -> dict[str, Fact]:
    """Return that nobody knows whether, or in which version, a package will be there."""
    return dict.fromkeys(names_of(package), Unknown(printable(reason), printable(source)))


class Facts:
    """Makes the facts of packages for one target."""

    def __init__(
        self, combined: Combined, host: Mapping[str, Fact], matrix: Matrix, markers: Markers
    ) -> None:
        """Take what all files come to, and the facts of the machine that they are for."""
        self.combined, self.host, self.matrix, self.markers = combined, host, matrix, markers

    def of(self, package: str, planned: Planned) -> dict[str, Fact]:
        """Return the facts of a package in one version."""
        source = printable(planned.source)
        facts = open_facts(package, NOT_YET, source)
        version = _installed_version(package, planned)
        facts |= {
            f"{package}.version": Known(version, source),
            f"{package}.distribution": Known(planned.name, source),
            f"{package}.editable": Known(value=False, source=source),
            f"{package}.installer": _installer(planned, source),
            f"{package}.direct_url": Known(planned.url, source) if planned.url else Absent(source),
        }
        if package == TORCH:
            facts |= torch_facts(planned, self.combined, self.host, self.matrix)
        elif python := self._python(package, planned):
            facts[f"{package}.requires_python"] = Known(python, _OF_TABLES)
        facts |= self._file(package, planned)
        if package == XFORMERS and self._is_compiled(planned):
            facts["xformers.extension"] = Unknown("it is compiled, with what is there", BY_SOURCES)
        if package == XFORMERS and not planned.url and is_of_an_index(planned, self.combined):
            # The index has the same release for its own CUDA, and does not always label it.
            facts["xformers.direct_url"] = Unknown("its file may be that of the index", source)
        if package == FLASH_ATTN:
            facts |= _label(version, facts, source)
        facts[f"{package}.requires"] = self._requires(package, planned, facts)
        return facts

    def _python(self, package: str, planned: Planned) -> str:
        """Return the Pythons of a release as its metadata declares them, "" where no table does."""
        if planned.url or is_conda(planned) or not planned.version:
            return ""
        version = {"version": Known(planned.version, "asked")}
        named = {"package": Known(planned.name, "asked"), **version}
        own = RELEASE_TABLES.get(package, "")
        for table, keys in ((own, version), (FRAMEWORK_TABLE, named), ("helper-releases", named)):
            if table in self.matrix.tables:
                cell = self.matrix.find(table, keys).cell("python")
                if isinstance(cell, Known) and str(cell.value)[:1] in ("<", ">", "=", "~", "!"):
                    return str(cell.value)
        return ""

    def _is_compiled(self, planned: Planned) -> bool:
        """Return whether the index has sources alone of a release, for this platform and Python."""
        if planned.url or is_conda(planned):
            return False
        platform, python = (
            fact_text(self.host.get(name, Absent(NOT_YET)), "")
            for name in ("host.platform", "python.version")
        )
        place = InstalledWhere(platform, str(version_part(python, "minor") or ""))
        files = ReadyMadeFiles.of(self.matrix).files_for(place)
        return files.come(planned.name, planned.version) is False

    def _file(self, package: str, planned: Planned) -> dict[str, Fact]:
        """Return the tags of the file that will be installed, where one is named."""
        tags = _tags(file_of(planned.url))
        if not tags:
            return {}
        return {f"{package}.wheel.tags": Known(tags, printable(planned.source))}

    def _requires(self, package: str, planned: Planned, facts: Mapping[str, Fact]) -> Fact:
        """Return what a package requires: as a lock has it, with the bounds that tables know."""
        there = {**self.host, **facts}
        tabled = required(package, there, self.matrix, self.markers.hold, planned.extras)
        if planned.requires is None:
            return tabled
        needs: dict[str, str] = {}
        for need in needs_on(planned.requires, self.markers):
            if need is None:
                return Unknown(
                    "its requirements here depend on a condition that is not known", planned.source
                )
            needs[need.name] = need.specifier
        if isinstance(tabled, Known) and isinstance(tabled.value, dict):
            needs |= {name: text for name, text in tabled.value.items() if needs.get(name) == ""}
        kept = {
            n: "" if self._is_overruled(planned, n, text) else text for n, text in needs.items()
        }
        return Known(kept, planned.source)

    def _is_overruled(self, planned: Planned, name: str, specifier: str) -> bool:
        """Return whether a lock holds a release that a package in it excludes.

        Its tool refuses that, so whoever made the lock told it to: by an override, or by metadata
        of their own.
        """
        other = self.combined.packages.get(name)
        is_locked = other is not None and other.kind == planned.kind and bool(other.version)
        return is_locked and other is not None and not admits(specifier, other.version)


def _installed_version(package: str, planned: Planned) -> str:
    """Return the version that metadata will have.

    Files of flash-attn are renamed after the build, the official ones and others: the label is in
    the name alone.
    """
    if package == FLASH_ATTN and planned.url:
        return planned.version.partition("+")[0]
    return planned.version


def _installer(planned: Planned, source: str) -> Fact:
    if is_conda(planned):
        return Known("conda", source)
    if planned.kind == CONDA_FIRST:
        return Known("pip", source)
    if planned.kind == "uv.lock":
        return Known("uv", source)
    return Unknown("pip, or another installer", source)


def _label(version: str, facts: Mapping[str, Fact], source: str) -> dict[str, Fact]:
    """Return what the file's name says of the build of flash-attn."""
    nothing = Absent(f"{source}: no file is named")
    there = {**facts, "flash_attn.wheel.tags": facts["flash_attn.wheel.tags"]}
    if isinstance(there["flash_attn.direct_url"], Absent):
        there["flash_attn.wheel.tags"] = nothing
    return wheel_facts(Known(version, source), nothing, there)


def _tags(file: str) -> tuple[str, ...]:
    """Return the tags of a wheel's file name: ``cp312-cp312-linux_x86_64``."""
    python, abi, platform = tags_of(file) or ((), (), ())
    return tuple(f"{p}-{a}-{f}" for p in python for a in abi for f in platform)[:64]
