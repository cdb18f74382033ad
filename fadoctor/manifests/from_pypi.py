"""Which packages an installer looks for on PyPI alone: of other indexes nobody knows the files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.manifests.torch_of import is_conda
from fadoctor.matrix.index_names import asked_in_vain, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.manifests.combine import Combined, Planned
    from fadoctor.manifests.planned import Manifest
    from fadoctor.matrix.query import Matrix
    from fadoctor.model.fact import Fact

# https://pypi.org/simple, also with a slash at its end
_PYPI = re.compile(r"https?://(?:www\.)?pypi\.(?:org|python\.org)/simple/?")


def from_elsewhere(manifests: Iterable[Manifest], combined: Combined) -> tuple[str, ...]:
    """Return the distributions that may come from elsewhere: by address, index, lock or conda."""
    manifests = tuple(manifests)
    has_pages = any(manifest.has_unseen_files for manifest in manifests)
    locked = {each.name for m in manifests if m.is_complete for each in m.requirements}
    common = [each.value for each in combined.indexes]
    return tuple(
        name
        for name, planned in combined.packages.items()
        if has_pages or name in locked or planned.url or is_conda(planned) or planned.files
        or not all(map(_PYPI.fullmatch, [planned.index] if planned.index else common))
    )  # fmt: skip


def mistaken_names(
    combined: Combined, elsewhere: tuple[str, ...], matrix: Matrix
) -> dict[str, Fact]:
    """Return the facts about names that PyPI has something else under than is meant."""
    return told(
        (name for name, planned in combined.packages.items()
         if name not in elsewhere and _is_in_vain(planned, matrix)), matrix,
    )  # fmt: skip


def _is_in_vain(planned: Planned, matrix: Matrix) -> bool:
    if planned.open:
        return False
    return asked_in_vain(planned.name, planned.version, planned.specifier, matrix)
