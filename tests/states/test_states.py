"""Every broken state gets a plan that ends clean, or a reason why there is none.

The whole enumeration takes minutes: a step of CI asks for it. A sample always runs.
"""

from __future__ import annotations

import multiprocessing
import os
import random
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.plan import ActionKind, Plan, PlanOutcome
from fadoctor.plan.planner import Question, make_plan
from tests.catalogue.evaluation import Doctor
from tests.states.commands import Commands, commands, difference
from tests.states.enumeration import DRIVERS, PYTHONS, Judged, Space, State, made, violated
from tests.states.resolver import UV, Resolver
from tests.unit.plan.problems import session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


SAMPLE = 30
SEED = 6
MOST = 20_000


def sample(space: Space, count: int, seed: int = SEED) -> Iterator[State]:
    """Yield states at random."""
    chance = random.Random(seed)  # noqa: S311 -- not for secrets
    while count:
        state = space.member(tuple(chance.randrange(10**9) for _ in range(7)))
        if state is not None:
            count -= 1
            yield state


def fault(plan: Plan, state: State) -> str:
    """Return what is wrong with a plan for a state, "" where nothing is."""
    if plan.outcome in (PlanOutcome.REPAIRS, PlanOutcome.NOTHING):
        return "" if plan.proof.clean else f"not clean: {plan.proof}"
    if plan.proof.clean and not any(action.kind.is_run for action in plan.actions):
        return ""  # only warnings, for a person
    # A driver of CUDA 11 knows no Blackwell, and no torch of CUDA 11 has code for it.
    # Of those torch builds none requires a triton for Python 3.13: there is no flex attention.
    too_new = state.gpu in ("10.0", "12.0") or state.python == PYTHONS[-1]
    hopeless = state.driver == DRIVERS[0] and too_new
    because = {text for conflict in plan.conflicts for text in conflict.because}
    if hopeless and f"the NVIDIA driver is {state.driver}" in because:
        return ""
    if plan.proof.lost or plan.proof.requirements:
        return f"something is lost: {plan.proof}"
    return f"left as it is: {plan.proof} {plan.conflicts}"


def plan_of(state: State, space: Space) -> Plan:
    return make_plan(made(state, space), session(), Question())


def test_the_sample_ends_clean(space: Space) -> None:
    wrong = {
        state: found
        for state in sample(space, SAMPLE)
        if (found := fault(plan_of(state, space), state))
    }
    assert wrong == {}


def test_plans_run_only_what_they_say(space: Space) -> None:
    for state in sample(space, 5, seed=1):
        for action in plan_of(state, space).actions:
            assert bool(action.argv) is action.kind.is_run
            assert action.kind is not ActionKind.BUILD  # nobody allowed one


WHOLE = pytest.mark.skipif(
    "enumeration" not in os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(","),
    reason="takes minutes; set FADOCTOR_TESTS_REQUIRE=enumeration",
)


PROCESSES = 2


@pytest.fixture(scope="module")
def found() -> dict[frozenset[str], State]:
    """Return one state for each distinct set of violated relations."""
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        found = pool.map(_representatives, range(PROCESSES))
    return {broken: state for part in found for broken, state in part.items()}


@WHOLE
@pytest.mark.slow
def test_reduction(space: Space, doctor: Doctor, found: dict[frozenset[str], State]) -> None:
    """Whatever state is drawn from the whole space, one that violates the same is among them."""
    assert 1_000 < len(found) <= MOST
    assert space.size() > 10**8
    states = list(sample(space, 500))
    missing = [state for state in states if violated(made(state, space), doctor) not in found]
    assert missing == []


@cache
def _space() -> Space:
    """Return the space in a process of its own."""
    from fadoctor.matrix.wheels import Wheels  # noqa: PLC0415
    from tests.catalogue.environments import Torches  # noqa: PLC0415
    from tests.shipped import compiled  # noqa: PLC0415

    knowledge = compiled().knowledge
    return Space(knowledge, Torches(knowledge.tables), tuple(Wheels(knowledge.tables).official()))


def _representatives(part: int) -> dict[frozenset[str], State]:
    space = _space()
    return Judged(space, Doctor(space.knowledge)).representatives(part, PROCESSES)


def _planned(state: State) -> tuple[str, str, Commands]:
    plan = plan_of(state, _space())
    return plan.outcome.value, fault(plan, state), commands(plan)


@pytest.fixture(scope="module")
def answers(found: dict[frozenset[str], State]) -> dict[State, tuple[str, str, Commands]]:
    """Return for each representative the outcome, what is wrong with its plan, and its commands."""
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        planned = pool.map(_planned, found.values(), chunksize=50)
    return dict(zip(found.values(), planned, strict=True))


@WHOLE
@pytest.mark.slow
def test_every_representative_ends_clean(
    answers: dict[State, tuple[str, str, Commands]],
) -> None:
    print(len(answers), Counter(outcome for outcome, _, _ in answers.values()))  # noqa: T201 -- the result
    assert [wrong for _, wrong, _ in answers.values() if wrong][:5] == []


@WHOLE
@pytest.mark.slow
@pytest.mark.skipif(not UV, reason="needs uv")
def test_commands_of_every_plan_end_in_its_state(
    answers: dict[State, tuple[str, str, Commands]], tmp_path: Path
) -> None:
    """Each distinct plan of the enumeration is put to a resolver."""
    resolver = Resolver(session().matrix, tmp_path)
    distinct = {made_of: state for state, (_, _, made_of) in answers.items() if made_of}
    wrong = {}
    for state in distinct.values():
        before = made(state, _space())
        if error := difference(plan_of(state, _space()), before, resolver):
            wrong[state] = error
    print(len(distinct), "distinct plans", resolver.asked, "commands")  # noqa: T201 -- the result
    assert list(wrong.items())[:5] == []
    assert len(distinct) > 300
