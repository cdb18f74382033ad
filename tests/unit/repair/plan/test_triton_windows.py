"""On Windows somebody else publishes triton: it goes with a torch, and moves with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.plan import ActionKind
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, remove
from fadoctor.repair.plan.written.undoing import origin
from fadoctor.sources.targets.derived import derive
from tests.states.sequences import on_platform
from tests.states.starts import start
from tests.unit.judging.engine.builders import fact_of
from tests.unit.repair.plan.problems import golden, plan, session, without
from tests.unit.repair.plan.test_planner import changed

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment


def _windows(torch: str, triton: str, gpu: str = "8.9") -> Environment:
    there = golden("linux-a100-healthy", host__os="windows", host__platform="win_amd64",
                   host__glibc=None, torch__version=torch, torch__build=torch.partition("+")[2],
                   torch__cuda="12.4", torch__requires={}, python__version="3.12.4",
                   triton__version=triton, triton__distribution="triton-windows")  # fmt: skip
    capability = {"gpu[0].compute_capability": fact_of(gpu)}
    there = msgspec.structs.replace(there, facts={**there.facts, **capability})
    return derive(without(there, "flash_attn"), session().matrix)


def test_the_one_of_this_torch_comes_in_place_of_another() -> None:
    assert changed(plan(_windows("2.6.0+cu124", "3.3.1.post19"))) == {
        "triton-windows": "3.2.0.post21"
    }


def test_the_right_one_stays() -> None:
    assert changed(plan(_windows("2.6.0+cu124", "3.2.0.post21"))) == {}


def test_it_moves_with_torch_and_comes_from_pypi() -> None:
    found = plan(_windows("2.6.0+cu124", "3.2.0.post21", gpu="12.0"))
    after = changed(found)
    assert after["torch"].endswith(("cu128", "cu129", "cu130"))
    assert after["triton-windows"].endswith(("post21", "post24", "post26"))
    [install] = [each for each in found.actions if each.kind is ActionKind.INSTALL]
    assert "--extra-index-url" in install.argv
    assert "--index-url" not in install.argv


def test_a_choice_is_of_the_distribution_that_it_installs() -> None:
    asked = "triton-windows==3.2.0.post21"
    assert Choice("triton", ChoiceKind.INSTALL, requirement=asked).distribution == "triton-windows"
    assert remove("triton").distribution == "triton"


def test_what_is_labelled_comes_back_from_the_index_of_its_label() -> None:
    there = _windows("2.6.0+cu124", "3.3.1.post19")
    indexes = session().candidates.indexes
    for name, version, index in (
        ("xformers", "0.0.28.post3+cu118", "https://download.pytorch.org/whl/cu118"),
        ("torchao", "0.15.0+cu126", "https://download.pytorch.org/whl/cu126"),
        ("xformers", "0.0.29.post3", ""),
        ("triton-windows", "3.3.1.post19", ""),
        ("vllm", "0.11.0+local.1", ""),
    ):
        assert origin(name, version, there, indexes) == (f"{name}=={version}", (index, ()))


def _torch_alone() -> Environment:
    there = _windows("2.8.0+cu128", "3.4.0.post21")
    there = without(without(there, "triton"), "liger_kernel")
    alone = {"packages.installed": fact_of({"torch": "2.8.0"})}
    return msgspec.structs.replace(there, facts={**there.facts, **alone})


def test_sageattention_gets_one_which_it_imports_and_does_not_declare() -> None:
    found = plan(_torch_alone(), want=("sageattention",))
    after = changed(found)
    assert after["triton-windows"].startswith("3.4.")
    assert "sageattention" in after
    assert any("triton-windows" in action.undo for action in found.actions)


def test_nobody_else_gets_one() -> None:
    assert "triton-windows" not in changed(plan(_torch_alone(), want=("einops",)))


@pytest.mark.parametrize("want", ["unsloth", "unsloth==2025.9.1"])
def test_unsloth_comes_to_windows_with_the_triton_for_its_torch(want: str) -> None:
    """It requires triton on Linux alone; that no release helps was said of Windows."""
    gpu = ("NVIDIA GeForce RTX 4070", "8.9", "576.88")
    here = on_platform(start("empty", gpu, "3.11"), "win_amd64")
    windows = {"host.os": fact_of("windows"), "host.machine": fact_of("AMD64")}
    here = msgspec.structs.replace(here, facts={**here.facts, **windows})
    found = plan(here, want=(want,))
    after = {change.distribution: change.after for change in found.changes}
    assert not found.proof.missed
    assert {"unsloth", "torch", "xformers", "triton-windows"} <= set(after)
    assert "triton" not in after
