"""What has to move for a release to come, though nobody decides about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import Known
from fadoctor.model.plan import PlanOutcome, Proof
from fadoctor.repair.plan.choices.compatible_newest import Company
from fadoctor.repair.plan.planner import outcome_of
from fadoctor.repair.plan.states.moving_along import newest_together
from fadoctor.sources.targets.derived import derive
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, problem, session, with_package
from tests.unit.repair.plan.test_planner import changed

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15")
P100 = ("Tesla P100-PCIE-16GB", "6.0", "560.35.03")
NEWEST = {
    "huggingface-hub": "1.33.0",
    "tokenizers": "0.23.3",
    "diffusers": "0.42.1",
    "safetensors": "0.8.0",
}
DIFFUSERS = {"huggingface-hub": "<3.0,>=1.32.0", "safetensors": ">=0.8.0"}


def beside(found: Environment, installed: dict[str, str]) -> Environment:
    """Return an environment in which more is installed that nobody decides about."""
    there = dict(found.facts["packages.installed"].value)  # type: ignore[union-attr, arg-type]
    facts = {**found.facts, "packages.installed": Known({**there, **installed}, "test")}
    return derive(msgspec.structs.replace(found, facts=facts), session().matrix)


@pytest.mark.long
def test_what_refuses_the_hub_of_an_older_transformers_moves_too() -> None:
    """diffusers 0.42.1 takes no huggingface-hub below 1.32, and transformers 4 none from 1.0."""
    needs = {"huggingface-hub": "<2.0,>=1.5.0"}
    found = with_package(start("vLLM", A100), "transformers", "5.17.0", needs)
    made = plan(
        beside(found, NEWEST), want=("transformers<5",), requirements={"diffusers": DIFFUSERS}
    )
    after = changed(made)
    assert after["huggingface-hub"].startswith("0.")
    helpers = session().candidates.helpers
    asked = helpers.needs("diffusers", after["diffusers"])["huggingface-hub"]
    assert helpers.fitting("huggingface-hub", found, [asked, f"=={after['huggingface-hub']}"], {})
    assert made.proof.requirements == ()


def test_what_may_not_move_keeps_a_release_from_coming() -> None:
    found = beside(with_package(start("empty", A100), "diffusers", "0.42.1", DIFFUSERS), NEWEST)
    company = Company(problem(found), found, {"diffusers": DIFFUSERS}, {}, careful=False)
    together = newest_together(company, "huggingface-hub", "<1.0", lambda _: True)
    assert [each.distribution for each in together] == ["huggingface-hub", "diffusers"]
    assert newest_together(company, "huggingface-hub", "<1.0", lambda _: False) == ()


def test_torchvision_of_a_blind_torch_goes_with_it() -> None:
    """The torch of PyPI has no code for this GPU, and the torchvision beside it has none either."""
    found = start("torch 2.6 with vision and audio", P100)
    blind: dict[str, str | dict[str, str]] = {
        "torch.version": "2.9.0",
        "torch.cuda": "12.8",
    }
    blind |= {"torchvision.version": "0.24.0", "torchvision.requires": {"torch": "==2.9.0"}}
    facts = {**found.facts, **{name: Known(value, "test") for name, value in blind.items()}}
    found = beside(
        msgspec.structs.replace(found, facts=facts), {"torch": "2.9.0", "torchvision": "0.24.0"}
    )
    after = changed(plan(found))
    assert after["torch"].partition("+")[2]
    assert after["torchvision"].partition("+")[2] == after["torch"].partition("+")[2]


def test_a_plan_by_which_something_stops_working_is_no_repair() -> None:
    lost = Proof(lost=("gpu[0] sdpa-cudnn bf16",))
    assert outcome_of((), lost, ()) is PlanOutcome.IMPOSSIBLE
    assert outcome_of((), Proof(), ()) is PlanOutcome.NOTHING


def test_nothing_comes_whose_triton_has_no_file() -> None:
    """triton has files for ARM since 3.5.0, and for Python 3.9 until 3.4.0."""
    found = start("empty", A100, "3.9")
    assert "liger-kernel" in changed(plan(found, want=("liger-kernel",)))
    facts = {"host.platform": "linux_aarch64", "host.machine": "aarch64"}
    changes = {name: Known(value, "test") for name, value in facts.items()}
    found = msgspec.structs.replace(found, facts={**found.facts, **changes})
    assert changed(plan(found, want=("liger-kernel",))) == {}


def test_what_comes_along_is_no_release_that_a_rule_rejects() -> None:
    """Regression: unsloth's torchao came in its newest release, which torch 2.8 cannot import."""
    found = start("missing triton", A100)
    after = changed(plan(found, want=("unsloth",), keep=("torch",)))
    assert after["torchao"] == "0.17.0"
    newer = start("empty", A100, "3.12")
    assert "torchao" not in changed(plan(newer, want=("unsloth",)))
