"""torch for AMD's GPUs, with its version and its index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.model.fact import Absent, Known
from fadoctor.model.plan import ActionKind, PlanOutcome
from fadoctor.sources.targets.derived import derive
from tests.states.starts import start
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.test_planner import changed

if TYPE_CHECKING:
    from typing import Any

    from fadoctor.model.environment import Environment

MI300X, MI250X, UNKNOWN_GPU = "gfx942", "gfx90a", "gfx1103"
_A100 = ("NVIDIA A100-SXM4-80GB", "8.0", "550.54.15")


def on_amd(name: str, gfx: str, **more: Any) -> Environment:
    """Return an environment on a machine with a GPU of AMD."""
    found = start(name, _A100)
    told = {"gpu[0].vendor": "amd", "gpu[0].name": "AMD Instinct", "gpu[0].gfx": gfx, **more}
    gone = ("gpu[0].compute_capability", "driver.version", "driver.library_version")
    facts = {**found.facts, **dict.fromkeys(gone, Absent("test"))}
    facts |= {name: Known(value, "test") for name, value in told.items()}
    return derive(msgspec.structs.replace(found, facts=facts), session().matrix)


@pytest.mark.parametrize("gfx", [MI300X, MI250X])
def test_a_torch_for_cuda_gives_way_to_the_same_one_for_rocm(gfx: str) -> None:
    made = plan(on_amd("torch 2.6 with vision and audio", gfx))
    assert made.outcome is PlanOutcome.REPAIRS
    assert changed(made)["torch"] == "2.6.0+rocm6.2.4"
    assert changed(made)["torchvision"] == "0.21.0+rocm6.2.4"
    removal, install = (action for action in made.actions if action.kind.is_run)
    assert removal.kind is ActionKind.UNINSTALL
    assert "triton" in removal.requirements
    assert install.index.endswith("/rocm6.2.4")
    words = " ".join(word for action in made.actions for word in action.argv)
    assert "/cu1" not in words
    assert "nvidia-" not in words


@pytest.mark.parametrize(
    ("keep", "comes"), [((), {"torchvision": "0.22.1+rocm6.3"}), (("torchvision",), {})]
)
def test_what_is_for_another_torch_for_rocm_follows_the_one_that_stays(
    keep: tuple[str, ...], comes: dict[str, str]
) -> None:
    there = on_amd("torch 2.6 with vision and audio", MI300X)
    facts = {**there.facts, "torch.cuda": Absent("test")}
    versions = {
        "torch": "2.7.1+rocm6.3", "torchvision": "0.21.0+rocm6.3", "torchaudio": "2.7.1+rocm6.3",
        "triton": "3.3.1",
    }  # fmt: skip
    for name, version in versions.items():
        facts[f"{name}.version"] = Known(version, "test")
        facts[f"{name}.requires"] = Known({}, "test")
    facts["torchvision.requires"] = Known({"torch": "==2.6.0"}, "test")
    rocm = {"torch.build": "rocm", "torch.hip": "6.3.0", "triton.distribution": "triton-rocm"}
    facts |= {name: Known(value, "test") for name, value in rocm.items()}
    facts["packages.installed"] = Known(versions, "test")
    here = derive(msgspec.structs.replace(there, facts=facts), session().matrix)
    assert changed(plan(here, keep=keep)) == comes


def test_from_nothing_the_newest_with_code_for_the_gpu_comes() -> None:
    made = plan(on_amd("empty", MI300X), want=("torch", "torchvision"))
    torch, vision = (changed(made)[name] for name in ("torch", "torchvision"))
    assert torch.partition("+")[2].startswith("rocm")
    assert vision.partition("+")[2] == torch.partition("+")[2]


@pytest.mark.parametrize(
    "more", [{"gpu[0].gfx": "gfx803"}, {"host.platform": "win_amd64"}, {"python.version": "3.7.9"}]
)
def test_where_no_table_has_a_build_nothing_is_planned(more: dict[str, str]) -> None:
    made = plan(on_amd("empty", MI300X, **more), want=("torch",))
    assert made.changes == ()


def test_a_torch_for_rocm_that_has_code_stays() -> None:
    rocm = {"torch.version": "2.8.0+rocm6.4", "torch.build": "rocm", "torch.hip": "6.4"}
    found = on_amd("missing triton", MI300X, **rocm)
    facts = {**found.facts, "torch.cuda": Absent("test")}
    found = derive(msgspec.structs.replace(found, facts=facts), session().matrix)
    assert plan(found, want=("torch",)).changes == ()


def test_what_is_kept_stays() -> None:
    made = plan(on_amd("torch 2.6 with vision and audio", MI300X), keep=("torch",))
    assert "torch" not in changed(made)


def test_what_stays_of_nvidias_and_what_moves_for_torch_is_said() -> None:
    """torch 2.6 pins one sympy, which PyTorch's index has as well."""
    there = {"torch": "2.6.0", "sympy": "1.12", "nvidia-cudnn-cu12": "9.1.0.70"}
    found = on_amd("torch 2.6 with vision and audio", MI300X)
    facts = {**found.facts, "packages.installed": Known(there, "test")}
    made = plan(msgspec.structs.replace(found, facts=facts))
    assert changed(made)["sympy"] == "1.13.1"
    [install] = (action for action in made.actions if action.kind is ActionKind.INSTALL)
    assert "nvidia-cudnn-cu12" in " ".join(install.side_effects)
    assert "--extra-index-url" not in install.argv


