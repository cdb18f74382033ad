"""Which compiled extensions a package does without, and which fail without a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.catalogue import EXTENSIONS
from fadoctor.model.fact import Absent, Fact, Known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.matrix.query import Matrix
    from fadoctor.model.environment import Environment

_TABLE = "optional-extensions"


def optional_extensions(
    environment: Environment, matrix: Matrix, packages: Iterable[str]
) -> dict[str, Fact]:
    """Return the facts that say which of the packages' extensions may be missing."""
    tabled = {str(row["package"]) for row in matrix.tables[_TABLE].rows}
    found: dict[str, Fact] = {}
    for package in tabled.intersection(packages):
        version = environment.fact(f"{package}.version")
        if not isinstance(version, Known):
            continue
        for name in EXTENSIONS[package]:
            keys = {"package": Known(package, "asked"), "extension": Known(name, "asked")}
            row = matrix.find(_TABLE, {**keys, "version": version})
            instead = row.cell("instead")
            if isinstance(instead, Known):
                source = f"{package} {version.value}: {instead.value} instead"
                found[f"{package}.{name}.optional"] = Known(value=True, source=source)
    return found


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
            if not said and not all(f"{each}.optional" in optional for each in extensions):
                refusal = Known("the loader refuses it", loads.source)
                found[f"{package}.unexplained"] = refusal
    return found


_NONE = Absent("it loads, or an extension says why not")
