"""For which of the GPUs here a build of the Hub names code, as kernels holds them against it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.matrix.versions import version_key
from fadoctor.model.fact import Fact, Known
from fadoctor.targets.gpu_code import known_gpus
from fadoctor.targets.hub import GENERATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.binary.coverage import Gpu
    from fadoctor.matrix.query import Matrix
    from fadoctor.model.environment import Environment

_TARGET = re.compile(r"(?P<target>(?P<capability>\d{1,2}\.\d)[af]?)(?P<ptx>\+PTX)?")
"""``8.0``, ``9.0a``, ``10.0f``, ``9.0+PTX``."""


def hub_code(environment: Environment, matrix: Matrix) -> dict[str, Fact]:
    """Return for each build that would be taken which GPUs here it names, and which it does not.

    In neither list is a GPU of which that is not certain.
    """
    found: dict[str, Fact] = {}
    gpus: list[Gpu] | None = None
    for generation in GENERATIONS:
        archs = environment.facts.get(f"hub.{generation}.archs")
        if archs is None:
            continue
        names = (f"hub.{generation}.runs_on", f"hub.{generation}.no_code_for")
        if isinstance(archs, Known) and isinstance(archs.value, tuple):
            gpus = known_gpus(environment, matrix) if gpus is None else gpus
            answers = {gpu.capability: covers(archs.value, gpu) for gpu in gpus}
            for name, wanted in zip(names, (True, False), strict=True):
                listed = tuple(cc for cc, answer in answers.items() if answer is wanted)
                found[name] = Known(listed, archs.source)
        else:
            found |= dict.fromkeys(names, archs)
    return found


def covers(archs: Iterable[str], gpu: Gpu) -> bool | None:
    """Return whether code for some architectures runs on a GPU; None where that is not certain."""
    doubtful = False
    for each in archs:
        form = _TARGET.fullmatch(each)
        if form is None:
            doubtful = True
            continue
        newer = version_key(form["capability"]) <= version_key(gpu.capability)
        if form["target"] in gpu.runs or (form["ptx"] and newer):
            return True
        doubtful = doubtful or form["target"] in gpu.may_run
    return None if doubtful else False
