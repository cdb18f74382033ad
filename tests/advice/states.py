"""States in which rules fire: their own cases, alone and on whole machines, and recorded hosts."""

from __future__ import annotations

import os
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.diagnose import Prognosis, foresee
from fadoctor.engine.cases import case_environment
from fadoctor.model.finding import Outcome
from tests.catalogue.environments import Torches
from tests.golden import cases as golden_cases
from tests.history.environments import environment, stacks
from tests.hosts import recording
from tests.properties.worlds import cases, knowledge, of_case
from tests.states.enumeration import Space, made
from tests.unit.plan.problems import session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment

MACHINES = (
    ("V100", "flash_attn"), ("T4", "xformers"), ("A100", "flash_attn"), ("RTX 4090", "flash_attn"),
    ("H100", "flash_attn_3"), ("RTX 5090", "flash_attn"), ("B200", "flash_attn_4"),
)  # fmt: skip
"""GPU and attention package of the machines on which the facts of a case come true."""

SEED = 12
ALL = "fixes" in os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
MADE = 300 if ALL else 40
"""States of the enumeration that are tried, at random."""


@cache
def machines() -> tuple[Environment, ...]:
    """Return whole machines, some of every age of torch."""
    every = sorted(stacks())
    chosen = every[:: max(1, len(every) // len(MACHINES))][-len(MACHINES) :]
    return tuple(
        environment(stacks()[stack], package, (gpu,), knowledge())
        for stack, (gpu, package) in zip(chosen, MACHINES, strict=True)
    )


@cache
def whole() -> tuple[Environment, ...]:
    """Return recorded hosts, golden cases and states of the enumeration."""
    found = [golden_cases.environment(name) for name in golden_cases.names()]
    for name in recording.names():
        with tempfile.TemporaryDirectory() as folder:
            found.append(recording.read(name, Path(folder).resolve()))
    return (*found, *enumerated(MADE))


def enumerated(count: int) -> Iterator[Environment]:
    """Yield states of the enumeration at random."""
    tables = session().candidates.tables
    space = Space(knowledge(), Torches(tables), tuple(session().candidates.files.wheels.official()))
    chance = random.Random(SEED)  # noqa: S311 -- not for secrets
    while count:
        state = space.member(tuple(chance.randrange(10**9) for _ in range(7)))
        if state is not None:
            count -= 1
            yield made(state, space)


def of_rule(rule_id: str) -> Iterator[Environment]:
    """Yield states in which a rule may fire: its cases on machines, alone, and whole machines."""
    mine = [
        case for rule, case in cases() if rule.id == rule_id and case.expect.outcome is Outcome.FAIL
    ]
    for machine in machines():
        for case in mine:
            facts = {**machine.facts, **case_environment(case).facts}
            yield msgspec.structs.replace(machine, facts=facts)
    yield from map(of_case, mine)


@cache
def foreseen_whole() -> tuple[Prognosis, ...]:
    """Return what the facts of the whole machines say."""
    return tuple(foresee(each, session().knowledge) for each in whole())
