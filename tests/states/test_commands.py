"""Every command that is printed ends in the state that was proved: a resolver is asked.

It has an index of everything that the tables know, with traps: of what they do not know the
releases of there is one newer than anybody tried. The whole enumeration takes minutes; some plans
are always asked about.
"""

from __future__ import annotations

import os
import random
import re
from itertools import product
from typing import TYPE_CHECKING

import pytest

from fadoctor.matrix.versions import parse_specifier
from fadoctor.model.fact import Known
from fadoctor.model.plan import ActionKind
from fadoctor.plan.planner import Question, make_plan
from fadoctor.plan.requirements import requirements_of
from tests.states.resolver import UV, Refused, Resolver
from tests.states.starts import STARTS, start
from tests.unit.plan.problems import session

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan

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
)


@pytest.fixture(scope="module")
def resolver(tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    """Return a resolver with an index made from the tables."""
    return Resolver(session().matrix, tmp_path_factory.mktemp("index"))


def fault(plan: Plan, before: Environment, resolver: Resolver) -> str:
    """Return in what a plan and its commands differ, "" where they do not."""
    try:
        after = resolver.after(plan, before, requirements_of(before, {}))
    except Refused as error:
        return f"refused: {error}"
    expected = installed_in(before)
    for action in plan.actions:
        if action.kind is ActionKind.UNINSTALL:
            expected = {n: v for n, v in expected.items() if n not in action.requirements}
    for change in plan.changes:
        name = change.distribution
        item = _item(plan, name) if change.after else ""
        if item.startswith((" @ ", "==")):
            expected[name] = change.after
        elif change.after and parse_specifier(item or ">=0").contains(after.get(name, "0")):  # type: ignore[union-attr]
            expected[name] = after.get(name, "missing")
    wrong = {
        name: (expected.get(name), after.get(name))
        for name in expected.keys() | after.keys()
        if expected.get(name) != after.get(name)
    }
    return f"planned and done: {wrong}" if wrong else ""


def installed_in(environment: Environment) -> dict[str, str]:
    """Return every distribution that is there."""
    installed = environment.fact("packages.installed")
    assert isinstance(installed, Known)
    assert isinstance(installed.value, dict)
    return dict(installed.value)


def _item(plan: Plan, name: str) -> str:
    """Return what the commands say of a distribution, behind its name."""
    pattern = re.compile(re.escape(name) + r"(?![A-Za-z0-9_-])(.*)")
    items = [item for action in plan.actions if action.argv for item in action.requirements]
    return next(found[1] for item in items if (found := pattern.fullmatch(item)))


def commands(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Return what is run."""
    return tuple(action.argv for action in plan.actions if action.argv)


EVERY = [
    (name, wish, machine, python)
    for name, wish, machine, python in product(STARTS, WISHES, MACHINES, ("3.12", "3.11"))
]
SOME = random.Random(12).sample(EVERY, 40)  # noqa: S311 -- a sample
FULL = "enumeration" in os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")


def test_commands_end_in_the_state_that_was_proved(resolver: Resolver) -> None:
    """Seen: after `pip install torch==2.8.0` a `pip install torchvision` took torch back."""
    wrong, distinct = {}, set()
    for name, wish, machine, python in EVERY if FULL else SOME:
        before = start(name, machine, python)
        plan = make_plan(before, session(), Question(want=wish))
        if (found := commands(plan)) and found not in distinct:
            distinct.add(found)
            if error := fault(plan, before, resolver):
                wrong[name, wish, machine[1], python] = error
    assert wrong == {}
    assert len(distinct) >= (150 if FULL else 20)
