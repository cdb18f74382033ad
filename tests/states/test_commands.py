"""Every command that is printed ends in the state that was proved: a resolver is asked.

It has an index of everything that the tables know, with traps: of what they do not know the
releases of there is one newer than anybody tried. The whole enumeration takes minutes; some plans
are always asked about.
"""

from __future__ import annotations

import os
import random
from itertools import product

import pytest

from fadoctor.plan.planner import Question, make_plan
from tests.states.commands import commands, difference, undone
from tests.states.resolver import UV, Resolver
from tests.states.starts import STARTS, start
from tests.unit.plan.problems import session

pytestmark = pytest.mark.skipif(not UV, reason="needs uv")

WISHES = (
    (),
    ("flash-attn",),
    ("vllm",),
    ("vllm", "flash-attn"),
    ("unsloth",),
    ("xformers", "flash-attn"),
    ("fa3",),
    ("fa4",),
)
MACHINES = (
    ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15"),
    ("NVIDIA H100 80GB HBM3", "9.0", "580.65.06"),
    ("NVIDIA GeForce RTX 5090", "12.0", "580.65.06"),
    ("Tesla T4", "7.5", "525.60.13"),
    ("NVIDIA B200", "10.0", "580.65.06"),
)


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    """Return a resolver with an index made from the tables."""
    return Resolver(session().matrix, tmp_path_factory.mktemp("index"))


INSTALLERS = ("pip", "uv")

EVERY = [
    (name, wish, machine, python)
    for name, wish, machine, python in product(STARTS, WISHES, MACHINES, ("3.12", "3.11", "3.10"))
]
SOME = random.Random(12).sample(EVERY, 15)  # noqa: S311 -- a sample
FULL = "enumeration" in os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")


def test_commands_end_in_the_state_that_was_proved(resolver: Resolver) -> None:
    """Seen: after `pip install torch==2.8.0` a `pip install torchvision` took torch back.

    And the undo that is printed beside them brings back what was there: `pip install torch==2.11.0`
    did nothing beside 2.11.0+cu126.
    """
    wrong, distinct = {}, set()
    for number, (name, wish, machine, python) in enumerate(EVERY if FULL else SOME):
        before = start(name, machine, python)
        plan = make_plan(before, session(), Question(want=wish, installer=INSTALLERS[number % 2]))
        if (found := commands(plan)) and found not in distinct:
            distinct.add(found)
            error = difference(plan, before, resolver) or undone(plan, before, resolver)
            if error:
                wrong[name, wish, machine[1], python] = error
    assert wrong == {}
    assert len(distinct) >= (200 if FULL else 7)
