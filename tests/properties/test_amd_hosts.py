"""A machine whose GPUs are AMD's gets no command for CUDA: by no rule, and by no plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.judging.diagnose import foresee
from fadoctor.model.fact import Absent, Fact, Known
from fadoctor.repair.plan.planner import PlannerRequest, make_plan
from fadoctor.repair.plan.written.advise import advise
from fadoctor.sources.targets.derived import derive
from tests.properties.broken import worlds
from tests.properties.worlds import cases, of_case
from tests.unit.repair.plan.problems import session
from tests.work import examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.fix import Fix

pytestmark = pytest.mark.property

CUDA = re.compile(
    r"whl/cu\d|\+cu\d{2,3}|\bnvidia-[a-z]|\bcuda-toolkit|\bnvcc\b|CUDA_HOME|CUDA_ARCH|-cu1[123]\b|FORCE_BUILD"
)
CARDS = (("AMD Instinct MI300X", "gfx942"), ("Radeon RX 7900 XTX", "gfx1100"),
         ("Radeon 8060S", "gfx1151"), ("AMD Instinct MI100", "gfx908"))  # fmt: skip


def on_amd(world: Environment, card: tuple[str, str]) -> Environment:
    """Return an environment with one GPU of AMD in the place of those that it has."""
    own = ("gpu[", "driver.", "toolkit.")
    facts: dict[str, Fact] = {n: f for n, f in world.facts.items() if not n.startswith(own)}
    gone = Absent("property")
    facts |= {n: gone for n in world.facts if n.startswith(("driver.", "toolkit."))}
    said: dict[str, object] = {
        "name": card[0], "vendor": "amd", "gfx": card[1], "visible": True, "memory_bytes": 1 << 36,
    }  # fmt: skip
    facts |= {f"gpu[0].{noun}": Known(value, "property") for noun, value in said.items()}  # type: ignore[arg-type] # what a fact can hold
    facts |= {"gpu[0].compute_capability": gone, "gpu[0].mig": gone}
    facts |= {f"gpu.{noun}": Known(1, "property") for noun in ("count", "visible_count")}
    return derive(msgspec.structs.replace(world, facts=facts), session().matrix)


def commands(fixes: Iterable[Fix]) -> Iterator[str]:
    for fix in fixes:
        for step in fix.steps:
            yield " ".join((step.text, step.index, *step.items, *step.options))


def wrong(environment: Environment) -> list[str]:
    before = foresee(environment, session().knowledge)
    plan = make_plan(environment, session(), PlannerRequest())
    findings = advise(before.assessment.findings, before, session(), PlannerRequest(), plan)
    said = [text for finding in findings for text in commands(finding.fixes)]
    said += [text for finding in before.assessment.findings for text in commands(finding.fixes)]
    said += [
        " ".join((*action.argv, action.text, action.index, *action.env)) for action in plan.actions
    ]
    return [text for text in said if CUDA.search(text)]


@pytest.mark.sampled
@pytest.mark.parametrize("part", range(4))
def test_no_rule_gives_one(part: int) -> None:
    """Every case of every rule, with an AMD GPU in the place of its GPUs."""
    found = []
    for rule, case in cases()[part::4]:
        there = foresee(on_amd(of_case(case), CARDS[part]), session().knowledge)
        for finding in there.assessment.findings:
            texts = commands(finding.fixes)
            found += [(rule.id, case.name, text) for text in texts if CUDA.search(text)]
    assert found == []


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize("seed", range(examples(12)))
def test_no_plan_gives_one(seed: int) -> None:
    for place, world in enumerate(worlds(seed, 3)):
        assert wrong(on_amd(world, CARDS[(seed + place) % len(CARDS)])) == []
