"""Packages that an installer builds in isolation, where their setup misses torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Absent, Fact, Known, printable
from fadoctor.model.packages import SETUPS, TORCH
from fadoctor.sources.manifests.planned_torch import is_conda

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.combine import Combined, Planned
    from fadoctor.sources.manifests.planned import Requirement

ISOLATED, ISOLATED_KIND = "packages.isolated_builds", "packages.isolated_in"
_SOURCE = "how the files install it"
_TOLD = ("PIP_NO_BUILD_ISOLATION", "UV_NO_BUILD_ISOLATION", "UV_NO_BUILD_ISOLATION_PACKAGE")
"""Variables that switch isolation off, whatever their value: pip reads 0 as off too."""

_FLAGS = frozenset(("--no-build-isolation", "--no-use-pep517", "--dry-run", "--no-isolation"))


def marked(
    asked: Iterable[Requirement], apart: Collection[str] = (), *, is_always: bool = False
) -> list[Requirement]:
    """Return requirements with the mark of those that are built in isolation.

    They are so where torch itself is installed by the same command: it is not there before.
    `apart`: packages that the file builds without isolation; `is_always`: torch or not.
    """
    asked = list(asked)
    if not is_always and not any(each.name == TORCH for each in asked):
        return asked
    return [
        msgspec.structs.replace(each, is_isolated=True)
        if each.name in SETUPS and each.name not in apart
        else each
        for each in asked
    ]


def unmarked(asked: Iterable[Requirement]) -> list[Requirement]:
    """Return requirements of which a command says that they are built without isolation."""
    return [msgspec.structs.replace(each, is_isolated=False) for each in asked]


def is_told(
    flags: Collection[str], options: Collection[str], variables: Mapping[str, str | None]
) -> bool:
    """Return whether a command, or a variable, builds without isolation, or builds nothing."""
    is_of_one = not {"--no-build-isolation-package", "--only-binary"}.isdisjoint(options)
    return is_of_one or not _FLAGS.isdisjoint(flags) or any(name in variables for name in _TOLD)


def isolated_builds(
    combined: Combined, elsewhere: Collection[str], matrix: Matrix
) -> dict[str, Fact]:
    """Return which packages cannot be built as the files install them, and in which kind of file.

    Only sources from PyPI, or by an address: of what another index serves nobody knows.
    """
    found: dict[str, str] = {}
    kinds: dict[str, None] = {}
    for name in SETUPS:
        planned = combined.packages.get(name)
        if planned is not None and _is_built(planned, elsewhere, matrix):
            at = f"{planned.places[0]}: " if planned.places else ""
            found[name] = printable(f"({at}built in isolation, without torch)", 300)
            kinds[planned.kind] = None
    kind: Fact = Known(next(iter(kinds)), _SOURCE) if kinds else Absent(_SOURCE)
    return {ISOLATED: Known(found, _SOURCE), ISOLATED_KIND: kind}


def _is_built(planned: Planned, elsewhere: Collection[str], matrix: Matrix) -> bool:
    if not planned.is_isolated or not planned.is_sure or is_conda(planned) or planned.open:
        return False
    if planned.url.endswith(".whl") or (planned.name in elsewhere and not planned.url):
        return False
    version: Fact = Known(planned.version, planned.source)
    rows = matrix.find(SETUPS[planned.name], {"version": version} if planned.version else {})
    imports = rows.cell("imports")
    if isinstance(imports, Known) and isinstance(imports.value, tuple):
        return TORCH in imports.value
    return not planned.version  # every release that the table has imports torch
