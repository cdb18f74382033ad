"""Every command that is printed ends in the state that was proved: a resolver is asked.

It has an index of everything that the tables list, with traps: of what they do not know the
releases of there is one newer than anybody tried. All that people start from, wish and have, on
one of two Pythons each, takes minutes: a step of CI asks for it; on both of them by hand. Some
plans are always asked about.
"""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from tests.states.commands import Commands, commands, fault
from tests.states.conftest import REQUIRED
from tests.states.starts import STARTS, start
from tests.states.test_states import THOUSAND
from tests.unit.repair.plan.problems import session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.states.resolver import Resolver

WISHES = (
    (),
    ("flash-attn",),
    ("vllm",),
    ("vllm", "flash-attn"),
    ("unsloth",),
    ("xformers", "flash-attn"),
    ("fa3",),
    ("fa4",),
    ("hub-fa2",),
)
MACHINES = (
    ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15"),
    ("NVIDIA H100 80GB HBM3", "9.0", "580.65.06"),
    ("NVIDIA GeForce RTX 5090", "12.0", "580.65.06"),
    ("Tesla T4", "7.5", "525.60.13"),
    ("NVIDIA B200", "10.0", "580.65.06"),
)
PYTHONS = ("3.12", "3.10")
INSTALLERS = ("pip", "uv")

Case = tuple[str, tuple[str, ...], tuple[str, str, str], str]

ON_BOTH: list[Case] = list(product(STARTS, WISHES, MACHINES, PYTHONS))
EVERY = ON_BOTH if "whole-enumeration" in REQUIRED else [*ON_BOTH[::8], *ON_BOTH[3::8]]
"""Of four cases one, on either Python in turns: states that are broken bring 700 sequences more."""
ON_ONE: list[Case] = list(product(STARTS, WISHES, MACHINES, PYTHONS[:1]))
SOME = random.Random(12).sample(ON_ONE, 9)  # noqa: S311 -- a sample
LEAST = 9
"""Distinct sequences of commands from each start; there are some fifteen."""


@pytest.mark.long
def test_commands_end_in_the_state_that_was_proved(resolver: Resolver) -> None:
    """Seen: after `pip install torch==2.8.0` a `pip install torchvision` took torch back.

    And the undo that is printed beside them brings back what was there: `pip install torch==2.11.0`
    did nothing beside 2.11.0+cu126.
    """
    wrong, run = asked(SOME, resolver)
    assert wrong == {}
    assert len(run) >= 6


@THOUSAND
@pytest.mark.long
@pytest.mark.thinned(every=5)
@pytest.mark.slow
@pytest.mark.parametrize("name", STARTS)
def test_commands_from_every_start_end_in_the_state_that_was_proved(
    name: str, resolver: Resolver
) -> None:
    """Every wish on every machine and Python; distinct sequences of commands are asked about."""
    wrong, run = asked((case for case in EVERY if case[0] == name), resolver)
    print(name, len(run), "sequences of commands")  # noqa: T201 -- the result
    assert list(wrong.items())[:5] == []
    assert len(run) >= LEAST


def asked(cases: Iterable[Case], resolver: Resolver) -> tuple[dict[object, str], set[Commands]]:
    """Return what is wrong with the commands of cases, and what distinct ones there are."""
    wrong: dict[object, str] = {}
    distinct: set[Commands] = set()
    for number, (name, wish, machine, python) in enumerate(cases):
        before = start(name, machine, python)
        plan = make_plan(
            before, session(), PlannerRequest(want=wish, installer=INSTALLERS[number % 2])
        )
        if (found := commands(plan)) and found not in distinct:
            distinct.add(found)
            error = fault(plan, before, resolver)
            if error:
                wrong[name, wish, machine[1], python] = error
    return wrong, distinct
