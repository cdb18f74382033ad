"""What a release required that goes, and nothing else requires, breaks nothing."""

from __future__ import annotations

import msgspec

from fadoctor.model.fact import Known
from fadoctor.repair.plan.states.left_behind import left_behind
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, problem, with_package
from tests.unit.repair.plan.test_planner import changed

B200 = ("NVIDIA B200", "10.0", "570.133.20")
THERE = {"outlines": "0.1.11", "outlines-core": "0.1.26"}
REQUIRES = {"outlines": {"outlines-core": "==0.1.26"}}


def test_what_the_older_vllm_alone_required_is_no_hindrance() -> None:
    """vLLM 0.19 pins outlines-core, which outlines of the older vLLM pins, too."""
    here = with_package(start("vLLM", B200), "outlines", "0.1.11", REQUIRES["outlines"])
    installed = dict(here.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    needs = dict(here.facts["vllm.requires"].value)  # type: ignore[union-attr, arg-type]
    facts = {"packages.installed": {**installed, **THERE},
             "vllm.requires": {**needs, "outlines": "==0.1.11"}}  # fmt: skip
    known = {name: Known(value, "test") for name, value in facts.items()}
    here = msgspec.structs.replace(here, facts={**here.facts, **known})
    found = plan(here, want=("vllm==0.19.0",), requirements=REQUIRES)
    assert changed(found)["outlines-core"] == "0.2.11"
    assert found.proof.requirements == ()
    assert left_behind(problem(here), here) == frozenset()


def test_what_somebody_else_requires_still_counts() -> None:
    here = with_package(start("vLLM", B200), "a-program", "1.8.0", {})
    installed = dict(here.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    facts = {"packages.installed": Known({**installed, **THERE}, "test")}
    here = msgspec.structs.replace(here, facts={**here.facts, **facts})
    asked = {**REQUIRES, "a-program": {"outlines": ">=0.1"}}
    found = plan(here, want=("vllm==0.19.0",), requirements=asked)
    assert any("outlines requires outlines-core" in each for each in found.proof.requirements)
