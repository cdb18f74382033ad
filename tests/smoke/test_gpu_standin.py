"""The worker's scripts from T4 to B200: the torch of a CPU answers as one with that GPU does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fadoctor.model.smoke import CellKey
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.processes.run import run
from fadoctor.proof.smoke.choice import CUDA, CellChoice, CellsRequest, Chosen
from fadoctor.proof.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import HALVES, TARGET, judge
from tests.tools.gpu_transcripts import GPUS, Gpu, takes

pytestmark = [pytest.mark.torch, pytest.mark.slow]

BACKENDS = (Backend.SDPA_FLASH, Backend.SDPA_EFFICIENT, Backend.SDPA_CUDNN, Backend.SDPA_MATH)
SITE = """
import sys
words = getattr(sys, "orig_argv", None) or open("/proc/self/cmdline").read().split(chr(0))
if any(word.endswith("_fadoctor_worker.py") for word in words):
    sys.path.insert(0, {folder!r})
    import gpu_standin
    sys.path.remove({folder!r})
    gpu_standin.install({name!r}, {major}, {minor})
"""


EACH = [  # the oldest and the newest; the others, too, where long tests run
    pytest.param(
        gpu, id=gpu.key, marks=[pytest.mark.long] if gpu not in (GPUS[0], GPUS[-1]) else []
    )
    for gpu in GPUS
]


@pytest.mark.parametrize("gpu", EACH)
def test_each_gpu_passes_and_refuses_what_its_kernels_do(tmp_path: Path, gpu: Gpu) -> None:
    major, _, minor = gpu.capability.partition(".")
    text = SITE.format(folder=str(Path(__file__).parent), name=gpu.name, major=major, minor=minor)
    (tmp_path / "sitecustomize.py").write_text(text)
    cells = tuple(CellKey(backend, dtype, case) for backend in BACKENDS
                  for dtype in HALVES for case in ("hdim96", "mixed")
                  if case == "hdim96" or dtype is not Dtype.FP32)  # fmt: skip
    cells += tuple(CellKey(backend, Dtype.FP16, "masked") for backend in BACKENDS)
    choice = CellChoice(CellsRequest(device="all"), "cuda", {CUDA: Chosen(cells)})
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = run_smoke(TARGET, environ, run, choice, judge())
    assert found.problem == ""
    assert found.gpu_tested
    assert {(c.device_name, c.compute_capability) for c in found.cells} == {
        (gpu.name, gpu.capability)
    }
    seen = {(c.backend, c.dtype, c.case): (c.measured, c.rule_id) for c in found.cells}
    assert seen == {key: expected(gpu, key) for key in map(tuple_of, cells)}, [
        cell.detail for cell in found.cells if cell.measured is Measured.FAILED
    ]


def tuple_of(key: CellKey) -> tuple[Backend, Dtype, str]:
    return key.backend, key.dtype, key.case


def expected(gpu: Gpu, key: tuple[Backend, Dtype, str]) -> tuple[Measured, str]:
    """Return how a cell comes out, and by which rule."""
    backend, dtype, case = key
    if case == "mixed":
        return Measured.REFUSED, "sdpa-mixed-qkv-dtype"
    masked = case == "masked" and backend is Backend.SDPA_FLASH
    if masked or not takes(gpu, backend.value, dtype.value):
        return Measured.REFUSED, "sdpa-no-available-kernel"
    return Measured.PASSED, ""
