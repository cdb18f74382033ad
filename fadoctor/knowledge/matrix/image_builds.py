"""Packages of NVIDIA's images that were built for a torch which is not there any more.

The images have builds of their own of torch and of what belongs to it. A later ``pip install`` can
replace torch by that of an index, and leaves the others as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping
from fadoctor.model.packages import TORCH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix

FORMER = "packages.of_former_torch"
"""Fact with the packages that were built for the torch of an image, and their versions."""

_TABLE = "nvidia-image-parts"
_SOURCE = "builds of NVIDIA's image"
_NOTHING = Absent("no build of NVIDIA's image is beside another torch")

# 0.22.0a0, 2.7.0a0, 3.2.0+git0d4682f0b.nvinternal: no index has such a file
_OF_IMAGE = re.compile(
    r"\d{1,2}\.\d{1,2}\.\d{1,2}a0\Z|[\w.+]{1,60}\.nv(?:internal|\d\d\.\d{1,2})\Z"
)


def image_build_facts(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return which packages of NVIDIA's image were built for a torch that was replaced.

    That it is such an image is told by a version that no index has. Nothing is said where torch
    is a build of its own, too.
    """
    named, installed = (facts.get(f"packages.{noun}") for noun in ("named", "installed"))
    there = {**fact_mapping(named), **fact_mapping(installed)}
    proofs = [name for name, version in there.items() if _OF_IMAGE.match(version)]
    if not proofs:
        return {FORMER: _NOTHING}
    torch = facts.get(f"{TORCH}.version", _NOTHING)
    if isinstance(torch, Unknown):
        return {FORMER: torch}
    version = parse_version(str(torch.value)) if isinstance(torch, Known) else None
    if version is None or version.is_prerelease:
        return {FORMER: _NOTHING}
    parts = {}
    for name, built in sorted(there.items()):
        row = matrix.find(_TABLE, {"distribution": Known(name, _SOURCE)}).cell("version")
        pattern = str(row.value) if isinstance(row, Known) else ""
        if pattern and re.fullmatch(pattern, built):
            parts[name] = built
    return {FORMER: Known(parts, _SOURCE) if parts else _NOTHING}
