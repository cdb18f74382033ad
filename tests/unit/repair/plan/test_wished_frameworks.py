"""Frameworks outside the catalogue, of which a table has releases: they can be asked for."""

from __future__ import annotations

import msgspec
import pytest

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import fact_mapping
from fadoctor.model.plan import ActionKind, Plan, PlanOutcome
from fadoctor.repair.plan.choices.released import accepts
from tests.states.sequences import on_platform
from tests.states.starts import start
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import golden, plan, session, with_package, without

A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "535.183.01")
V100 = ("Tesla V100-SXM2-16GB", "7.0", "535.104.05")


def _changed(found: Plan) -> dict[str, str]:
    return {change.distribution: change.after for change in found.changes}


def _asked(*names: str, gpu: tuple[str, str, str] = A100) -> Plan:
    return plan(start("empty", gpu), want=names)


def test_a_framework_comes_with_what_it_requires() -> None:
    found = _asked("axolotl==0.18.0")
    changed = _changed(found)
    assert found.outcome is PlanOutcome.REPAIRS
    assert changed["axolotl"] == "0.18.0"
    assert changed["torch"].startswith(("2.11", "2.12"))
    assert changed["transformers"] == "5.14.1"
    assert changed["trl"] == "1.8.0"


def test_attention_that_it_requires_is_decided_with_torch() -> None:
    found = _asked("openrlhf")
    assert _changed(found)["flash-attn"] == "2.8.3"
    [install] = [each for each in found.actions if each.kind is ActionKind.INSTALL]
    assert any(each.startswith("flash-attn @ https://") for each in install.requirements)
    assert not any("flash-attn (asked for)" in each for each in found.wishes)
    assert any("openrlhf (asked for)" in each for each in found.wishes)


def test_what_no_torch_for_the_machine_takes_is_missed() -> None:
    found = _asked("axolotl>=99")
    assert found.outcome is PlanOutcome.IMPOSSIBLE
    assert "axolotl>=99 is not installed" in found.proof.missed


def test_what_is_there_already_changes_nothing() -> None:
    here = with_package(golden("linux-a100-healthy"), "verl", "0.9.1")
    assert _changed(plan(here, want=("verl",))) == {}


@pytest.mark.parametrize("wish", ["no-such-framework", "axolotl==x.y"])
def test_names_and_versions_that_nobody_knows_are_refused(wish: str) -> None:
    with pytest.raises(UsageError):
        _asked(wish)


@pytest.mark.parametrize(
    ("version", "torch", "fits"),
    [("0.2.5", "2.1.2", True), ("0.2.5", "2.5.1", False), ("0.7.3", "2.5.1", True)],
)
def test_an_old_vllm_is_for_no_torch_after_its_time(version: str, torch: str, fits: bool) -> None:  # noqa: FBT001 -- a parameter
    """vLLM 0.2.5 declares torch>=2.1.1, and was compiled for 2.1."""
    releases = {each.version: each for each in session().candidates.listed.every("vllm")}
    needs = fact_mapping(releases[version].facts["vllm.requires"])
    assert accepts(needs["torch"], torch) is fits


def test_what_requires_a_newer_torch_goes_back() -> None:
    here = with_package(
        golden("linux-v100-torch210"), "bitsandbytes", "0.99.0", {"torch": ">=2.90"}
    )
    assert _changed(plan(here)).get("bitsandbytes", "") < "0.99.0"


def test_vllm_for_another_architecture_is_compiled_for_the_same_cuda() -> None:
    """PyPI's torch 2.10 for aarch64 is without CUDA, and vLLM beside it is for CUDA 12."""
    gpu = ("NVIDIA GB10", "12.1", "580.95.05")
    here = on_platform(start("torch 2.11", gpu), "linux_aarch64")
    facts = {"torch.version": "2.10.0+cu130", "torch.build": "cu130", "torch.cuda": "13.0"}
    new = {name: fact_of(value) for name, value in facts.items()}
    here = msgspec.structs.replace(here, facts={**here.facts, **new})
    releases = session().candidates.releases("vllm", here)
    assert "0.19.1" not in {each.version for each in releases}


