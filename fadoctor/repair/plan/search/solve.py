"""Search for the cheapest state: depth first over the packages, cut off by the cost so far."""

from __future__ import annotations

from itertools import chain, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import fact_mapping
from fadoctor.model.finding import Outcome
from fadoctor.model.packages import TORCH
from fadoctor.model.verdict import Backend
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, keep
from fadoctor.repair.plan.search.ahead import CostsAhead
from fadoctor.repair.plan.search.alike import SameStance
from fadoctor.repair.plan.search.cost import Cost
from fadoctor.repair.plan.search.costing import Costs, PartialState
from fadoctor.repair.plan.search.depths import Depths
from fadoctor.repair.plan.search.last_ranges import exactly
from fadoctor.repair.plan.search.solution import Solution
from fadoctor.repair.plan.search.told import Told
from fadoctor.repair.plan.states.follow_ups import Aftermath, aftermath

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from fadoctor.judging.engine.evaluate import Judgement
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import Relation, State
    from fadoctor.repair.plan.states.requirements import Violation

    Seen = dict[Hashable, tuple[Choice, tuple[int, int]]]

NODE_LIMIT = 1_200
"""Steps of one search: each is a partial state, or something that takes as long. No search takes
more than a second so, and each machine finds the same. That of a real environment needs a hundred.
"""

ALL_STEPS = 1_500
"""Steps of all searches for one plan."""

_AT_FIRST = 6
"""Which part of its steps a search may take before it looks beside each torch in turn."""

_EACH_TORCH = 3
"""Which part of its steps a search may take beside each torch in turn."""

_BESIDE = 4
"""Which part of its steps a search may take beside the torch of the best state so far."""

_FOLLOWING = 4
"""Steps that are as long as finding what follows from a whole state."""

_CHOICES = 40
"""Choices that are as long as a step where each is left out at a glance."""

_SLOWED_BY = 30
"""Installed packages that make a step as long as one more."""


def solve(problem: Problem, limit: int = NODE_LIMIT, *, gives_up: bool = False) -> Solution:
    """Return the state of least cost; of several the first in the order of choices.

    `limit`: partial states that are looked at; what was found by then is not complete, and of no
    use to one that gives up.
    """
    search = _Search(problem, must_meet=False, limit=limit, gives_up=gives_up)
    found = search.run() or Solution((), Cost(), complete=False)
    problem.steps += search.nodes
    return found


def solve_wishes(problem: Problem, limit: int = NODE_LIMIT) -> Solution | None:
    """Return the state of least cost among those that meet every wish; None where none does."""
    return _Search(problem, must_meet=True, limit=limit).run()


def can_meet(problem: Problem, limit: int = NODE_LIMIT) -> tuple[bool, int]:
    """Return whether any state meets every wish, at whatever cost, and how many steps that took."""
    search = _Search(problem, must_meet=True, any_will_do=True, limit=limit)
    return search.run() is not None, search.nodes


