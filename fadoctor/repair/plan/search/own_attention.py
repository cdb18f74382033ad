"""torch's own attention instead of a package that cannot be had: what works without it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.verdicts.predict import predict
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.model.packages import COMPILED_BESIDE
from fadoctor.model.plan import Alternative
from fadoctor.model.verdict import Backend, Predicted
from fadoctor.repair.plan.hub.hub_ways import changes_of
from fadoctor.repair.plan.proof import prove
from fadoctor.repair.plan.search.problem import Problem
from fadoctor.repair.plan.search.solve import solve
from fadoctor.repair.plan.search.wishes import WishRequest, wishes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.kernels import Gpu
    from fadoctor.model.plan import Change
    from fadoctor.model.verdict import Verdict
    from fadoctor.repair.plan.search.problem import Base

_OWN = (Backend.SDPA_FLASH, Backend.SDPA_EFFICIENT)
_INSTEAD = {Predicted.WORKS: "", Predicted.UNKNOWN: ", though whether it works here is not proved"}
"""What is said of torch's own attention, the better answer first."""


class OwnAttention:
    """torch's own attention as another way; where there is no torch, with one that has it."""

    def __init__(self, problem: Problem, base: Base, after: tuple[Verdict, ...]) -> None:
        """Take what is predicted of the state in which a plan ends."""
        self.problem = problem
        self.base = base
        self.after = after

    def instead(self, gpu: Gpu) -> Iterator[Alternative]:
        """Yield it where it works on a GPU, or may; a server that was asked for is not replaced."""
        asked = self.problem.wishes.asked
        if asked and {*asked} <= {*COMPILED_BESIDE}:
            return
        own, changes = self._found
        mine = [verdict for verdict in own if verdict.gpu == gpu.label]
        needs = "" if changes else ": nothing has to be installed"
        for answer, words in _INSTEAD.items():
            for verdict in mine:
                if verdict.predicted is answer:
                    what = f"{verdict.backend.value}, {verdict.dtype.value}"
                    yield Alternative(f"use torch's own attention ({what}){words}{needs}", changes)
                    return

    @cached_property
    def _found(self) -> tuple[list[Verdict], tuple[Change, ...]]:
        """Return what is predicted of it, and what would have to be installed."""
        own = [verdict for verdict in self.after if verdict.backend in _OWN]
        if own:
            return own, ()
        asked = WishRequest(want=("torch",), no_hub=True)
        wishes = wishes_of(self.problem.kernels, (), (), asked)
        wishes = msgspec.structs.replace(wishes, kept=self.problem.wishes.kept)
        session, environment = self.problem.session, self.problem.environment
        problem = Problem(session, environment, wishes, self.base, self.problem.others)
        solution = solve(problem)
        after = session.post.after(environment, solution.changes)
        proof, assessment = prove(problem, after)
        verdicts = predict(Kernels(after, session.matrix), assessment) if proof.clean else ()
        own = [verdict for verdict in verdicts if verdict.backend in _OWN]
        return own, tuple(changes_of(problem, solution))
