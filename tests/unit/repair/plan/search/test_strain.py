"""What an installed framework requires decides which states are tried first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.repair.plan.choices.choice import keep
from fadoctor.repair.plan.search.strain import Strain
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import golden, plan, problem, with_package, without

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment

LIBRARIES = {f"nvidia-made-up-{number}-cu12": "==12.8.1" for number in range(16)}
"""What an installed torch pins, and lacks."""


def of_framework(requires: dict[str, str], **own: str) -> Environment:
    """Return an environment whose vLLM requires something; `own`: what torch requires."""
    found = with_package(golden("linux-a100-healthy"), "vllm", "0.11.0", requires)
    torch = found.facts["torch.requires"]
    there = dict(torch.value)  # type: ignore[union-attr, arg-type] # of golden facts
    facts = {**found.facts, "torch.requires": fact_of({**there, **own})}
    return msgspec.structs.replace(found, facts=facts)


def test_what_refuses_a_torch_has_to_follow_until_it_is_decided() -> None:
    """What a decided package costs is known already; frameworks are looked at themselves."""
    here = golden("linux-a100-healthy")
    before = problem(here)
    comes = next(c for c in before.domain("torch", here) if c.version.startswith("2.7"))
    fitting = with_package(golden("linux-a100-healthy"), "xformers", "0.0.29", {"torch": ">=2.0"})
    assert Strain(problem(fitting)).of({"torch": comes}) == frozenset()
    refusing = with_package(fitting, "xformers", "0.0.29", {"torch": "!=2.7.*"})
    strain = Strain(problem(refusing))
    assert strain.of({"torch": comes}) == {"xformers"}
    assert strain.of({"torch": comes, "xformers": keep("xformers")}) == frozenset()
    of_framework_alone = Strain(problem(of_framework({"torch": "!=2.7.*"})))
    assert of_framework_alone.of({"torch": comes}) == frozenset()


def test_a_library_that_only_the_torch_that_goes_requires_is_not_chosen_about() -> None:
    """Sixteen of them would be 65,536 states."""
    environment = of_framework({"torch": ">=2.0"}, **LIBRARIES)
    asked = problem(environment)
    name = next(iter(LIBRARIES))
    assert not asked.is_needed_no_more(name, environment)
    without = of_framework({"torch": ">=2.0"})
    assert asked.is_needed_no_more(name, without)
    assert not asked.is_needed_no_more("something-else", without)


def test_a_search_with_many_missing_libraries_is_not_cut_off() -> None:
    """Each would double the states, and what is best is found last."""
    found = plan(of_framework({"torch": ">=2.0"}, **LIBRARIES))
    assert not [note for note in found.notes if "cut off" in note]


def test_no_attention_package_is_installed_unasked_for_a_gpu_without_its_kernels() -> None:
    """A setting asks for FlashAttention-2, and a V100 cannot run it whatever is installed."""
    found = without(golden("linux-v100-torch210"), "flash_attn")
    facts = found.facts | {
        "config.count": fact_of(1),
        "config[0].attention": fact_of("flash_attention_2"),
    }
    environment = msgspec.structs.replace(found, facts=facts)
    asked = problem(environment)
    assert [c.is_change for c in asked.domain("flash_attn", environment)] == [False]
    named = problem(environment, want=("flash-attn",))
    assert any(choice.is_change for choice in named.domain("flash_attn", environment))


def test_kernels_that_are_asked_for_come_beside_a_transformers_without_kernels_of_the_hub() -> None:
    """Who asks for it by its name may not mean attention."""
    environment = with_package(golden("linux-a100-healthy"), "transformers", "4.56.2")
    found = plan(environment, want=("kernels",))
    [change] = [each for each in found.changes if each.distribution == "kernels"]
    assert change.after[:1].isdigit()
    assert not found.proof.missed


def test_what_requires_the_torch_that_comes_is_not_of_the_cuda_of_the_one_that_goes() -> None:
    """Another package took torch back below it: it was compiled for its own torch."""
    pinned = with_package(golden("linux-a100-healthy"), "sglang", "0.5.20", {"torch": "==2.13.0"})
    asked = problem(pinned)
    [torch] = [c for c in asked.domain("torch", pinned) if c.version == "2.13.0"]
    after = asked.post.apply(pinned, torch)
    assert not asked.domain("sglang", after, {"torch": torch})[0].is_change


def test_a_framework_that_goes_back_in_time_is_said() -> None:
    found = plan(golden("linux-a100-healthy"), want=("vllm==0.15.0",))
    assert "downgraded" not in " ".join(e for action in found.actions for e in action.side_effects)
    newer = with_package(golden("linux-a100-healthy"), "vllm", "0.19.1", {"torch": "==2.10.0"})
    found = plan(newer, want=("vllm==0.15.0",))
    said = " ".join(effect for action in found.actions for effect in action.side_effects)
    assert "vllm is downgraded from 0.19.1 to 0.15.0" in said