class _Search:
    """One depth-first search."""

    def __init__(
        self,
        problem: Problem,
        *,
        must_meet: bool,
        any_will_do: bool = False,
        gives_up: bool = False,
        limit: int = NODE_LIMIT,
    ) -> None:
        self.problem, self.limit, self.gives_up = problem, limit, gives_up
        self.any_will_do, self.must_meet = any_will_do, must_meet
        self.depth = len(problem.packages)
        self.relations: list[list[Relation]] = [[] for _ in range(self.depth + 1)]
        """Those that are judged once so many packages are decided, what refused a state last first:
        its siblings often fail by the same."""
        self.wished = wished = tuple(dict.fromkeys(backend for _, backend in problem.wishes.cells))
        instead = problem.wishes.instead
        telling = (*wished, *(instead[backend] for backend in wished if backend in instead))
        self.costs = Costs(problem, telling)
        self.ahead = CostsAhead(problem, self.costs, must_meet=must_meet)
        self.alike = SameStance(problem)
        depths = Depths(problem)
        for relation in problem.relations:
            if any_will_do and not problem.can_forbid(relation, telling):
                continue  # whatever else is wrong there does not matter
            self.relations[depths.of_relation(relation)].append(relation)
        self.backends: list[list[Backend]] = [[] for _ in range(self.depth + 1)]
        for backend in telling if any_will_do else Backend:
            self.backends[depths.of_backend(backend)].append(backend)
        self.relevant = self._relevant(telling) if any_will_do else set(problem.packages)
        self.best: Solution | None = None
        self.nodes = 0
        self.is_greedy = False
        """Whether beside each torch only the best choice of what else comes is looked at.

        A state without a warning is soon found so, and leaves little of the others to look at. What
        was cut off among the releases beside one torch comes to the others so."""
        there = fact_mapping(problem.environment.fact("packages.installed"))
        self.step = 1 + len(there) // _SLOWED_BY
        self.told = Told(problem, self.relations)
        self.beside = ""
        """The key of the one torch that is looked at, if one is."""
        self.comes_again = False
        """Whether the states that are looked at are looked at once more."""
        self._judged_once: dict[Hashable, PartialState | None] = {}
        self._domains: dict[Hashable, list[Choice]] = {}
        self._ends: dict[Hashable, Aftermath] = {}
        """What follows from states that are looked at once more, by their choices."""
        self.path: list[PartialState] = []
        """The states from the first to the one that is looked at."""
        self.excess: list[int | None] = []
        """For each of them how many more requirements are broken whatever follows; None where that
        was not asked."""

    def run(self) -> Solution | None:
        root, whole = self._root(), self.limit
        is_large = self.problem.is_from_nothing
        self.comes_again = not (self.gives_up or self.any_will_do)
        if self.comes_again and not is_large and self._is_small(root):
            complete = True
        else:
            if self.comes_again:
                # of each torch what is best beside it: it leaves little to look at
                most = whole if is_large else min(whole, self.nodes + whole // _EACH_TORCH)
                self._descended(root, most, is_greedy=True)
                self._improve(root, whole)
                self.comes_again = False
            complete = self._descended(root, whole)
        if self.best is None:
            return None
        chosen = self.best.choices[: self.depth]
        choices = chosen if self.any_will_do else self._settled(chosen)
        return msgspec.structs.replace(
            self.best, choices=choices, nodes=self.nodes, complete=complete
        )

    def _is_small(self, root: PartialState) -> bool:
        """Return whether all states are looked at within a few steps, by trying."""
        return self._descended(root, min(self.limit, self.nodes + self.limit // _AT_FIRST))

    def _improve(self, root: PartialState, whole: int) -> None:
        """Look at what else may come beside the torch of the best state."""
        if self.best is not None and TORCH in self.problem.packages:
            place = self.problem.packages.index(TORCH)
            self.beside = self.best.choices[place].key
            self._descended(root, min(whole, self.nodes + whole // _BESIDE))
            self.beside = ""

    def _descended(self, root: PartialState, limit: int, *, is_greedy: bool = False) -> bool:
        """Look at all states that follow from the first; return whether none was left out."""
        self.is_greedy, self.limit = is_greedy, limit
        self._descend(root)
        return self.nodes < limit

    def _settled(self, chosen: tuple[Choice, ...]) -> tuple[Choice, ...]:
        """Return the choices of the best state, with what follows chosen with care."""
        problem = self.problem
        state = dict(zip(problem.packages, chosen, strict=True))
        after = problem.environment
        for package in problem.order:
            after = problem.trial.apply(after, state[package])
        followers = aftermath(problem, state, after, careful=True).followers
        return (*exactly(problem, chosen, followers, after), *followers)

    def _relevant(self, wished: tuple[Backend, ...]) -> set[str]:
        """Return the packages that can keep backends from working, or that are wished for."""
        kernels = self.problem.kernels
        found = {name for relations in self.relations for r in relations for name in r.mentions}
        found |= {name for backend in wished for name in kernels.decided_by(backend)}
        return found | set(self.problem.wishes.packages)

    def _root(self) -> PartialState:
        """Judge the state in which nothing is decided."""
        nothing = PartialState({}, self.problem.environment, (), {})
        fresh = self._fresh(self.problem.environment, {}, Cost())
        return self._judged(nothing, {}, self.problem.environment, 0, fresh or [])

    def _fresh(self, environment: Environment, state: State, least: Cost) -> list[Judgement] | None:
        """Return what is told once so many packages are decided; None if that is too much.

        `least`: what the state costs at least, before that.
        """
        relations = self.relations[len(state)]
        found: list[Judgement] = []
        for place, told, errors in self.told.of(relations, state, environment):
            found += told
            if errors:
                least = msgspec.structs.replace(least, errors=least.errors + errors)
                if not self._can_win(least):
                    relations.insert(0, relations.pop(place))
                    return None
        return found

    def _judged(
        self,
        before: PartialState,
        state: State,
        environment: Environment,
        quarrels: int,
        fresh: list[Judgement],
    ) -> PartialState:
        """Judge a partial state that follows another one; `fresh`: what is told since."""
        depth = len(state)
        problem = self.problem
        telling = (*before.telling, *fresh)
        decide = problem.cells.deciding(fresh)
        deciding = (*before.deciding, *decide)
        outlooks = problem.cells.next(
            (before.environment, before.outlooks), environment, (deciding, decide),
            self.backends[depth],
        ) if problem.gpus else {}  # fmt: skip
        failing = (*before.failing, *(each for each in fresh if each.outcome is Outcome.FAIL))
        node = PartialState(
            state, environment, telling, outlooks, before.quarrels + quarrels, failing, deciding
        )
        bound = self.costs.of(node)
        ahead = self.ahead.of(bound, state, environment)
        return msgspec.structs.replace(node, bound=bound, ahead=ahead)

    def _descend(self, node: PartialState) -> None:
        """Decide the next package: as it is where that does no harm, then the most promising."""
        if not self._can_win(node.ahead) or (self.gives_up and self.nodes >= self.limit):
            return
        depth = len(node.state)
        if depth == self.depth:
            self._finish(node)
            return
        self.path[depth:], self.excess[depth:] = [node], [None]
        package = self.problem.order[depth]
        choices = self._domain(package, node)
        if package == TORCH and self.beside:
            choices = [each for each in choices if each.key == self.beside]
        if not choices:
            return  # nothing of it goes with what is decided
        if self.is_greedy and package != TORCH:
            choices = choices[: 1 + (choices[0].kind is ChoiceKind.KEEP)]
        self.nodes += len(choices) // _CHOICES
        first, *others = choices
        seen: Seen = {}
        children = [*self._children(node, package, [first], seen)]
        if children and children[0].ahead.is_no_worse_than(node.ahead):
            self._descend(children.pop())
        affordable = takewhile(
            lambda _: self.nodes < self.limit and not self._is_lost(depth), others
        )
        promising = self._children(node, package, affordable, seen)
        if not self.any_will_do:
            promising = iter(sorted((*children, *promising), key=attrgetter("ahead")))
            children = []
        for child in chain(children, promising):
            if self._is_lost(depth):
                return
            self._descend(child)

    def _is_lost(self, depth: int) -> bool:
        """Return whether what is known to be broken at a state on the path leaves it no hope."""
        return bool(self.excess[depth]) and self._is_in_vain(depth, self.excess[depth] or 0)

    def _is_in_vain(self, depth: int, excess: int) -> bool:
        """Return whether nothing wins that follows from a state, if so much more is broken."""
        bound = self.path[depth].bound
        return not self._can_win(msgspec.structs.replace(bound, errors=bound.errors + excess))

    def _learn(self, broken: Iterable[Violation]) -> None:
        """Ask, from the last state on the path upwards, what is broken whatever is chosen next.

        A whole state broke requirements. Where these are between packages that were decided long
        before, all that follows from these breaks them, too.
        """
        for depth in reversed(range(len(self.path))):
            node = self.path[depth]
            undecided = self.problem.packages_after(node.state)
            broken = [each for each in broken if not each.is_about(undecided)]
            if not self._is_in_vain(depth, max(0, len(broken) - node.quarrels)):
                return
            if self.excess[depth] is None:
                self.nodes += max(self.step - 1, _FOLLOWING)
                found = self._following(node, undecided)
                self.excess[depth] = max(0, len(found.broken) - node.quarrels)
            if not self._is_lost(depth):
                return

    def _following(self, node: PartialState, undecided: frozenset[str] = frozenset()) -> Aftermath:
        """Return what follows from a state, whatever is chosen for what is not decided yet."""
        asked = _told_apart(node.state)
        if asked not in self._ends:
            self._ends[asked] = aftermath(
                self.problem, node.state, node.environment, undecided=undecided
            )
        return self._ends[asked]

    def _domain(self, package: str, node: PartialState) -> list[Choice]:
        if package not in self.relevant:
            return [keep(package)]  # whatever is wrong with it does not matter
        asked = _told_apart(node.state)
        if asked not in self._domains:
            self._domains[asked] = self.problem.domain(package, node.environment, node.state)
        return self._domains[asked]

    def _children(
        self, node: PartialState, package: str, choices: Iterable[Choice], seen: Seen
    ) -> Iterator[PartialState]:
        """Yield the states after one more choice that may come to win.

        `seen`: what came before among those of the node; a release that is like a newer one is
        left out.
        """
        is_told = self.ahead.is_told_of(package, node.state)
        known = node.bound if is_told else node.ahead
        following = self.ahead.children(node.state, package)
        beside = self.ahead.unchosen.beside(node.state)
        for choice in choices:
            if not self._can_win(self.costs.at_least(known, choice)):
                continue
            more = self.ahead.unchosen.more(beside, choice)
            kind = self.alike.key(choice)
            if kind is not None and seen.setdefault(kind, (choice, more)) != (choice, more):
                if seen[kind][1] <= more:
                    continue
                seen[kind] = choice, more
            least = self.costs.at_least(node.bound, choice)
            state = {**node.state, package: choice}
            if not self._can_win(following(self.told.within(least, state), choice, more)):
                continue
            asked = _told_apart(state)
            if asked in self._judged_once:
                if (again := self._judged_once[asked]) is not None:
                    yield again
                continue
            self.nodes += self.step
            after = self.problem.trial.apply(node.environment, choice)
            quarrels = self.problem.quarrels.count(state, after, package)
            least = msgspec.structs.replace(least, errors=least.errors + quarrels)
            least = self.ahead.of(least, state, after)
            fresh = self._fresh(after, state, least) if self._can_win(least) else None
            found = None if fresh is None else self._judged(node, state, after, quarrels, fresh)
            if self.comes_again:
                self._judged_once[asked] = found
            if found is not None:
                yield found

    def _can_win(self, cost: Cost) -> bool:
        if (self.must_meet and cost.missed) or (self.any_will_do and self.best is not None):
            return False
        return self.best is None or cost < self.best.cost

    def _finish(self, node: PartialState) -> None:
        """Take in what follows from a whole state; it becomes the best one where it is."""
        self.nodes += max(self.step - 1, _FOLLOWING)
        found = self._following(node)
        cost = msgspec.structs.replace(
            node.bound,
            errors=node.bound.errors - node.quarrels + len(found.broken),
            warnings=node.bound.warnings
            + self.problem.left_unmet.count(node.environment, found.followers),
            changed=node.bound.changed + found.replaced,
            added=node.bound.added + len(found.followers) - found.replaced,
        )
        if self._can_win(cost):
            chosen = tuple(node.state[package] for package in self.problem.packages)
            self.best = Solution((*chosen, *found.followers), cost)
        elif len(found.broken) > node.quarrels and not self.any_will_do:
            self._learn(found.broken)


def _told_apart(state: State) -> tuple[tuple[str, str], ...]:
    """Return what tells a state apart from others."""
    return tuple((name, choice.key) for name, choice in state.items())
