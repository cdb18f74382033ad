"""Which compiled extensions a package does without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.catalogue import EXTENSIONS
from fadoctor.model.fact import Fact, Known

if TYPE_CHECKING:
    from collections.abc import Iterable

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
