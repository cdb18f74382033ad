"""Builds of torch of which nobody knows whether their code runs on the GPUs that are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.kernels import visible_gpus
from fadoctor.knowledge.matrix.query import typed_cell
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known, Unknown
from fadoctor.repair.plan.choices.wheel_facts import text_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice


def with_code_known(
    found: Iterable[Choice], environment: Environment, matrix: Matrix
) -> tuple[Choice, ...]:
    """Return those without the ones that hold no machine code for any GPU here, and unknown PTX.

    What nobody can decide repairs nothing: a plan that brought such a build would only hide the
    error which a rule finds in the one that is here.
    """
    asked = [{"cc": gpu.capability} for gpu in visible_gpus(environment)]
    runs = [
        set(cell.value)
        for cell in (matrix.find("architectures", keys).cell("runs") for keys in asked)
        if isinstance(cell, Known) and isinstance(cell.value, tuple)
    ]
    if not runs or len(runs) != len(asked):
        return tuple(found)
    return tuple(each for each in found if not _is_open(each, runs, environment, matrix))


def _is_open(
    choice: Choice, runs: list[set[str]], environment: Environment, matrix: Matrix
) -> bool:
    keys = {
        "version": Known(version_part(choice.version, "base") or "", "asked"),
        "build": choice.facts["torch.build"],
        "platform": Known(text_of(environment, "host.platform"), "asked"),
    }
    row = matrix.find("torch-builds", keys)
    if not isinstance(row.cell("ptx"), Unknown):
        return False
    code = typed_cell(row.rows[0].get("sm"), "list") if row.rows else None
    return isinstance(code, tuple) and all(one.isdisjoint(code) for one in runs)
