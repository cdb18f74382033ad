"""Which packages an installer looks for on PyPI alone: of other indexes nobody knows the files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.index_names import asked_in_vain, told
from fadoctor.model.packages import NOT_ON_PYTORCH
from fadoctor.sources.manifests.installed.planned_torch import is_conda

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.fact import Fact
    from fadoctor.sources.manifests.installed.combine import Combined, Planned
    from fadoctor.sources.manifests.planned import Manifest

# The address of PyPI itself, also with a slash at its end
_PYPI = re.compile(r"https?://(?:www\.)?pypi\.(?:org|python\.org)/simple/?")
_PYTORCH = re.compile(r"https?://download\.pytorch\.org/whl(?:/[\w.]{1,20})?/?")


def from_elsewhere(manifests: Iterable[Manifest], combined: Combined) -> tuple[str, ...]:
    """Return the distributions that may come from elsewhere: by address, index, lock or conda."""
    manifests = tuple(manifests)
    has_pages = any(manifest.has_common_pages for manifest in manifests)
    paged = {each.name for m in manifests for each in m.requirements if each.has_pages}
    locked = {each.name for m in manifests if m.is_complete for each in m.requirements}
    common = [each.value for each in combined.indexes]
    return tuple(
        name
        for name, planned in combined.packages.items()
        if has_pages or name in locked | paged or planned.url or is_conda(planned) or planned.files
        or not all(_is_pypi(name, each) for each in ([planned.index] if planned.index else common))
    )  # fmt: skip


def is_locked_without_wheels(planned: Planned) -> bool:
    """Return whether a lock lists no wheel of what it takes from PyPI: it will be built."""
    is_lock = planned.kind.endswith(".lock") and not planned.files and not planned.url
    return is_lock and (not planned.index or _is_pypi(planned.name, planned.index))


def _is_pypi(name: str, index: str) -> bool:
    """Return whether a package comes from PyPI though this index is named."""
    if _PYPI.fullmatch(index):
        return True
    return name in NOT_ON_PYTORCH and _PYTORCH.fullmatch(index) is not None


def mistaken_names(
    combined: Combined, elsewhere: tuple[str, ...], matrix: Matrix
) -> dict[str, Fact]:
    """Return the facts about names that PyPI has something else under than is meant."""
    asked = {
        name: planned.version
        for name, planned in combined.packages.items()
        if name not in elsewhere and _is_in_vain(planned, matrix)
    }
    return told(asked, matrix)


def _is_in_vain(planned: Planned, matrix: Matrix) -> bool:
    if planned.open:
        return False
    return asked_in_vain(planned.name, planned.version, planned.specifier, matrix)