def test_the_note_about_amd_does_not_contradict_the_plan_for_another_wish() -> None:
    rocm = {"torch.version": "2.8.0+rocm6.4", "torch.build": "rocm", "torch.hip": "6.4"}
    found = on_amd("missing triton", MI300X, **rocm)
    facts = {**found.facts, "torch.cuda": Absent("test")}
    notes = plan(msgspec.structs.replace(found, facts=facts), want=("flash-attn",)).notes
    assert not any("no packages are planned" in note for note in notes)
    assert any("Triton backend" in note for note in notes)
    assert any("hipcc" in note for note in notes)


def test_a_triton_for_rocm_that_loses_its_files_goes_with_the_other() -> None:
    """pip keeps what its list has, so that the torch that comes would find a folder half empty."""
    found = on_amd("torch 2.6 with vision and audio", MI300X)
    there = {"torch": "2.6.0", "triton": "3.2.0", "pytorch-triton-rocm": "3.2.0"}
    facts = {**found.facts, "packages.installed": Known(there, "test")}
    made = plan(msgspec.structs.replace(found, facts=facts))
    [removal] = (action for action in made.actions if action.kind is ActionKind.UNINSTALL)
    assert {"triton", "pytorch-triton-rocm"} <= set(removal.requirements)
    [undo] = (each for each in removal.undo.split(" && ") if "triton-rocm" in each)
    assert "--index-url https://download.pytorch.org/whl/rocm6.2.4 " in undo


def test_what_stays_for_cuda_beside_a_torch_for_rocm_is_said() -> None:
    """No known problem remained, with an xformers that cannot use the GPU."""
    more = {"xformers.version": "0.0.29.post3"}
    made = plan(on_amd("torch 2.6 with vision and audio", MI300X, **more))
    assert changed(made)["torch"].startswith("2.6.0+rocm")
    assert [text for text in made.proof.unknown if text.startswith("xformers 0.0")]


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ({"vllm.version": "0.8.5"}, "vllm/vllm-openai-rocm"),
        ({"vllm.version": "0.8.5+cu121", "xformers.version": "0.0.29.post3"}, "vllm-openai-rocm"),
        ({"sglang.version": "0.4.6"}, "image of lmsysorg/sglang with rocm"),
    ],
)
def test_beneath_a_server_for_cuda_no_torch_is_installed(server: dict[str, str], says: str) -> None:
    """Gigabytes of torch came for a vLLM that could not use the GPU with it either."""
    made = plan(on_amd("torch 2.6 with vision and audio", MI300X, **server))
    assert made.changes == ()
    told = [action for action in made.actions if "torch-other-vendor" in action.findings]
    assert [action.kind for action in told] == [ActionKind.ADVICE]
    assert says in told[0].text
    assert not any("whl/rocm" in action.text for action in made.actions)
