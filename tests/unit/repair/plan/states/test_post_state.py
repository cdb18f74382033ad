"""A choice applied to facts: what an installation gives, and what nobody can know before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import Absent, Fact, Known, Unknown
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, follow, keep, remove
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.states.compiled import AFTER
from fadoctor.repair.plan.states.post_state import PostState, old_cuda_wheels
from fadoctor.sources.manifests.installed.fact_names import CONTRADICTED
from fadoctor.sources.targets.derived import derive
from tests.unit.repair.plan.problems import golden, session, with_package

if TYPE_CHECKING:
    from fadoctor.repair.plan.choices.candidates import Candidates

HEALTHY = golden("linux-a100-healthy")
POST = PostState(session().matrix)


def candidates() -> Candidates:
    return session().candidates


def torch(version: str) -> Choice:
    return next(c for c in candidates().torch(HEALTHY) if c.version == version)


def value(fact: Fact) -> object:
    assert isinstance(fact, Known)
    return fact.value


def test_keeping_changes_nothing() -> None:
    assert POST.apply(HEALTHY, keep("torch")) is HEALTHY


def test_an_installation_replaces_every_fact_of_its_package() -> None:
    after = POST.apply(HEALTHY, torch("2.6.0"))
    assert value(after.fact("torch.version")) == "2.6.0"
    assert value(after.fact("torch.build")) == "pypi"
    assert value(after.fact("torch.requires")) == {"triton": "==3.2.0"}
    assert value(after.fact("packages.installed"))["torch"] == "2.6.0"  # type: ignore[index]
    assert isinstance(after.fact("torch.git"), Unknown)
    assert value(after.fact("triton.version")) == value(HEALTHY.fact("triton.version"))


def test_a_removal_leaves_nothing() -> None:
    after = POST.apply(HEALTHY, remove("flash_attn"))
    names = [name for name in after.facts if name.startswith("flash_attn.")]
    assert names
    assert all(isinstance(after.fact(name), Absent) for name in names)
    assert "flash-attn" not in value(after.fact("packages.installed"))  # type: ignore[operator]


def test_a_wheel_by_its_address_is_not_built() -> None:
    told: Fact = Known({"flash-attn": "(x.txt:2:1)", "xformers": "(x.txt:3:1)"}, "files")
    names = ("packages.isolated_builds", "packages.unfit_wheels")
    in_file = Known("requirements.txt", "files")
    facts = {**dict.fromkeys(names, told), "packages.isolated_in": in_file}
    before = msgspec.structs.replace(HEALTHY, facts={**HEALTHY.facts, **facts})
    wheel = Choice("flash_attn", ChoiceKind.WHEEL, version="2.8.3", facts={})
    after = POST.apply(before, wheel)
    assert [list(value(after.fact(name))) for name in names] == [["xformers"]] * 2  # type: ignore[call-overload]
    assert after.fact("packages.isolated_in") == in_file
    alone = POST.apply(after, remove("xformers"))
    assert [value(alone.fact(name)) for name in names] == [{}, {}]
    assert isinstance(alone.fact("packages.isolated_in"), Absent)
    built = POST.apply(before, msgspec.structs.replace(wheel, kind=ChoiceKind.INSTALL))
    assert built.fact(names[0]) == told


def test_what_was_linked_to_another_torch_is_unknown() -> None:
    loads = {"flash_attn.loads": Known(value=True, source="the loader")}
    before = msgspec.structs.replace(HEALTHY, facts={**HEALTHY.facts, **loads})
    after = POST.apply(before, torch("2.6.0"))
    assert isinstance(after.fact("flash_attn.loads"), Unknown)
    assert before.fact("flash_attn.loads") == loads["flash_attn.loads"]


def test_a_follower_is_there_in_a_version_that_nobody_knows() -> None:
    before = with_package(HEALTHY, "peft", "0.10.0")
    after = POST.apply(before, follow("peft"))
    assert isinstance(after.fact("peft.version"), Unknown)
    assert value(after.fact("packages.installed"))["peft"] == ""  # type: ignore[index]


def test_triton_brings_its_own_ptxas() -> None:
    [choice] = candidates().triton(POST.apply(HEALTHY, torch("2.6.0")))
    after = POST.apply(HEALTHY, choice)
    assert choice.version == "3.2.0"
    assert value(after.fact("toolkit.ptxas.version")) == "12.4"


@pytest.mark.parametrize(("version", "left"), [("2.13.0", ()), ("2.6.0", ("nvidia-cudnn-cu12",))])
def test_wheels_of_another_cuda_major_go(version: str, left: tuple[str, ...]) -> None:
    """They share folders: those of CUDA 12 would shadow those of 13."""
    wheels = {"nvidia-cudnn-cu12": "9.1", "nvidia-ml-py": "12"}
    before = golden("linux-a100-healthy", packages__nvidia=wheels)
    gone = old_cuda_wheels(before, torch(version))
    after = POST.apply(before, torch(version))
    there = value(after.fact("packages.nvidia"))
    assert isinstance(there, dict)
    assert set(wheels) - set(gone) == set(there)
    assert tuple(name for name in there if name.endswith("-cu12")) == left


def test_wheels_that_another_package_requires_stay() -> None:
    needs = {"nvidia-cudnn-cu12": ""}
    before = with_package(
        golden("linux-a100-healthy", packages__nvidia={"nvidia-cudnn-cu12": "9.1"}),
        "vllm", "0.11.0", needs,
    )  # fmt: skip
    assert old_cuda_wheels(before, torch("2.13.0")) == ()


def test_what_moves_along_is_no_longer_asked_for_its_old_requirements() -> None:
    """Regression: «look for a release that accepts torch 2.14.1» stood beside the step to it."""
    facts = {
        "requirer.count": 1, "requirer[0].distribution": "sgl-deep-ep",
        "requirer[0].version": "0.1.2", "requirer[0].requires": {"torch": "==2.13.0"},
    }  # fmt: skip
    there = golden("linux-a100-healthy", **{k.replace(".", "__"): v for k, v in facts.items()})
    choice = Choice("sgl-deep-ep", ChoiceKind.INSTALL, "0.1.3", "0.1.3", "sgl-deep-ep==0.1.3")
    after = PostState(session().matrix).apply(there, choice)
    assert after.fact("requirer[0].version") == Known("0.1.3", AFTER)
    assert isinstance(after.fact("requirer[0].unmet"), Absent)


def test_wheels_that_what_has_no_facts_of_its_own_requires_stay() -> None:
    """nvidia-cutlass-dsl requires a wheel whose name ends like those of an old torch."""
    wheel = "nvidia-cutlass-dsl-libs-cu12"
    before = golden(
        "linux-a100-healthy",
        packages__nvidia={wheel: "4.6.2"},
        requirer__count=1,
    )
    assert old_cuda_wheels(before, torch("2.13.0")) == (wheel,)
    asked = {**before.facts, "requirer[0].requires": Known({wheel: "==4.6.2"}, "test")}
    before = msgspec.structs.replace(before, facts=asked)
    assert old_cuda_wheels(before, torch("2.13.0")) == ()


def test_a_contradiction_is_settled_by_what_moves_to_the_version_that_is_required() -> None:
    """vLLM moved as well, although the torch that came is the one that it requires."""
    told = {"vllm": "(vllm==0.10.2 requires torch==2.8.0, and torch==2.6.0 is asked for)"}
    there = golden("linux-a100-healthy", packages__contradicted=told)
    apply = PostState(session().matrix).apply
    assert apply(there, torch("2.8.0")).fact(CONTRADICTED) == Known({}, AFTER)
    assert apply(there, torch("2.9.1")).fact(CONTRADICTED) == Known(told, "test")


def test_what_is_compared_without_being_asked_for_is_judged_again() -> None:
    """diffusers compares peft at import, and its metadata name it for an extra alone."""
    here = golden(
        "linux-a100-healthy",
        **{
            "requirer.count": 1,
            "requirer[0].distribution": "diffusers",
            "requirer[0].version": "0.39.0",
            "requirer[0].requires": {"regex": ""},
            "requirer[0].installer": "pip",
            "packages.installed": {"diffusers": "0.39.0", "peft": "0.10.0", "regex": "2025.1.1",
                                   "transformers": "4.57.1"},
            "peft.version": "0.10.0",
        },
    )  # fmt: skip
    here = derive(here, session().matrix)
    assert isinstance(here.fact("requirer[0].unmet"), Known)
    newer = offer("peft==0.19.1")
    assert newer is not None
    after = PostState(session().matrix).after(here, [newer])
    assert isinstance(after.fact("requirer[0].unmet"), Absent)
