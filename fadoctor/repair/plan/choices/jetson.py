"""Builds of torch for ARM servers, and the Jetsons that they run on: few, and from a JetPack on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.kernels import visible_gpus
from fadoctor.knowledge.matrix.versions import is_older, version_part
from fadoctor.model.fact import Known
from fadoctor.repair.plan.choices.wheel_facts import text_of
from fadoctor.sources.targets.tegra import is_tegra

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.model.fact import Fact
    from fadoctor.repair.plan.choices.choice import Choice

_CODE = ("runs", "own", "since_cuda_13_2")
"""Columns of what may run on a Tegra, where the build is new enough for the last."""


def for_jetson(
    found: Iterable[Choice], environment: Environment, matrix: Matrix
) -> tuple[Choice, ...]:
    """Return of some builds of torch those that may run here; all of them where this is no Jetson.

    NVIDIA makes a Jetson's own builds for each JetPack, and no table lists them.
    """
    if not is_tegra(environment.facts, matrix):
        return tuple(found)
    capabilities = {
        str(gpu.capability.value)
        for gpu in visible_gpus(environment)
        if isinstance(gpu.capability, Known)
    }
    if not capabilities:
        return ()  # whether one has code for a GPU that nobody names is not known
    return tuple(
        choice
        for choice in found
        if all(_may_run(choice, cc, environment, matrix) for cc in capabilities)
    )


def _may_run(choice: Choice, cc: str, environment: Environment, matrix: Matrix) -> bool:
    """Return whether a build may run: code is in it, and the JetPack takes builds for servers."""
    row = matrix.find("architectures", {"cc": Known(cc, "asked")})
    since, cuda = row.cell("unified_since"), choice.facts["torch.cuda"]
    there = environment.fact("driver.cuda")
    if not isinstance(there, Known):
        there = row.cell("jetpack_cuda")
    if not (_reaches(cuda, since) and _reaches(there, since)):
        return False
    keys = {
        "version": Known(version_part(choice.version, "base") or "", "asked"),
        "build": choice.facts["torch.build"],
        "platform": Known(text_of(environment, "host.platform"), "asked"),
    }
    code = _words(matrix.find("torch-builds", keys).cell("sm"))
    return any(not code.isdisjoint(_words(row.cell(column))) for column in _CODE)


def _reaches(fact: Fact, least: Fact) -> bool:
    """Return whether a version surely is another or a newer one."""
    if not isinstance(fact, Known) or not isinstance(least, Known):
        return False
    return is_older(str(fact.value), str(least.value)) is False


def _words(fact: Fact) -> frozenset[str]:
    value = fact.value if isinstance(fact, Known) else ()
    return frozenset(value) if isinstance(value, tuple) else frozenset()
