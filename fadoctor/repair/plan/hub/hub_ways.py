"""The Hub as another way to what was asked for: what forbids it, and what it would change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import fact_text
from fadoctor.model.packages import ATTENTION, TORCH
from fadoctor.model.plan import Alternative, Change, Conflict
from fadoctor.repair.plan.choices.choice import ChoiceKind
from fadoctor.repair.plan.choices.released import is_there
from fadoctor.repair.plan.hub.hub_route import must_not_ask
from fadoctor.repair.plan.proof import prove
from fadoctor.repair.plan.search.problem import Problem
from fadoctor.repair.plan.search.solve import ALL_STEPS, solve
from fadoctor.repair.plan.search.wishes import PAIR, wish_text, with_hub

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.knowledge.matrix.kernels import Gpu
    from fadoctor.model.verdict import Backend
    from fadoctor.repair.plan.search.problem import Base
    from fadoctor.repair.plan.search.solution import Solution
    from fadoctor.repair.plan.search.wishes import Wishes

TAKE_FROM_HUB = "let transformers take it from the Hub"
_NEEDS = "the network at the first start that uses it, and 0.45 to 1.7 GB of the cache"
_UNPROVED = ", though whether it works here is not proved"
_BRING = "copy the Hub's cache from a machine with a network, and set HF_HUB_CACHE to its folder"
_LIMIT = 600
"""Partial states that are looked at for another way."""
_LEAST = 100
"""Steps of that search where others for the same plan took theirs."""


def hub_instead(problem: Problem, base: Base) -> Iterator[Alternative]:
    """Yield the way by the Hub to what was asked for as a package, where no other torch is needed.

    Where --no-hub forbids it, that is what would be given up.
    """
    wishes = with_hub(problem.kernels, problem.wishes)
    if wishes is None:
        return
    other = Problem(
        problem.session, problem.environment, _near(problem, wishes), base, problem.others
    )
    limit = min(_LIMIT, max(ALL_STEPS - problem.steps, _LEAST))
    solution = solve(other, limit) if PAIR[1] in other.packages else None
    if solution is None or not any(choice.package == PAIR[1] for choice in solution.changes):
        return
    after = problem.post.after(problem.environment, solution.changes)
    proof, _ = prove(other, after)
    if proof.clean and not is_costly(solution):
        words = f"{TAKE_FROM_HUB} (without --no-hub)" if problem.wishes.no_hub else TAKE_FROM_HUB
        words += _UNPROVED if proof.unknown else ""
        yield Alternative(words, tuple(changes_of(other, solution)), (_NEEDS,))


def _near(problem: Problem, wishes: Wishes) -> Wishes:
    """Return wishes for which torch stays, and nothing is installed beside the Hub's packages."""
    absent = [name for name in ATTENTION if not is_there(problem.environment, name)]
    kept = wishes.kept | {TORCH, *absent}
    return msgspec.structs.replace(wishes, kept=kept, allow_build=False)


def hub_conflict(problem: Problem, cells: Iterable[tuple[Gpu, Backend]]) -> Iterator[Conflict]:
    """Yield why kernels of the Hub that were asked for cannot be had at all."""
    named = ", ".join(wish_text(cell) for cell in cells)
    if named and must_not_ask(problem.environment):
        because = "HF_HUB_OFFLINE forbids asking the Hub, and its cache has none"
        ways = (Alternative("unset HF_HUB_OFFLINE", ()), Alternative(_BRING, ()))
        yield Conflict(named, (because,), ways)


def is_costly(solution: Solution) -> bool:
    """Return whether a solution changes torch, compiles, or takes a file of somebody else."""
    return any(
        choice.kind in (ChoiceKind.BUILD, ChoiceKind.COMMUNITY) or choice.package == TORCH
        for choice in solution.changes
    )


def changes_of(problem: Problem, solution: Solution) -> Iterator[Change]:
    """Yield what a solution replaces by what."""
    for choice in solution.changes:
        before = fact_text(problem.environment.fact(f"{choice.package}.version"), "")
        yield Change(choice.distribution, before, choice.version)
