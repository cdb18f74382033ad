"""Which kernel of the Hub is taken here, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.model.packages import DIFFUSERS, TRANSFORMERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.knowledge.matrix.query import Matrix


class Picked(msgspec.Struct, frozen=True):
    """Which kernel is taken for a generation, and by whom."""

    by: str
    """transformers or diffusers; "" where no installed package uses one by itself."""
    repository: Fact
    branch: Fact
    broken: Fact = Absent("no known fault")


def pick(generation: str, facts: Mapping[str, Fact], matrix: Matrix) -> Picked:
    """Return which kernel transformers takes, else diffusers."""
    nobody: Fact = Unknown("it was not read", "packages")
    transformers, diffusers = facts.get("transformers.version", nobody), _diffusers(facts)
    asked: dict[str, Fact] = {"generation": Known(generation, "asked")}
    if isinstance(transformers, Unknown) and generation != "sage":
        return Picked(TRANSFORMERS, transformers, transformers)
    if isinstance(transformers, Known) and generation != "sage":
        repositories = matrix.find("transformers-hub-kernels", {"version": transformers})
        torch = facts.get("torch.version", Absent("no torch"))
        keys = {"version": transformers, **asked, "torch": torch}
        branch = matrix.find("transformers-hub-branches", keys).cell("branch")
        repository = repositories.cell(generation)
        if not isinstance(repository, Absent) or not isinstance(diffusers, Known):
            return Picked(TRANSFORMERS, repository, branch)
    if isinstance(diffusers, Known):
        row = matrix.find("diffusers-hub-kernels", {"version": diffusers, **asked})
        cells = (row.cell(name) for name in ("repository", "branch", "broken"))
        return Picked(DIFFUSERS, *cells)
    nothing = Absent("no installed package uses one by itself")
    return Picked("", nothing, nothing)


def _diffusers(facts: Mapping[str, Fact]) -> Fact | None:
    every = facts.get("packages.installed")
    listed = every.value if isinstance(every, Known) and isinstance(every.value, dict) else {}
    version = listed.get(DIFFUSERS)
    return None if version is None else Known(version, "packages.installed")
