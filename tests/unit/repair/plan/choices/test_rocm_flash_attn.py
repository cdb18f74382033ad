"""flash-attn on AMD's GPUs, by the backend that needs no compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import Absent, Known
from fadoctor.model.plan import ActionKind
from tests.unit.repair.plan.choices.test_rocm_torch import on_amd
from tests.unit.repair.plan.problems import plan
from tests.unit.repair.plan.test_planner import changed

if TYPE_CHECKING:
    from typing import Any

    from fadoctor.model.environment import Environment

VARIABLE = {"FLASH_ATTENTION_TRITON_AMD_ENABLE": "TRUE"}
ROCM = {
    "torch.version": "2.8.0+rocm6.4", "torch.build": "rocm", "torch.hip": "6.4",
    "host.platform": "linux_x86_64",
}  # fmt: skip


def on_rocm(gfx: str, **more: Any) -> Environment:
    found = on_amd("missing triton", gfx, **{**ROCM, **more})
    facts = {**found.facts, "torch.cuda": Absent("test")}
    return msgspec.structs.replace(found, facts=facts)


@pytest.mark.parametrize("gfx", ["gfx942", "gfx90a", "gfx1100", "gfx1201"])
def test_a_wish_is_met_by_the_triton_backend(gfx: str) -> None:
    """The plan was empty, and named neither the variable nor anything else."""
    made = plan(on_rocm(gfx), want=("flash-attn",))
    assert changed(made)["flash-attn"].startswith("2.8.3")
    assert "torch" not in changed(made)
    [build] = (each for each in made.actions if each.kind is ActionKind.BUILD)
    assert build.env == VARIABLE
    assert "--no-build-isolation" in build.argv
    [kept] = (each for each in made.actions if each.kind is ActionKind.SET)
    assert kept.env == VARIABLE
    assert kept.undo.startswith("unset FLASH_ATTENTION_TRITON_AMD_ENABLE")
    assert made.actions.index(build) < made.actions.index(kept)
    assert not made.proof.missed
    assert 'attn_implementation="sdpa"' in " ".join(made.notes)


@pytest.mark.parametrize("gfx", ["gfx1151", "gfx906", "gfx803"])
def test_where_no_source_says_that_it_runs_nothing_is_installed(gfx: str) -> None:
    made = plan(on_rocm(gfx), want=("flash-attn",))
    assert "flash-attn" not in changed(made)
    assert f"no source says that its Triton backend runs on {gfx}" in " ".join(made.notes)
    assert 'attn_implementation="sdpa"' in " ".join(made.notes)


@pytest.mark.parametrize("platform", ["win_amd64", "linux_aarch64"])
def test_it_is_planned_where_torch_for_rocm_is_published(platform: str) -> None:
    made = plan(on_rocm("gfx1100", **{"host.platform": platform}), want=("flash-attn",))
    assert "flash-attn" not in changed(made)


def test_nobody_is_told_to_remove_what_may_have_been_there() -> None:
    """setuptools was installed again, and to be removed by the undo of that."""
    there = on_rocm("gfx1100")
    facts = {name: each for name, each in there.facts.items() if name != "packages.installed"}
    made = plan(msgspec.structs.replace(there, facts=facts), want=("flash-attn",))
    tools = next(each for each in made.actions if "setuptools" in each.requirements)
    assert not tools.undo


def test_without_a_wish_nothing_comes() -> None:
    assert not changed(plan(on_rocm("gfx1100")))


def test_on_a_gpu_of_nvidia_no_variable_is_set() -> None:
    there = msgspec.structs.replace(on_rocm("gfx1100"))
    facts = {**there.facts, "gpu[0].vendor": Known("nvidia", "test")}
    made = plan(msgspec.structs.replace(there, facts=facts), want=("flash-attn",))
    assert not any(VARIABLE.items() <= each.env.items() for each in made.actions)


def test_libraries_without_compiled_files_come_along() -> None:
    made = plan(on_rocm("gfx1100"), want=("flash-attn", "transformers", "vllm"))
    assert {"flash-attn", "transformers"} <= changed(made).keys()
    assert "vllm" not in changed(made)
    assert not made.proof.missed


def test_a_library_brings_the_torch_for_the_gpu() -> None:
    """peft requires torch, and an installer would have taken the one for CUDA."""
    made = plan(on_amd("empty", "gfx942"), want=("peft",))
    assert "+rocm" in changed(made)["torch"]
    assert "peft" in changed(made)


def test_from_nothing_torch_for_rocm_comes_first() -> None:
    made = plan(on_amd("empty", "gfx942"), want=("flash-attn",))
    assert "+rocm" in changed(made)["torch"]
    assert "flash-attn" in changed(made)
    assert not made.proof.missed
    assert not made.proof.requirements
