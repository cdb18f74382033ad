"""The search finds what trying everything finds; costs only grow along the way."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from fadoctor.judging.engine.judge import judge
from fadoctor.judging.engine.weaker_gpu import reads_outcomes
from fadoctor.judging.verdicts.predict import predict
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.model.fact import fact_text
from fadoctor.model.finding import Severity
from fadoctor.model.verdict import Predicted
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.hub.hub_route import opens_route
from fadoctor.repair.plan.search.cost import Cost
from fadoctor.repair.plan.search.shortfall import best_answers, count_lost, count_missed, failures
from fadoctor.repair.plan.search.solve import solve, solve_wishes
from fadoctor.repair.plan.search.wished_names import HUB
from fadoctor.repair.plan.search.wishes import HALF, wanted_of_hub
from fadoctor.repair.plan.states.follow_ups import aftermath
from tests.unit.repair.plan.problems import golden, problem, with_package

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem

TORCHES = {"2.5.1", "2.6.0+cu126", "2.8.0", "2.8.0+cu126", "2.10.0", "2.13.0+cu126", "2.14.1"}
"""Enough of torch to choose from; trying all of it takes minutes."""

CASES: dict[str, tuple[Environment, dict[str, Any]]] = {
    "a kernel of the Hub is asked for": (
        with_package(golden("linux-a100-healthy"), "transformers", "5.22.2"),
        {"want": ("hub-fa2",)},
    ),
    "no file for this torch": (
        with_package(
            golden("linux-4090-wheel-mismatch", torch__version="2.14.1"), "transformers", "5.23.0"
        ),
        {},
    ),
    "the same without the Hub": (
        with_package(
            golden("linux-4090-wheel-mismatch", torch__version="2.14.1"), "transformers", "5.23.0"
        ),
        {"no_hub": True},
    ),
    "wrong wheel": (golden("linux-4090-wheel-mismatch"), {}),
    "old driver": (golden("linux-4090-wheel-mismatch", driver__version="525.60.13"), {}),
    "torch too old for the GPU": (golden("linux-5090-torch26"), {}),
    "GPU too old": (golden("linux-v100-torch210"), {}),
    "healthy": (golden("linux-a100-healthy"), {}),
    "two GPUs": (golden("linux-v100-and-a100"), {}),
    "wrong triton": (golden("linux-a100-healthy", triton__version="3.1.0"), {}),
    "xformers of another torch": (
        with_package(golden("linux-a100-healthy"), "xformers", "0.0.28", {"torch": "==2.4.1"}), {}
    ),
    "kept torch": (golden("linux-5090-torch26"), {"keep": ("torch",)}),
    "Python without wheels": (
        golden("linux-4090-wheel-mismatch", python__version="3.14.0", python__tag="cp314",
               python__abi_tag="cp314", python__ext_suffix=".cpython-314-x86_64-linux-gnu.so"), {}
    ),
}  # fmt: skip


def states(made: Problem) -> Iterator[tuple[tuple[Choice, ...], Environment]]:
    """Yield every state, with nothing left out."""
    partial: list[tuple[tuple[Choice, ...], Environment]] = [((), made.environment)]
    for depth, package in enumerate(made.packages):
        partial = [
            ((*chosen, choice), made.session.post.apply(environment, choice))
            for chosen, environment in partial
            for choice in made.domain(package, environment, made.packages[:depth])
            if package != "torch" or not choice.is_change or choice.version in TORCHES
        ]
    yield from partial


def full_cost(made: Problem, chosen: tuple[Choice, ...], after: Environment) -> Cost:
    """Return what a whole state costs, judged from nothing, with every rule."""
    state = dict(zip(made.packages, chosen, strict=True))
    matrix = made.session.matrix
    assessment = judge(after, made.session.knowledge, matrix)
    verdicts = predict(Kernels(after, matrix), assessment)
    backends = {verdict.backend for verdict in verdicts} | {b for _, b, _ in made.worked}
    backends |= {backend for _, backend in made.wishes.cells} | set(HUB.values())
    changes = [choice for choice in chosen if choice.is_change]
    kinds = [choice.kind for choice in changes]
    replaced = sum(choice.package in made.there for choice in changes)
    best = best_answers(verdicts, assessment.judgements, after)
    missed, unproved = count_missed(made.wishes, state, after, best, backends)
    found = aftermath(made, state, after)
    is_excused = partial(made.is_excused, verdicts)
    # What is said of GPUs beside others follows from what is excused.
    judgements = [each for each in assessment.judgements if not reads_outcomes(each.rule)]
    index = made.session.candidates.indexes.of(fact_text(made.environment.fact("torch.build"), ""))
    hub, distance = sum(opens_route(c, made.there) for c in changes), state["torch"].distance
    from_hub = [v for v in verdicts if v.backend in wanted_of_hub(made.wishes) and v.dtype in HALF]
    useless = hub and all(verdict.predicted is Predicted.FAILS for verdict in from_hub)
    return Cost(
        errors=failures(judgements, Severity.ERROR, is_excused) + len(found.broken) + useless,
        missed=missed,
        lost=count_lost(made.worked, verdicts, backends),
        torch=min(distance, 2),
        removed=kinds.count(ChoiceKind.REMOVE),
        warnings=failures(judgements, Severity.WARNING, is_excused),
        far=distance > 2,
        changed=replaced + found.replaced,
        builds=kinds.count(ChoiceKind.BUILD),
        community=kinds.count(ChoiceKind.COMMUNITY),
        hub=hub,
        unproved=unproved,
        steps=0
        if made.wishes.asked or distance < 3
        else distance - 2 + (bool(state["torch"].index) and not index),
        ages=tuple(choice.age for choice in chosen),
        added=len(changes) - replaced + len(found.followers) - found.replaced,
    )


# Trying every state with kernels of the Hub takes minutes.
@pytest.mark.long
@pytest.mark.thinned
@pytest.mark.parametrize("name", [each for each in CASES if "Hub" not in each])
def test_no_state_is_cheaper(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environment, wishes = CASES[name]
    made = problem(environment, **wishes)
    whole = made.session.candidates.torch

    def some(environment: Environment) -> tuple[Choice, ...]:
        return tuple(choice for choice in whole(environment) if choice.version in TORCHES)

    monkeypatch.setattr(made.session.candidates, "torch", some)
    found = solve(made)
    best = min(full_cost(made, chosen, after) for chosen, after in states(made))
    assert found.complete
    assert found.cost == best


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_the_cost_of_the_solution_is_the_cost_of_its_state(name: str) -> None:
    """What the search adds up from remembered judgements is what judging afresh says."""
    environment, wishes = CASES[name]
    made = problem(environment, **wishes)
    found = solve(made)
    chosen = found.choices[: len(made.packages)]
    after = made.session.post.after(made.environment, chosen)
    assert found.cost == full_cost(made, chosen, after)
    assert found.complete


@pytest.mark.parametrize("name", ["wrong wheel", "torch too old for the GPU"])
def test_the_same_problem_has_the_same_solution(name: str) -> None:
    environment, wishes = CASES[name]
    assert solve(problem(environment, **wishes)) == solve(problem(environment, **wishes))


def test_wishes_that_cannot_be_met_have_no_solution() -> None:
    environment, wishes = CASES["kept torch"]
    assert solve_wishes(problem(environment, **wishes)) is None
    free = solve_wishes(problem(environment))
    assert free is not None
    assert free.cost.missed == 0


def test_costs_are_compared_field_by_field() -> None:
    assert Cost(errors=1) > Cost(missed=9, torch=2, changed=9)
    assert Cost(torch=1) > Cost(removed=3, changed=9)
    assert Cost(builds=1) > Cost(community=5)
    assert Cost(community=1) > Cost(ages=(9, 9))
    assert Cost(ages=(0, 3)) < Cost(ages=(1, 0))


def test_a_search_that_gives_up_looks_at_nothing_past_its_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment, options = CASES["torch too old for the GPU"]
    steps: list[int] = []
    for gives_up in (False, True):
        asked = problem(environment, **options)
        taken = 0
        domain = asked.domain

        def counted(*given: Any, domain: Any = domain) -> Any:
            nonlocal taken
            taken += 1
            return domain(*given)

        monkeypatch.setattr(asked, "domain", counted)
        assert not solve(asked, 8, gives_up=gives_up).complete
        steps.append(taken)
    assert steps[1] < steps[0] / 2