def test_a_release_that_no_table_has_comes_as_it_was_asked_for() -> None:
    found = _asked("transformers==4.36.2", "flash-attn")
    assert _changed(found)["transformers"] == "4.36.2"
    assert any(
        each.startswith("transformers==4.36.2: the tables do not list")
        for each in found.proof.unknown
    )


def test_what_triton_compiles_is_not_missed_where_no_torch_brings_triton() -> None:
    """A torch for CPUs on Windows: flex_attention fails before, and after."""
    here = golden("linux-a100-healthy", host__os="windows", host__platform="win_amd64",
                  host__glibc=None, torch__build="cpu", torch__version="2.9.1+cpu",
                  torch__cuda=None, python__version="3.12.4")  # fmt: skip
    here = without(without(here, "triton"), "flash_attn")
    found = plan(here)
    assert _changed(found)["torch"].startswith("2.9.1+cu")
    assert not any("flex" in each for each in found.proof.missed)


@pytest.mark.parametrize("name", ["vllm", "sglang"])
def test_on_amd_no_file_for_cuda_is_called_for(name: str) -> None:
    here = golden("linux-a100-healthy")
    facts = {**here.facts, "gpu[0].vendor": fact_of("amd"), "torch.build": fact_of("rocm")}
    found = plan(msgspec.structs.replace(here, facts=facts), want=(name,))
    assert any(
        each.startswith(f"{name}: PyPI has it for CUDA only") for each in found.proof.unknown
    )


def test_a_framework_whose_torch_is_in_an_extra_can_be_asked_for() -> None:
    changed = _changed(_asked("llamafactory==0.9.3"))
    assert changed["llamafactory"] == "0.9.3"
    assert changed["transformers"] == "4.52.4"
    assert "torch" in changed


@pytest.mark.parametrize("name", ["sageattention", "diffusers"])
def test_what_computes_with_torch_and_does_not_require_it_comes_with_a_torch(name: str) -> None:
    """No installer brings it: without it in the plan nothing can be imported."""
    changed = _changed(_asked(name))
    assert changed[name]
    assert changed["torch"].startswith("2.")


def test_what_is_published_as_sources_alone_is_named_with_its_release() -> None:
    found = _asked("deepspeed", "transformers")
    assert _changed(found)["deepspeed"] >= "0.19.8"
    assert (found.proof.missed, found.proof.unknown) == ((), ())


def test_a_gpu_that_torch_has_no_code_for_gets_the_nearest_torch_that_has() -> None:
    """PyPI's torch 2.7.0 stops at 9.0; 2.7.1 of cu128 goes on to 12.0, as many newer ones do."""
    here = golden("linux-a100-healthy", torch__version="2.7.0", torch__cuda="12.6",
                  torch__requires={"triton": "==3.3.0"}, triton__version="3.3.0")  # fmt: skip
    gpu = {"gpu[0].name": "NVIDIA RTX PRO 6000", "gpu[0].compute_capability": "12.0"}
    facts = {**here.facts, **{name: fact_of(value) for name, value in gpu.items()}}
    found = plan(without(msgspec.structs.replace(here, facts=facts), "flash_attn"))
    assert _changed(found)["torch"] == "2.7.1+cu128"


def test_on_amd_nobody_is_sent_to_install_xformers_for_cuda() -> None:
    """`pip install xformers` brings PyPI's torch in place of the one for ROCm."""
    here = golden("linux-a100-healthy")
    facts = {**here.facts, "gpu[0].vendor": fact_of("amd"), "torch.build": fact_of("rocm")}
    found = plan(msgspec.structs.replace(here, facts=facts), want=("xformers",))
    assert any("no build for ROCm" in each for each in found.proof.unknown)
    assert not any("install it yourself" in each for each in found.proof.unknown)
