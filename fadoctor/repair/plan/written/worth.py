"""No step for a purpose that something unrepaired vetoes: then settings and a person are left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.packages import TORCH
from fadoctor.repair.plan.search.shortfall import FAILS

if TYPE_CHECKING:
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.search.solution import Solution


def worthwhile(problem: Problem, solution: Solution) -> Solution:
    """Return a solution, or that of changing nothing where its changes help nobody.

    Something stays wrong all the same, and no wished backend works afterwards or, where nobody
    asked for the changes by name, what worked stops working. Or a new environment gets nothing of
    what was asked for, or needs a torch, and no torch can compute there.
    """
    cost, cells = solution.cost, problem.wishes.cells
    coming = {choice.package for choice in solution.changes}
    named = problem.wishes.named
    if problem.is_from_nothing and named:
        # beside a package that requires it an installer brings any torch
        lacks_torch = TORCH in {*problem.wishes.packages} - coming - problem.wishes.kept
        if coming.isdisjoint(named) or lacks_torch:
            return msgspec.structs.replace(solution, choices=())
    if (named and problem.is_from_nothing) or not solution.changes or not cost.errors:
        return solution
    all_fail = bool(cells) and cost.missed >= FAILS[0] * len(cells)
    if all_fail or (cost.lost and not named):
        return msgspec.structs.replace(solution, choices=())
    return solution
