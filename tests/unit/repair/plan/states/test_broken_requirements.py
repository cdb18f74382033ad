"""What two decided packages hold against each other is counted once, and never too much."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from fadoctor.repair.plan.states.follow_ups import aftermath
from tests.states.starts import STARTS, start
from tests.unit.repair.plan.problems import problem

if TYPE_CHECKING:
    from fadoctor.repair.plan.states.relations import State

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15")


@pytest.mark.property
@pytest.mark.parametrize("name", [name for name in STARTS if name != "empty"])
def test_quarrels_are_a_part_of_what_is_broken_in_the_end(name: str) -> None:
    """Else the search would cut off a state that is better than it looks."""
    made = problem(start(name, A100), want=("vllm",))
    chance = random.Random(4)  # noqa: S311 -- a sample
    counted = 0
    for _ in range(24):
        state: State = {}
        environment, quarrels = made.environment, 0
        for package in made.order:
            choices = made.domain(package, environment, state)
            if not choices:
                break  # the search goes no further here either
            state[package] = chance.choice(choices)
            environment = made.session.post.apply(environment, state[package])
            quarrels += made.quarrels.count(state, environment, package)
        if len(state) < len(made.order):
            continue
        counted += quarrels
        assert quarrels <= len(aftermath(made, state, environment).broken), state
    assert counted > 0
