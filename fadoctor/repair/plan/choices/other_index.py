"""Files of one version in two indexes: what is published beside torch, without a label.

PyPI and PyTorch's index for aarch64 both have torchvision 0.26.0, each for another CUDA. No version
tells which one is there, and an installer that may ask both takes either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known, Unknown
from fadoctor.model.packages import BESIDE_TORCH, TORCH
from fadoctor.repair.plan.choices.wheel_facts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.choices.indexes import Indexes


def is_of_other_index(
    package: str, before: Environment, after: Environment, indexes: Indexes
) -> bool:
    """Return whether what came beside one torch is no file for the other, by its version alone.

    What file a line of a manifest gets is not settled yet.
    """
    if package not in BESIDE_TORCH or before.target.kind == "manifest":
        return False
    cuda = [each.fact("torch.cuda") for each in (before, after)]
    if version_part(text_of(before, f"{package}.version"), "local"):
        return False
    if any(isinstance(each, Unknown) for each in cuda) or _major(cuda[0]) == _major(cuda[1]):
        return False
    return has_no_labels(after, indexes)


def has_no_labels(environment: Environment, indexes: Indexes) -> bool:
    """Return whether the index of torch has no label on what is published beside it."""
    names = ("torch.build", "torch.version", "host.platform")
    build, torch, platform = (text_of(environment, name) for name in names)
    return indexes.is_plain(build, version_part(torch, "base") or "", platform)


def without_label(choices: Iterable[Choice], indexes: Indexes, platform: str) -> list[Choice]:
    """Return the choices of which PyPI has the same version in another file."""
    found = list(choices)
    torch = next((each for each in found if each.package == TORCH), None)
    if torch is None:
        return []
    build = torch.facts.get("torch.build")
    label = str(build.value) if isinstance(build, Known) else ""
    is_plain = indexes.is_plain(label, version_part(torch.version, "base") or "", platform)
    return [e for e in found if is_plain and e.index and e.package in BESIDE_TORCH]


def _major(cuda: Fact) -> str:
    """Return the major of a CUDA, "" of a build without one."""
    return version_part(str(cuda.value), "major") or "" if isinstance(cuda, Known) else ""
