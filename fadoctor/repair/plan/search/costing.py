"""What a partial state costs at least, as far as its packages are decided."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.evaluate import Judgement
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.environment import Environment
from fadoctor.model.fact import fact_text
from fadoctor.model.finding import Severity
from fadoctor.model.packages import COMPILED_BESIDE, PACKAGES, TORCH, TRANSFORMERS
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.hub.hub_route import opens_route
from fadoctor.repair.plan.search.cost import Cost
from fadoctor.repair.plan.search.shortfall import (
    FAILS,
    UNDECIDED,
    Answer,
    best_answers,
    count_missed,
    failures,
    own_answer,
)
from fadoctor.repair.plan.search.wishes import wanted_of_hub
from fadoctor.repair.plan.states.backend_predictions import Outlooks, is_of_no_use
from fadoctor.repair.plan.states.relations import State

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.kernels import Gpu
    from fadoctor.model.verdict import Backend, Verdict
    from fadoctor.repair.plan.search.problem import Problem

_OTHER_RELEASE = 2
"""The distance from which on a torch is another release."""


class PartialState(msgspec.Struct, frozen=True):
    """A partial state, judged as far as its packages are decided."""

    state: State
    environment: Environment
    telling: tuple[Judgement, ...]
    """What rules hold against it, or cannot decide."""
    outlooks: Outlooks
    """Of the backends whose packages are decided."""
    quarrels: int = 0
    """Requirements between decided packages that are broken."""
    failing: tuple[Judgement, ...] = ()
    """Those of `telling` that are held against it: few of many."""
    deciding: tuple[Judgement, ...] = ()
    """Those of `telling` that can keep a backend from working."""
    bound: Cost = Cost()
    """What it costs at least, by what is decided."""
    ahead: Cost = Cost()
    """What all that follows from it costs at least."""


class Costs:
    """Those of one search."""

    def __init__(self, problem: Problem, telling: tuple[Backend, ...]) -> None:
        """Take the problem, and the backends that tell whether its wishes are met."""
        self.problem, self.telling = problem, telling
        self.from_hub = wanted_of_hub(problem.wishes)
        build = fact_text(problem.environment.fact("torch.build"), "")
        self.index = problem.session.candidates.indexes.of(build)
        """The index of the torch that is here, "" for PyPI and where none is known."""

    def at_least(self, bound: Cost, choice: Choice) -> Cost:
        """Return the least that a choice adds, before anything is judged."""
        if not choice.is_change:
            return bound
        problem = self.problem
        place = problem.by_age.index(choice.package)
        return Cost(
            bound.errors,
            bound.missed,
            bound.lost,
            bound.lowered + problem.lowers(choice),
            bound.torch + self._foundation(choice),
            bound.removed + (choice.kind is ChoiceKind.REMOVE),
            bound.warnings,
            bound.far + self._is_far(choice),
            bound.changed + self._replaces(choice),
            bound.builds + (choice.kind is ChoiceKind.BUILD),
            bound.community + (choice.kind is ChoiceKind.COMMUNITY),
            bound.hub + opens_route(choice, self.problem.there),
            bound.unproved,
            bound.steps + self._steps(choice),
            (*bound.ages[:place], choice.age, *bound.ages[place + 1 :]),
            bound.added + (choice.package not in self.problem.there),
        )

    def of(self, node: PartialState) -> Cost:
        """Return the least that a state can come to, once the other packages are decided."""
        problem, state = self.problem, node.state
        several = len(problem.gpus) > 1
        verdicts = [v for o in node.outlooks.values() for v in o.verdicts] if several else []
        changes = [choice for choice in state.values() if choice.is_change]
        kinds = [choice.kind for choice in changes]
        replaced = sum(choice.package in problem.there for choice in changes)
        changed = sum(map(self._replaces, changes))
        missed, unproved = self._missed(node)
        hub = sum(opens_route(choice, problem.there) for choice in changes)
        is_excused = partial(self._is_excused, node, verdicts)
        return Cost(
            errors=failures(node.failing, Severity.ERROR, is_excused)
            + node.quarrels
            + (hub and is_of_no_use(node.outlooks, self.from_hub)),
            missed=missed,
            lost=sum(outlook.lost for outlook in node.outlooks.values()),
            lowered=sum(map(problem.lowers, changes)),
            torch=sum(map(self._foundation, changes)),
            removed=kinds.count(ChoiceKind.REMOVE),
            warnings=failures(node.failing, Severity.WARNING, is_excused),
            far=sum(map(self._is_far, changes)),
            changed=changed,
            builds=kinds.count(ChoiceKind.BUILD),
            community=kinds.count(ChoiceKind.COMMUNITY),
            hub=hub,
            unproved=unproved,
            steps=sum(map(self._steps, changes)),
            ages=tuple(state[name].age if name in state else 0 for name in problem.by_age),
            added=len(changes) - replaced,
        )

    def _replaces(self, choice: Choice) -> bool:
        """Return whether a choice replaces what is there: transformers in an open line does not.

        Nothing is compiled for it, and of two that do not go together the open one gives way.
        """
        is_open = choice.package == TRANSFORMERS and self.problem.is_left_open(choice)
        return choice.package in self.problem.there and not is_open

    def _foundation(self, choice: Choice) -> int:
        """Return what it costs that a choice moves torch, or what is compiled for one torch."""
        if choice.package == TORCH:
            return min(choice.distance, _OTHER_RELEASE) + self._leaves_range(choice)
        return _OTHER_RELEASE * self._moves_what_is_compiled(choice)

    def _leaves_range(self, choice: Choice) -> bool:
        """Return whether a file asks for other releases of torch: its line has to go then."""
        asked = self.problem.environment.asked.get(PACKAGES[TORCH][0], "")
        base = version_part(choice.version, "base") or choice.version
        return bool(asked) and choice.distance >= _OTHER_RELEASE and not accepts(asked, base)

    def _is_far(self, choice: Choice) -> bool:
        """Return whether a choice moves torch by more than a patch, or what is compiled for one."""
        return choice.distance > _OTHER_RELEASE or self._moves_what_is_compiled(choice)

    def _moves_what_is_compiled(self, choice: Choice) -> bool:
        return choice.package in COMPILED_BESIDE and choice.package in self.problem.there

    def _steps(self, choice: Choice) -> int:
        """Return how many minor releases of torch a choice goes on or back, if nobody asked.

        An index that has to be named in every command and file from then on is one more, where none
        is by now.
        """
        if choice.distance <= _OTHER_RELEASE or self.problem.wishes.asked:
            return 0
        is_first = bool(choice.index) and not self.index
        return choice.distance - _OTHER_RELEASE + is_first

    def _is_excused(self, node: PartialState, verdicts: list[Verdict], each: Judgement) -> bool:
        """Return whether what fails on one GPU works, or may come to work, on another."""
        problem = self.problem
        if not problem.may_be_excused(verdicts, each):
            return False
        undecided = problem.cells.concerned(each).difference(node.outlooks)
        return bool(undecided) or problem.is_excused(verdicts, each)

    def _missed(self, node: PartialState) -> Answer:
        """Return what is missed already; of undecided backends what no further choice can mend."""
        wishes, outlooks = self.problem.wishes, node.outlooks
        decided = [backend for backend in self.telling if backend in outlooks]
        verdicts = [verdict for backend in decided for verdict in outlooks[backend].verdicts]
        best = best_answers(verdicts, node.telling, node.environment)
        missed, unproved = count_missed(wishes, node.state, node.environment, best, decided)
        open_ = [cell for cell in wishes.cells if self._is_open(cell, outlooks)]
        ways = {cell: self._ways(cell) for cell in open_}
        waiting = [way for some in ways.values() for way in some if way[1] not in outlooks]
        doomed = set(self.problem.doomed(node.failing, waiting))

        def least(way: tuple[Gpu, Backend]) -> int:
            if way[1] in outlooks:
                return own_answer(wishes, way, best)[0]
            if way in doomed:
                return FAILS[0]
            hopes = (
                way[1] in wishes.hoped or way not in wishes.cells or way in self.problem.can_work
            )
            return 0 if hopes else UNDECIDED[0]

        missed += sum(min(map(least, ways[cell])) for cell in open_)
        return missed, unproved

    def _ways(self, cell: tuple[Gpu, Backend]) -> list[tuple[Gpu, Backend]]:
        """Return a wished cell, and what else meets the wish."""
        other = self.problem.wishes.instead.get(cell[1])
        return [cell] if other is None else [cell, (cell[0], other)]

    def _is_open(self, cell: tuple[Gpu, Backend], outlooks: Outlooks) -> bool:
        """Return whether not all that a wish can be met by is decided."""
        return any(backend not in outlooks for _, backend in self._ways(cell))
