"""What the smoke run takes where torch is a build for ROCm, and what it says of the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.judging.diagnose import diagnose
from fadoctor.judging.verdicts.measurements import doomed
from fadoctor.knowledge.matrix.kernels import Kernels
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.verdict import Backend, Measured
from fadoctor.proof.smoke.choice import CUDA, CellsRequest, Chosen, choose
from tests.hosts import recording
from tests.smoke.smoke_recordings import shipped
from tests.smoke.test_worker import smoke_with

if TYPE_CHECKING:
    from pathlib import Path


def chosen(host: str, folder: Path) -> Chosen:
    """Return what is run on the GPUs of a recorded machine."""
    environment = recording.read(host, folder)
    verdicts = diagnose(environment, shipped()).verdicts
    kernels = Kernels(environment, Matrix(shipped().tables))
    return choose(CellsRequest(), kernels, doomed(verdicts)).on[CUDA]


def test_backends_of_rocm_are_run_and_cudnn_is_named(tmp_path: Path) -> None:
    found = chosen("amd-mi300x-torch213", tmp_path)
    run = {key.backend for key in found.cells}
    assert run == {
        Backend.SDPA_FLASH,
        Backend.SDPA_EFFICIENT,
        Backend.SDPA_MATH,
        Backend.TRITON,
    }
    why = {left.reason for left in found.left_out if left.cell.backend is Backend.SDPA_CUDNN}
    assert len(why) == 1
    assert "a torch for ROCm has no cuDNN attention" in why.pop()


def test_vllm_for_rocm_has_no_attention_of_nvidias(tmp_path: Path) -> None:
    """No hint of how to run what ROCm does not have."""
    found = chosen("amd-mi300x-vllm", tmp_path)
    assert Backend.FA2 in {key.backend for key in found.cells}
    why = {left.reason for left in found.left_out if left.cell.backend is Backend.VLLM_FA}
    assert why
    assert all("predicted to fail" in reason for reason in why)


@pytest.mark.parametrize("hip", ["6.4.43484", "7.2.26015"])
def test_torch_for_rocm_is_tried_on_its_gpu(tmp_path: Path, hip: str) -> None:
    """ROCm's torch calls its devices cuda; a refusal is told as such, and of no capability."""
    found = smoke_with(
        tmp_path, "warnings.warn('no kernel')", gpus=1, extra=f"version.hip = '{hip}'"
    )
    assert [cell.measured for cell in found.cells] == [Measured.REFUSED] * 3
    assert {cell.device for cell in found.cells} == {"cuda:0"}
    assert {cell.compute_capability for cell in found.cells} == {""}
    assert not any("CUDA counts" in remark for remark in found.remarks)
