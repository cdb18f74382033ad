"""Files that describe several environments: the one that is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.packages import ATTENTION, TORCH, package_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fadoctor.sources.manifests.draft import Draft
    from fadoctor.sources.manifests.planned import Requirement


def chosen_machine(
    draft: Draft, asked: Mapping[str, Sequence[Requirement]], default: str = ""
) -> str:
    """Return the environment that was chosen by name, or that installs most of what is judged.

    "" where none installs anything of it, and there is no default one.
    """
    named = [name for name in asked if draft.takes_group(name)]
    if named:
        return named[0]
    weights = {name: weight_of(one.name for one in each) for name, each in asked.items()}
    best = max(weights, key=lambda name: weights[name], default="")
    return best if best and weights[best] > (0, 0) else default


def weight_of(packages: Iterable[str]) -> tuple[int, int]:
    """Return how much of what is judged is installed: attention first, then torch, then all."""
    names = {name for name in packages if package_of(name)}
    attention = any(package_of(name) in ATTENTION for name in names)
    return 2 * attention + (TORCH in names), len(names)
