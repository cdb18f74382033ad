"""What an installer compiles is said: a plan proves nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.commands.fix import FixRequest, make_plan
from fadoctor.interfaces.commands.plan import PlanRequest
from fadoctor.interfaces.commands.request import ProgramRequest, request_of
from fadoctor.model.plan import PlanOutcome

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.plan import Plan


WHEELS = "https://download.pytorch.org/whl"


def planned_for(folder: Path, text: str, gpu: str, python: str, platform: str) -> Plan:
    file = folder / "requirements.txt"
    file.write_text(text)
    driver = "" if gpu == "none" else "570.86.15"
    what = ProgramRequest(
        requirements=file, gpu=gpu, driver=driver, python_version=python, platform=platform
    )
    return make_plan(FixRequest(request_of(what, cache=True), PlanRequest())).plan


@pytest.mark.parametrize(
    ("text", "gpu", "platform", "compiled"),
    [
        ("vllm==0.11.0\n", "none", "macosx_arm64", "vllm 0.11.0"),
        ("torch==2.7.1\nxformers==0.0.31\n", "GH200", "linux_aarch64", "xformers 0.0.31"),
        ("torch==2.7.1\nxformers==0.0.31\n", "H100", "linux_x86_64", ""),
        ("torch==2.9.0\nnumpy==1.26.4\n", "none", "linux_x86_64", ""),
    ],
)
def test_a_plan_says_what_is_compiled(
    tmp_path: Path, text: str, gpu: str, platform: str, compiled: str
) -> None:
    """Regression: "no problem remains" was said of vLLM for macOS, which PyPI has as sources."""
    plan = planned_for(tmp_path, text, gpu, "3.12", platform)
    said = [each for each in plan.proof.unknown if " is compiled: " in each]
    place = f"PyPI has no file for {platform} and Python 3.12"
    assert said == ([f"{compiled} is compiled: {place}"] if compiled else [])


def test_where_nothing_else_is_wrong_it_is_a_note(tmp_path: Path) -> None:
    text = (
        "--extra-index-url https://download.pytorch.org/whl/cu128\n"
        "torch==2.7.1+cu128\nxformers==0.0.31\n"
    )
    plan = planned_for(tmp_path, text, "GH200", "3.11", "linux_aarch64")
    assert plan.outcome is PlanOutcome.NOTHING
    assert any(note.startswith("xformers 0.0.31 is compiled") for note in plan.notes)


def test_what_nobody_can_compile_here_brings_nothing(tmp_path: Path) -> None:
    """Regression: a torch was written for a vLLM that Windows cannot have."""
    plan = planned_for(tmp_path, "vllm==0.10.0\n", "RTX 4080", "3.12", "win_amd64")
    assert "torch" not in {change.distribution for change in plan.changes}
    assert not any(" is compiled" in each for each in (*plan.proof.unknown, *plan.notes))
    assert any("WSL 2" in action.text for action in plan.actions)


def test_a_numpy_from_before_its_python_is_compiled(tmp_path: Path) -> None:
    text = "torch==2.9.0\nnumpy==1.26.4\n"
    plan = planned_for(tmp_path, text, "none", "3.14", "linux_x86_64")
    assert any(note.startswith("numpy 1.26.4 is compiled") for note in plan.notes)


@pytest.mark.parametrize(
    ("text", "python", "said"),
    [
        ("torch==2.4.1\nsentencepiece==0.1.97\n", "3.12", "sentencepiece 0.1.97"),
        ("torch==2.4.1\nscipy<1.11\n", "3.13", "scipy<1.11"),
        ("torch==2.2.2\ntransformers==4.33.3\n", "3.12", "transformers 4.33.3 requires tokenizers"),
        ("torch==2.4.1\nsentencepiece==0.1.97\n", "3.10", ""),
        ("torch==2.2.2\ntransformers==4.34.1\ntokenizers==0.14.1\n", "3.12", ""),
        ("torch==2.2.2\ntransformers==4.33.3\n", "3.11", ""),
    ],
)
def test_every_compiled_package_is_held_against_its_files(
    tmp_path: Path, text: str, python: str, said: str
) -> None:
    """Regression: only packages of the stack were, and not what comes along."""
    plan = planned_for(tmp_path, text, "H100", python, "linux_x86_64")
    told = [each for each in (*plan.proof.unknown, *plan.notes) if " is compiled: " in each]
    assert [each.startswith(said) for each in told] == ([True] if said else [])


@pytest.mark.parametrize(
    ("image", "bounded"),
    [
        ("nvidia/cuda:12.4.1-devel-ubuntu22.04", True),
        ("vllm/vllm-openai:v0.8.5", False),  # it has a transformers, whichever it is
        ("example.org/some/image:1", False),
    ],
)
def test_what_comes_along_in_an_image(tmp_path: Path, image: str, *, bounded: bool) -> None:
    """Regression: nothing was said of a transformers that a server brings to a bare image."""
    file = tmp_path / "Dockerfile"
    install = "RUN pip install vllm==0.7.3\n" if bounded or "some" in image else ""
    file.write_text(f"FROM {image}\n{install}RUN pip install peft==0.14.0\n")
    what = ProgramRequest(
        requirements=file, gpu="H100", driver="550.90.07", python_version="3.10",
        platform="linux_x86_64",
    )  # fmt: skip
    plan = make_plan(FixRequest(request_of(what, cache=True), PlanRequest())).plan
    told = [name for action in plan.actions for name in action.requirements]
    assert any(name.startswith("transformers") for name in told) is bounded


def test_a_triton_without_a_file_for_windows_gives_way_to_the_one_with_a_file(
    tmp_path: Path,
) -> None:
    """It was removed, and nothing came instead: torch.compile would have stopped working."""
    text = f"--extra-index-url {WHEELS}/cu128\ntorch==2.7.1+cu128\ntriton==3.3.1\n"
    plan = planned_for(tmp_path, text, "RTX 4090", "3.12", "win_amd64")
    assert any("triton-windows==3.3.1.post" in each.diff for each in plan.edits)
    assert not plan.proof.missed
    assert not plan.proof.lost


def test_what_fits_its_torch_stays_on_a_mac(tmp_path: Path) -> None:
    """Regression: the CUDA that the file for Linux loads was missed on a Mac, which has none."""
    text = "torch==2.15.0\ntorchvision==0.29.2\nflash-attn\n"
    plan = planned_for(tmp_path, text, "none", "3.12", "macosx_arm64")
    assert [change.distribution for change in plan.changes] == ["flash-attn"]


@pytest.mark.parametrize(
    ("gpu", "platform", "comes"),
    [
        ("RTX 4090", "win_amd64", "cu"),  # PyPI's files for Windows are for the CPU
        ("RTX 4090", "linux_x86_64", None),
    ],
)
def test_a_torch_whose_every_file_is_unfit_is_asked_for_by_its_index(
    tmp_path: Path, gpu: str, platform: str, comes: str | None
) -> None:
    """Regression: the release was undecided, so that no line for this GPU was written."""
    text = "accelerate==1.13.0\npeft==0.19.1\nan-unknown-package\n"
    plan = planned_for(tmp_path, text, gpu, "3.12", platform)
    labels = [c.after.partition("+")[2] for c in plan.changes if c.distribution == "torch"]
    assert [label[: len(comes or "")] for label in labels] == [comes] * bool(comes)
