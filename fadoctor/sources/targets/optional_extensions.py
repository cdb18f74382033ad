"""Which compiled extensions a package does without, and which fail without a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment

_TABLE = "optional-extensions"


def optional_extensions(
    environment: Environment, matrix: Matrix, packages: Iterable[str]
) -> dict[str, Fact]:
    """Return the facts that say which of the packages' extensions may be missing."""
    tabled = {str(row["package"]) for row in matrix.tables[_TABLE].rows}
    torch = environment.fact("torch.version")
    build = environment.fact("torch.build")
    found: dict[str, Fact] = {}
    for package in sorted(tabled.intersection(packages)):
        version = environment.fact(f"{package}.version")
        if not isinstance(version, Known):
            continue
        for name in EXTENSIONS[package]:
            keys = {
                "package": Known(package, "asked"),
                "extension": Known(name, "asked"),
                "version": version,
            }
            if _is_for_another(matrix.find(_TABLE, keys).cell("build"), build):
                continue
            fact = _optional(matrix, keys, torch, f"{package} {version.value}")
            if fact is not None:
                found[f"{package}.{name}.optional"] = fact
    return found


def _is_for_another(wanted: Fact, build: Fact) -> bool:
    """Return whether a row holds beside another build of torch alone."""
    if not isinstance(wanted, Known):
        return False
    return not isinstance(build, Known) or build.value != wanted.value


def _optional(matrix: Matrix, keys: Mapping[str, Fact], torch: Fact, label: str) -> Fact | None:
    """Return whether an extension may be missing under a torch; None where it must not be."""
    if not isinstance(matrix.find(_TABLE, keys).cell("instead"), Known):
        return None  # under no torch
    match matrix.find(_TABLE, {**keys, "torch": torch}).cell("instead"):
        case Known(value=instead):
            return Known(value=True, source=f"{label}: {instead} instead")
        case Unknown() as unknown:
            return unknown
        case _:
            return None


def unexplained_failures(
    environment: Environment, packages: Iterable[str], optional: Mapping[str, Fact]
) -> dict[str, Fact]:
    """Return for each package whether an extension does not load and none of them says why.

    `optional`: what `optional_extensions` has found.
    """
    facts, found = environment.facts, dict[str, Fact]()
    for package in packages:
        loads = facts.get(f"{package}.loads")
        if loads is None:
            continue
        found[f"{package}.unexplained"] = _NONE
        if isinstance(loads, Known) and loads.value is False:
            extensions = [f"{package}.{name}" for name in EXTENSIONS[package]]
            said = any(isinstance(facts.get(f"{each}.failure"), Known) for each in extensions)
            needed = (
                each
                for each in extensions
                if not isinstance(optional.get(f"{each}.optional"), Known)
                and not _is_spared(facts, each)
            )
            if not said and any(needed):
                refusal = Known("the loader refuses it", loads.source)
                found[f"{package}.unexplained"] = refusal
    return found


_NONE = Absent("it loads, or an extension says why not")


def _is_spared(facts: Mapping[str, Fact], extension: str) -> bool:
    """Return whether an extension beside a package's own is not there, or may be missing."""
    optional = facts.get(f"{extension}.optional")
    beside = not extension.endswith(".binary")
    is_gone = beside and isinstance(facts.get(f"{extension}.file"), Absent)
    return is_gone or (isinstance(optional, Known) and optional.value is True)
