"""What a framework that a text names pins moves as one set, though the text is no whole list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fix import Fix, Safety, Step, StepKind
from fadoctor.model.overlays import Overlays
from fadoctor.repair.plan.planner import PlannerRequest, make_planned
from fadoctor.repair.plan.written.judged_ranges import JudgedRanges
from fadoctor.sources.logs.pasted_text import read_text
from fadoctor.sources.targets.overlay import apply_overlays
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.written.test_advice import LEFT

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan

SGLANG = """\
Python: 3.10.14 (main, Jan  1 2025, 00:00:00) [GCC 11.4.0]
CUDA available: True
GPU 0: NVIDIA A100-SXM4-80GB
GPU 0 Compute Capability: 8.0
CUDA Driver Version: 550.54.15
PyTorch: {torch}+cu126
sglang: 0.4.9
sgl_kernel: 0.2.4
triton: {triton}
transformers: {transformers}
"""
UNSLOTH = """\
{driver}
$ pip freeze
numpy==1.26.4
peft==0.15.2
torch==2.3.1+cu121
torchvision==0.18.1+cu121
transformers==4.51.3
triton==2.3.1
trl==0.15.2
unsloth==2025.4.7
xformers==0.0.27
"""
BANNER = "| NVIDIA-SMI 520.61.05    Driver Version: 520.61.05    CUDA Version: 11.8     |"


def read(text: str) -> Environment:
    return read_text(text.encode(), "report.txt", session().knowledge)


def assumed(text: str, gpu: str) -> Environment:
    overlays = Overlays((gpu,), "", "", "3.11", "linux_x86_64")
    return apply_overlays(read(text), overlays, Matrix(session().knowledge.tables))


def changes(found: Plan) -> dict[str, str]:
    return {each.distribution: each.after for each in found.changes}


def test_torch_and_what_belongs_to_it_come_as_the_framework_pins_them() -> None:
    said = {"torch": "2.7.0", "triton": "3.3.0", "transformers": "4.51.3"}
    found = changes(plan(assumed(SGLANG.format(**said), "A100")))
    assert found["torch"].partition("+")[0] == "2.7.1"
    assert found["triton"] == "3.3.1"
    assert found["transformers"] == "4.53.0"


def test_a_set_that_is_whole_stays() -> None:
    said = {"torch": "2.7.1", "triton": "3.3.1", "transformers": "4.53.0"}
    assert not changes(plan(assumed(SGLANG.format(**said), "A100")))


def test_the_driver_of_the_text_decides_the_build_and_the_framework_the_release() -> None:
    text = UNSLOTH.format(driver=BANNER)
    found = changes(plan(assumed(text, "RTX 3090")))
    assert found["torch"].endswith("+cu118")
    assert not found["torch"].startswith("2.3.")
    assert found.keys() >= {"torch", "torchvision", "triton", "xformers"}


def test_the_driver_of_a_text_is_that_of_its_own_gpu() -> None:
    own = f"{BANNER}\nGPU: NVIDIA RTX 3090\n{UNSLOTH.format(driver='')}"
    assert assumed(own, "RTX 3090").facts["driver.version"] == read(own).facts["driver.version"]
    assert assumed(own, "H100").facts["driver.version"] != read(own).facts["driver.version"]
    assert not hasattr(assumed(own, "MI300X").facts["driver.version"], "value")


def test_what_is_asked_for_brings_no_release_that_it_cannot_use() -> None:
    text = "$ pip freeze\nnumpy==1.26.4\ntorch==2.5.1\ntriton==3.1.0\n"
    here = apply_overlays(
        read(text),
        Overlays(("V100",), "550.54.15", "", "3.10", "linux_x86_64"),
        Matrix(session().knowledge.tables),
    )
    steps = [each for each in plan(here, want=("vllm",)).actions if each.is_step]
    asked = [each for step in steps for each in step.requirements]
    assert [each for each in asked if each.startswith("transformers")] == [
        "transformers>=4.48.2,<4.51"
    ]


@pytest.mark.parametrize(("transformers", "is_late"), [("4.57.1", True), ("4.52.4", False)])
def test_what_stays_and_came_long_after_a_framework_is_said(
    transformers: str, *, is_late: bool
) -> None:
    text = (
        "$ pip list\ntorch 2.6.0\ntriton 3.2.0\ntorchvision 0.21.0\n"
        f"transformers {transformers}\nnumpy 2.2.6\n"
    )
    found = plan(assumed(text, "A100"), want=("vllm",), keep=("torch",))
    assert changes(found)["vllm"] == "0.8.5.post1"
    told = [note for note in found.notes if "no source says that they work together" in note]
    assert [note.partition("; ")[2] for note in told] == [
        "transformers<4.54 matches its date"
    ] * is_late


def test_a_framework_moves_to_a_release_that_keeps_the_major_version_of_others() -> None:
    """Regression: of the releases for one torch came the newest, and with it transformers 5."""
    text = (
        "$ pip list\ntorch 2.9.1\ntriton 3.5.1\nsglang 0.5.5\nsgl-kernel 0.3.16.post5\n"
        "flashinfer-python 0.5.0\ntransformers 4.57.1\ntokenizers 0.22.1\n"
    )
    here = apply_overlays(
        read(text),
        Overlays(("H100",), "580.95.05", "", "3.11", "linux_x86_64"),
        Matrix(session().knowledge.tables),
    )
    found = changes(plan(here, keep=("torch",)))
    assert found["sglang"] == "0.5.9"
    assert "transformers" not in found


@pytest.mark.parametrize(("peft", "after"), [("0.14.0", "0.13.2"), ("0.13.2", ""), ("0.12.0", "")])
def test_names_that_are_not_there_move_who_asks_for_them(peft: str, after: str) -> None:
    text = f"$ pip freeze\npeft=={peft}\ntorch==2.5.1\ntransformers==4.41.2\ntriton==3.1.0\n"
    assert changes(plan(assumed(text, "A100"))).get("peft", "") == after


def test_a_command_for_a_person_ends_in_a_release_that_fits() -> None:
    text = "$ pip freeze\ntorch==2.5.1\ntriton==3.1.0\n"
    made = make_planned(assumed(text, "A100"), session(), PlannerRequest())
    ranges = JudgedRanges(made.problem, made.after)

    def written(item: str) -> tuple[bool, tuple[str, ...]]:
        step = Step(StepKind.INSTALL, f"pip install '{item}'", (item,))
        fix = Fix("bring", "Bring it", Safety.SAFE, (step,))
        finding = msgspec.structs.replace(LEFT, fixes=(fix,))
        [told] = ranges.written(finding).fixes
        return ranges.holds(fix), told.steps[0].items

    assert written("xformers>=0.0.27.post2") == (True, ("xformers==0.0.29.post1",))
    assert written("xformers>=0.0.34") == (False, ("xformers>=0.0.34",))
    assert written("xformers<0.0.30") == (True, ("xformers<0.0.30",))
    assert written("a-package-of-nobody>=2") == (True, ("a-package-of-nobody>=2",))


KERNELS = """\
PyTorch: 2.8.0+cu126
CUDA Driver Version: 550.54.15
sglang: 0.4.10
sgl_kernel: 0.2.8
flashinfer_python: 0.2.6.post1
triton: 3.4.0
transformers: 4.54.1
"""


def test_kernels_that_a_text_names_move_with_their_framework() -> None:
    after = {each.distribution: each.after for each in plan(assumed(KERNELS, "H100")).changes}
    kernels = {"sglang": "sgl-kernel", "torch": "flashinfer-python"}
    assert any(name in after and other in after for name, other in kernels.items())
