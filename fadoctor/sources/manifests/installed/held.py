"""What may be there before anything is installed, and what the files move to one release anyway."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.packages import BESIDE_TORCH, RELEASES, TORCH, XFORMERS, package_of
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.manifests.installed.planned_torch import is_conda
from fadoctor.sources.manifests.planned import speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined, Planned
    from fadoctor.sources.manifests.planned import Manifest

HELD = "it may be there already"
"""Of an image that no table speaks of, or an environment that commands add to: an installer keeps
what is there and fits."""

# pytorch=2.3 of conda: one of a few releases
_SERIES = re.compile(r"==\d{1,4}\.\d{1,4}\.\*")

_FIXED = frozenset((TORCH, XFORMERS, *BESIDE_TORCH))
"""What is published for one release of torch, and torch itself: what pins it decides the rest."""


def may_be_there(combined: Combined) -> bool:
    """Return whether packages may be there that no file names."""
    return any(map(speaks_of_image, combined.notes))


def in_image(combined: Combined, fixed: Mapping[str, str]) -> Combined:
    """Return what files ask for on top of an image of which nobody knows what it holds.

    What they do not name exactly may be there already; not what is `fixed` to one release.
    """
    if not may_be_there(combined):
        return combined
    packages = {
        name: each
        if each.version
        or each.url
        or each.is_renewed
        or name in fixed
        or _SERIES.fullmatch(each.specifier)
        else msgspec.structs.replace(each, open=HELD)
        for name, each in combined.packages.items()
    }
    return msgspec.structs.replace(combined, packages=packages)


def fixed_to(manifests: Iterable[Manifest], combined: Combined, matrix: Matrix) -> dict[str, str]:
    """Return what a package of one release requires in one release: whatever is there gives way.

    Only of an environment of which nobody knows what it holds, and of what a command installs with
    all that it requires. What two require in two releases, or files bound, is for others to say.
    """
    if not may_be_there(combined):
        return {}
    told: dict[str, set[str]] = {}
    for planned in _installed_exactly(manifests, combined):
        for name, text in _needs(planned, matrix).items():
            if name in _FIXED and exact_version(text):
                told.setdefault(name, set()).add(text)
    bounded = combined.bounds.keys()
    return {name: next(iter(texts)) for name, texts in told.items()
            if len(texts) == 1 and name not in bounded}  # fmt: skip


def _installed_exactly(manifests: Iterable[Manifest], combined: Combined) -> Iterable[Planned]:
    """Yield what one command names in one release, and not alone (``--no-deps``)."""
    with_needs = {
        each.name
        for manifest in manifests
        for each in manifest.requirements
        if each.command or not manifest.is_in_steps
    }
    for name, planned in combined.packages.items():
        is_exact = planned.version and planned.is_sure and name in with_needs
        if is_exact and not (planned.url or planned.open or is_conda(planned)):
            yield planned


def _needs(planned: Planned, matrix: Matrix) -> dict[str, str]:
    """Return what a release requires, by all tables: name -> specifier."""
    table, columns = RELEASES.get(package_of(planned.name), ("", {}))
    found = dict(declared(planned.name, planned.version, matrix))
    for row in matrix.tables[table].rows if table else ():
        if planned.version in cell_words(row["version"]):
            found |= {n: str(row[c]) for c, n in columns.items() if isinstance(row.get(c), str)}
    return found
