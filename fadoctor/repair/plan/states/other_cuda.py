"""Whether what is compiled for one CUDA would stay beside a torch for another."""

# Circles with `domain` by types alone.

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Known, fact_mapping, fact_text
from fadoctor.model.packages import COMPILED_BESIDE, TORCH
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.states.compiled import names_cuda

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem


def is_for_other_cuda(problem: Problem, package: str, environment: Environment) -> bool:
    """Return whether what is compiled for one CUDA major would stay beside a torch of another.

    What requires the torch that comes, and refuses the one that goes, was not compiled for that.
    """
    before, after = (each.fact("torch.cuda") for each in (problem.environment, environment))
    if package not in COMPILED_BESIDE or not isinstance(before, Known):
        return False
    torches = (fact_text(e.fact("torch.version"), "") for e in (problem.environment, environment))
    needs = fact_mapping(problem.environment.fact(f"{package}.requires")).get(TORCH, "")
    if [accepts(needs, torch) for torch in torches] == [False, True]:
        return False
    if (own := _cuda_of_file(problem, package)) and isinstance(after, Known):
        return own != version_part(str(after.value), "major")
    majors = [version_part(str(each.value), "major") for each in (before, after)
              if isinstance(each, Known)]  # fmt: skip
    return len(set(majors)) > 1 and not names_cuda(environment.facts, package)


def _cuda_of_file(problem: Problem, package: str) -> str:
    """Return the CUDA major that PyPI's file of what is here loads, "" where no table says it."""
    version = problem.environment.fact(f"{package}.version")
    is_pypis = isinstance(version, Known) and version_part(str(version.value), "local") is None
    if not is_pypis or f"{package}-minimum" not in problem.session.matrix.tables:
        return ""
    found = problem.session.matrix.find(f"{package}-minimum", {"version": version})
    return fact_text(found.cell("cuda"), "")
