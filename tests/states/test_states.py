"""Every broken state gets a plan that ends clean, or a reason why there is none.

A sample always runs. Five hundred states, no two of which break the same rules with torches of one
eighth, are in eight parts that processes share; of their commands a resolver is asked what they
would do. With as many plans of what people start from (`test_commands`) they are a thousand: a step
of CI asks for a sixth of them, a workflow once a week for all. The whole enumeration takes an hour:
it is there by hand.
"""

from __future__ import annotations

import multiprocessing
import random
from collections import Counter
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.plan import ActionKind, Plan, PlanOutcome
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from tests.catalogue.evaluation import Doctor
from tests.states.commands import Commands, commands
from tests.states.commands import fault as fault_of_commands
from tests.states.conftest import REQUIRED
from tests.states.enumeration import (
    DRIVERS,
    EXTENSIONS,
    GPUS,
    PYTHONS,
    TRITONS,
    Judged,
    Space,
    State,
    made,
    members,
    space_of,
    violated,
)
from tests.states.promises import broken_promise, misplaced_by_hand, needless_torch
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from tests.states.resolver import Resolver

SAMPLE = 30
SEED = 6
MOST = 20_000
PARTS = 8
STATES_OF_A_PART = 65
LEAST_COMMANDS = 30
"""Distinct sequences of commands in each part; there are some forty."""


def asked(name: str, takes: str) -> pytest.MarkDecorator:
    """Return the mark of tests that run where they are asked for."""
    reason = f"takes {takes}; set FADOCTOR_TESTS_REQUIRE={name}"
    return pytest.mark.skipif(name not in REQUIRED, reason=reason)


THOUSAND = asked("enumeration", "minutes")
WHOLE = asked("whole-enumeration", "an hour")


def sample(space: Space, count: int, seed: int = SEED) -> Iterator[State]:
    """Return states at random."""
    return islice(members(space, seed), count)


def fault(plan: Plan, state: State) -> str:
    """Return what is wrong with a plan for a state, "" where nothing is."""
    if broken := broken_promise(plan):
        return broken
    # A torch for a driver of CUDA 11 has no cuDNN of which it is known that it works: it is lost,
    # and the plan says so.
    lost = plan.proof.lost
    without = state.driver == DRIVERS[0] and lost and all("sdpa-cudnn" in each for each in lost)
    proof = msgspec.structs.replace(plan.proof, lost=()) if without else plan.proof
    if without or plan.outcome in (PlanOutcome.REPAIRS, PlanOutcome.NOTHING):
        return "" if proof.clean else f"not clean: {plan.proof}"
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


def needless(plan: Plan, before: Environment) -> str:
    """Return that torch moves though another plan that keeps it repairs as much."""
    if all(change.distribution != "torch" for change in plan.changes):
        return ""
    return needless_torch(plan, make_plan(before, session(), PlannerRequest(keep=("torch",))))


def plan_of(state: State, space: Space) -> Plan:
    return make_plan(made(state, space), session(), PlannerRequest())


@pytest.mark.long
def test_the_sample_ends_clean(space: Space) -> None:
    wrong = {
        state: found
        for state in sample(space, SAMPLE)
        if (
            found := fault(plan := plan_of(state, space), state)
            or needless(plan, made(state, space))
            or misplaced_by_hand(plan, made(state, space))
        )
    }
    assert wrong == {}


@pytest.mark.long
def test_plans_run_only_what_they_say(space: Space) -> None:
    for state in sample(space, 5, seed=1):
        for action in plan_of(state, space).actions:
            assert bool(action.argv) is action.kind.is_run
            assert action.kind is not ActionKind.BUILD  # nobody allowed one


@pytest.mark.long
def test_cells_that_no_release_has_together_have_reasons_of_their_own(space: Space) -> None:
    """It said only that nothing works, though a newer driver would give most of them."""
    file = next(each for each in space.files if each.version == "2.0.7")
    torch = next(each for each in space.torches if each.version == "2.15.0+cu134")
    state = State(
        torch=torch,
        file=file,
        python="cp312",
        gpu="12.0",
        driver=DRIVERS[0],
        extension=False,
        triton="pinned",
    )
    first, second = plan_of(state, space).conflicts
    for conflict in (first, second):
        assert conflict.because[0] == f"the NVIDIA driver is {state.driver}"
        assert "a newer NVIDIA driver" in {each.give_up for each in conflict.alternatives}
    assert second.because[1] == f"no known combination of releases works together with {first.wish}"


def distinct_states(space: Space, doctor: Doctor, part: int) -> list[State]:
    """Return states of every so many-th torch that break different rules each, or no rule."""
    chance = random.Random(part)  # noqa: S311 -- a sample
    judged = Judged(space, doctor)
    torches = range(part, len(space.torches), PARTS)
    found: dict[frozenset[str], State] = {}
    for number in range(100 * STATES_OF_A_PART):
        rest = (chance.randrange(10**9) for _ in range(6))
        state = space.member((torches[number % len(torches)], *rest))
        if state is not None:
            found.setdefault(judged.broken(state), state)
        if len(found) == STATES_OF_A_PART:
            break
    return list(found.values())


@THOUSAND
@pytest.mark.long
@pytest.mark.thinned(every=PARTS)
@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_distinct_states_end_clean_and_so_do_their_commands(
    part: int, space: Space, doctor: Doctor, resolver: Resolver
) -> None:
    """Each distinct sequence of commands is put to a resolver."""
    states = distinct_states(space, doctor, part)
    wrong: dict[State, str] = {}
    outcomes: Counter[str] = Counter()
    run: dict[Commands, State] = {}
    for state in states:
        plan = plan_of(state, space)
        outcomes[plan.outcome.value] += 1
        error = fault(plan, state) or misplaced_by_hand(plan, made(state, space))
        if not error and (argvs := commands(plan)) and run.setdefault(argvs, state) is state:
            before = made(state, space)
            error = fault_of_commands(plan, before, resolver) or needless(plan, before)
        if error:
            wrong[state] = error
    print(len(states), "plans", dict(outcomes), len(run), "sequences of commands")  # noqa: T201 -- the result
    assert list(wrong.items())[:5] == []
    assert len(states) == STATES_OF_A_PART
    assert len(run) >= LEAST_COMMANDS
    for field, values in (
        ("gpu", GPUS), ("driver", DRIVERS), ("python", PYTHONS), ("triton", TRITONS),
        ("extension", EXTENSIONS),
    ):  # fmt: skip
        assert {getattr(state, field) for state in states} == set(values)


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
    from tests.shipped import compiled  # noqa: PLC0415

    return space_of(compiled().knowledge)


def _representatives(part: int) -> dict[frozenset[str], State]:
    space = _space()
    return Judged(space, Doctor(space.knowledge)).representatives(part, PROCESSES)


def _planned(state: State) -> tuple[str, str]:
    plan = plan_of(state, _space())
    return plan.outcome.value, fault(plan, state)


@WHOLE
@pytest.mark.slow
def test_every_representative_ends_clean(found: dict[frozenset[str], State]) -> None:
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        planned = pool.map(_planned, found.values(), chunksize=50)
    print(len(planned), Counter(outcome for outcome, _ in planned))  # noqa: T201 -- the result
    assert [wrong for _, wrong in planned if wrong][:5] == []
