"""Conflicts that people really met: each is found with its fix, and its repair is silent.

Metadata folders and small files stand in for the packages: what they require is what these releases
require, as far as it matters here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.judging.diagnose import foresee
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.overlays import Overlays
from fadoctor.sources.examine.examination import Examination
from fadoctor.sources.examine.request import Request
from tests.unit.sources.targets.made_requirements import write_environment

if TYPE_CHECKING:
    from pathlib import Path

    from fadoctor.model.finding import Finding

KNOWLEDGE = load_knowledge()

REQUIRES = {
    "transformers==5.23.0": ["accelerate>=1.1.0; extra == 'accelerate'"],
    "flash-attn-4==4.0.0b36": ["nvidia-cutlass-dsl>=4.6.2", "torch"],
    "flash-attn-4==4.0.0b18": ["nvidia-cutlass-dsl>=4.5.2", "torch"],
    "axolotl==0.19.0": ["torch>=2.11", "peft==0.20.0", "trl==1.9.0", "transformers==5.16.1"],
    "ms-swift==4.6.0": ["peft<0.21,>=0.11", "trl<1.0,>=0.15", "transformers<5.20,>=4.33"],
    "torchvision==0.20.1": ["torch==2.5.1"],
    "torchvision==0.29.1": ["torch>=2.14.0"],
}
"""The requirements of releases that have a say in a conflict."""


class Conflict(msgspec.Struct, frozen=True):
    """A set of packages that does not work, who finds it, and the same mended."""

    packages: str
    rule: str
    says: str
    mended: str
    subject: str = ""
    files: tuple[str, ...] = ()
    gpu: str = "H100"


CONFLICTS = (
    Conflict("peft==0.17.1 transformers==5.23.0", "peft-hybrid-cache", "peft 0.17.1",
             "peft==0.18.0 transformers==5.23.0"),
    Conflict("liger-kernel==0.6.4 transformers==5.23.0", "liger-kernel-hybrid-cache", "0.6.4",
             "liger-kernel==0.6.5 transformers==5.23.0"),
    Conflict("bitsandbytes==0.45.5 transformers==5.23.0", "bitsandbytes-below-minimum", "0.45.5",
             "bitsandbytes==0.46.1 transformers==5.23.0"),
    Conflict("accelerate==0.34.0 transformers==5.23.0", "requirement-unmet",
             "accelerate (>=1.1.0, but 0.34.0 is installed)",
             "accelerate==1.15.0 transformers==5.23.0",
             "transformers"),
    Conflict("trl==1.16.0 vllm==0.33.0", "pair-unfit", "vllm (it supports >=0.22.0,<=0.31.0",
             "trl==1.16.0 vllm==0.31.0", "trl"),
    Conflict("trl==0.23.1 vllm==0.17.1", "pair-unfit", "vllm (it supports <0.12.0",
             "trl==0.23.1 vllm==0.11.2", "trl"),
    Conflict("trl==0.15.2 vllm==0.17.1", "pair-unfit", "vllm (it supports <0.12.0",
             "trl==0.15.2 vllm==0.8.5", "trl"),
    Conflict("trl==0.25.1 vllm==0.12.0", "pair-unfit", "vllm (it supports ==0.10.2",
             "trl==0.25.1 vllm==0.10.2", "trl"),
    Conflict("vllm==0.13.0 flash-attn-4==4.0.0b36 nvidia-cutlass-dsl==4.8.1", "fa4-breaks-vllm",
             "vLLM 0.13.0", "vllm==0.33.0 flash-attn-4==4.0.0b36 nvidia-cutlass-dsl==4.8.1",
             files=("flash_attn/cute/__init__.py",)),
    Conflict("flash-attn-4==4.0.0b36", "requirement-missing", "nvidia-cutlass-dsl",
             "flash-attn-4==4.0.0b36 nvidia-cutlass-dsl==4.8.1",
             files=("flash_attn/cute/__init__.py",)),
    Conflict("flash-attn-4==4.0.0b36 nvidia-cutlass-dsl==4.2.0", "requirement-unmet",
             "nvidia-cutlass-dsl (>=4.6.2, but 4.2.0 is installed)",
             "flash-attn-4==4.0.0b36 nvidia-cutlass-dsl==4.6.2", "flash-attn-4",
             files=("flash_attn/cute/__init__.py",)),
    Conflict("flash-attn-4==4.0.0b18 nvidia-cutlass-dsl==4.6.1", "fa4-backward-hangs", "4.6.1",
             "flash-attn-4==4.0.0b18 nvidia-cutlass-dsl==4.6.2", "gpu[0]",
             ("flash_attn/cute/__init__.py",), "B300"),
    Conflict("xformers==0.0.32.post2", "xformers-fa3-blackwell", "xformers 0.0.32.post2",
             "xformers==0.0.33.post1", "gpu[0]", ("xformers/_C.so",), "RTX 5090"),
    Conflict("axolotl==0.19.0 peft==0.21.2 trl==1.16.0 transformers==5.15.0", "requirement-unmet",
             "peft (==0.20.0, but 0.21.2 is installed)",
             "axolotl==0.19.0 peft==0.20.0 trl==1.9.0 transformers==5.16.1", "axolotl"),
    Conflict("ms-swift==4.6.0 peft==0.21.2 trl==1.16.0 transformers==5.23.0", "requirement-unmet",
             "trl (<1.0,>=0.15, but 1.16.0 is installed)",
             "ms-swift==4.6.0 peft==0.20.0 trl==0.29.1 transformers==5.16.1", "ms-swift"),
    Conflict("torchvision==0.20.1", "requirement-unmet", "torch (==2.5.1, but 2.15.0 is installed)",
             "torchvision==0.29.1", "torchvision"),
)  # fmt: skip


def findings(folder: Path, packages: str, conflict: Conflict) -> list[Finding]:
    chosen: list[dict[str, Any]] = [
        {"name": each.partition("==")[0], "version": each.partition("==")[2],
         "requires": REQUIRES.get(each, [])}
        for each in (*packages.split(), "torch==2.15.0")
    ]  # fmt: skip
    folder.mkdir()
    write_environment(folder, chosen)
    version = "__version__ = '2.15.0+cu132'\ncuda: str | None = '13.2'\n"
    (folder / "torch" / "version.py").write_text(version, "utf-8")
    for name in conflict.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    assumed = Overlays((conflict.gpu,), "610.50", "2.35", "3.12", "linux_x86_64")
    request = Request(site_packages=str(folder), overlays=assumed)
    environment = Examination(request, os.environ).environment(KNOWLEDGE)
    return list(foresee(environment, KNOWLEDGE).shown)


def told(folder: Path, packages: str, conflict: Conflict) -> list[Finding]:
    """Return what the rule of a conflict says of its subject."""
    found = findings(folder, packages, conflict)
    of_rule = [each for each in found if each.rule_id == conflict.rule]
    return [each for each in of_rule if conflict.subject in ("", each.subject)]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("conflict", CONFLICTS, ids=lambda each: each.packages)
def test_it_is_found_with_its_fix_and_its_repair_is_silent(
    conflict: Conflict, tmp_path: Path
) -> None:
    found = told(tmp_path / "bad", conflict.packages, conflict)
    assert [each for each in found if conflict.says in each.message] != []
    assert any(each.fixes for each in found)
    assert told(tmp_path / "good", conflict.mended, conflict) == []
