"""Files whose torch has no code for the GPU: what else in them moves with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.overlays import Overlays
from fadoctor.repair.resolution.judge import plan_base
from fadoctor.sources.targets.overlay import apply_overlays
from tests.unit.repair.plan.problems import plan, session
from tests.unit.repair.plan.test_planner import changed
from tests.unit.repair.resolution.test_judge import on
from tests.unit.sources.manifests.installed.test_environment import planned

if TYPE_CHECKING:
    from pathlib import Path

WHEELS = "https://download.pytorch.org/whl"


@pytest.mark.parametrize(
    ("text", "comes"),
    [
        ("torch\n", True),
        ("torch==2.15.0\ntorchvision\n", True),
        (f"--extra-index-url {WHEELS}/rocm6.2\ntorch\n", True),
        ("torch\nvllm\n", False),  # vLLM of PyPI is for CUDA alone
    ],
)
def test_on_amd_a_torch_that_no_rocm_has_gives_way(
    tmp_path: Path, text: str, *, comes: bool
) -> None:
    """Regression: only a release that ROCm's index has, too, was replaced by its own build."""
    there = planned(tmp_path, text)
    here = apply_overlays(there, Overlays(("RX 7900 XTX",)), session().matrix)
    torch = changed(plan(plan_base(here, session().knowledge))).get("torch", "")
    assert ("+rocm" in str(torch)) is comes


@pytest.mark.parametrize(
    ("text", "gpu", "moved"),
    [
        ("sglang[all]==0.4.6.post5\n", "RTX 5090", "sglang"),
        ("sglang[srt]==0.4.8\n", "RTX 5090", "torch"),  # the same release, of CUDA 12.8
        ("sglang[all]==0.5.5.post3\n", "A100", ""),
    ],
)
def test_a_pinned_framework_moves_where_its_torch_does_not_compute(
    tmp_path: Path, text: str, gpu: str, moved: str
) -> None:
    """Regression: torch moved alone, and the framework refused it."""
    here = on(tmp_path, text, gpu, "570.124.06")
    found = changed(plan(plan_base(here, session().knowledge)))
    assert moved in found if moved else not found


@pytest.mark.parametrize(
    ("text", "also"),
    [
        ("torch==2.6.0\nbitsandbytes==0.44.1\n", True),
        ("torch==2.6.0\nbitsandbytes==0.50.2\n", False),
        ("torch==2.6.0\ntransformers==4.47.0\n", False),
    ],
)
def test_what_only_fails_beside_a_torch_for_rocm_moves_with_it(
    tmp_path: Path, text: str, *, also: bool
) -> None:
    """Regression: nothing was written, as this bitsandbytes has no library for ROCm."""
    here = apply_overlays(planned(tmp_path, text), Overlays(("MI300X",)), session().matrix)
    found = changed(plan(plan_base(here, session().knowledge)))
    assert found["torch"] == "2.6.0+rocm6.2.4"
    assert ("bitsandbytes" in found) is also


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("vllm==0.9.1\n", False),
        ("vllm==0.9.1\ntransformers>=4.51\n", False),
        ("vllm==0.9.1\ntransformers>=5\n", True),
    ],
)
def test_what_a_range_leaves_open_is_not_broken(tmp_path: Path, text: str, *, broken: bool) -> None:
    """Regression: vLLM moved, and today's transformers counted, which its pin keeps out."""
    here = on(tmp_path, text, "RTX 5090", "575.57.08")
    found = plan(plan_base(here, session().knowledge))
    assert "vllm" in changed(found)
    assert bool(found.proof.requirements) is broken


@pytest.mark.parametrize(
    "text",
    [
        f"--index-url {WHEELS}/cu118\ntorch\ntorchvision\ntorchaudio\n",
        f"--index-url {WHEELS}/cu118\ntorch>=2.1.1,<3\ntorchvision>=0.16.1,<0.17\nnumpy<2\n",
        f"--index-url {WHEELS}/cu121\ntorch==2.4.0\ntorchvision\n",
    ],
)
def test_what_one_index_serves_belongs_together(tmp_path: Path, text: str) -> None:
    """Regression: a companion without a pin counted as PyPI's, and was pinned without need."""
    here = on(tmp_path, text, "RTX 3090", "535.161.08")
    assert not changed(plan(plan_base(here, session().knowledge)))
