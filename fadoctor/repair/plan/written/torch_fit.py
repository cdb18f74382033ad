"""Whether what a fix installs is made for the torch that is here: for its index, and its vendor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import fact_text
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import BESIDE_TORCH, COMPILED_BESIDE, TORCH, XFORMERS, package_of
from fadoctor.repair.plan.choices.indexes import PYPI
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.rocm_torch import OF_NVIDIA
from fadoctor.repair.plan.search.problem import is_for_rocm, is_on_amd

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix
    from fadoctor.repair.plan.choices.indexes import Indexes

_ROCM = "rocm"
_OF_PYPI = frozenset({*COMPILED_BESIDE, XFORMERS})
"""What PyPI has for CUDA alone, and elsewhere by an index of its own."""
_UNMET = "requirement-unmet"


def misfit(before: Environment, after: Environment, fix: Fix, indexes: Indexes) -> str:
    """Return how a fix leaves the build of torch that is here, "" where it does not.

    A package that was published beside torch pins its own torch: of another index it replaces the
    one that is here by another build. Where a fix installs torch itself, both are of one command.
    """
    items = list(_installs(fix))
    with_torch = any(package == TORCH for package, _, _ in items)
    for package, name, index in items:
        is_beside = package in BESIDE_TORCH and not with_torch
        if is_beside and not _is_of_index(before, index, indexes):
            return f"{name} would be of another index than torch"
        is_for_cuda = package in _OF_PYPI or package in BESIDE_TORCH or package == TORCH
        if is_on_amd(before) and (name.startswith(OF_NVIDIA) or is_for_cuda) and _ROCM not in index:
            return f"{name} would be one for CUDA"
    moves = _torch(before) != _torch(after) and not with_torch
    if moves and is_on_amd(before) and is_for_rocm(before):
        return "torch for ROCm would be replaced"
    return ""


def is_for_what_cannot_run(environment: Environment, finding: Finding) -> bool:
    """Return whether a finding says what a package of CUDA lacks beside AMD's torch."""
    name = finding.subject
    package = package_of(name, name)
    if finding.rule_id != _UNMET or package not in _OF_PYPI or not is_on_amd(environment):
        return False
    label = version_part(fact_text(environment.fact(f"{package}.version"), ""), "local") or ""
    return not label.startswith(_ROCM)


def _installs(fix: Fix) -> Iterator[tuple[str, str, str]]:
    """Yield package, distribution and index of what a fix installs by name."""
    for step in fix.steps:
        for item in step.items if step.kind is StepKind.INSTALL else ():
            choice = offer(item)
            if choice is not None:
                yield choice.package, choice.distribution, step.index


def _is_of_index(environment: Environment, index: str, indexes: Indexes) -> bool:
    """Return whether an index has builds like the torch that is here; unknown is taken for yes."""
    torch = _torch(environment)
    label = version_part(torch, "local") or ""
    own = indexes.of(label) if label else ""
    if not own or own == index:
        return True
    base, platform = (
        version_part(torch, "base") or "",
        fact_text(environment.fact("host.platform"), ""),
    )
    cuda = indexes.cuda_of(label, base, platform)
    return not index and bool(cuda) and indexes.cuda_of(PYPI, base, platform) == cuda


def _torch(environment: Environment) -> str:
    return fact_text(environment.fact("torch.version"), "")
