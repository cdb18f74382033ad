"""The real torch of the interpreter that runs the tests: healthy, and with injected faults."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import fadoctor.proof.smoke.child
from fadoctor.model.smoke import CellFailure
from fadoctor.model.smoke_catalogue import untried
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.processes.command import Command
from fadoctor.processes.run import run
from fadoctor.proof.smoke.events import Done
from fadoctor.proof.smoke.limits import read_limits
from fadoctor.proof.smoke.parent import run_smoke
from tests.made_once import made_once
from tests.smoke.smoke_recordings import TARGET, choice_of, judge, shipped

if TYPE_CHECKING:
    from fadoctor.model.smoke import SmokeRun
    from fadoctor.proof.smoke.judge import CellJudgement

pytestmark = [pytest.mark.torch, pytest.mark.slow]

CASES = ("full", "causal")
DTYPES = ("bf16", "fp16", "fp32")
FAULTS = (
    "scale off by one percent", "scale off by a tenth", "wrong causal flag", "last tile dropped",
    "one row doubled", "keys and values swapped", "one NaN",
)  # fmt: skip


def smoke_on_cpu(backend: Backend = Backend.SDPA_FLASH, **more: Any) -> SmokeRun:
    environ = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **more.pop("environ", {})}
    choice = choice_of(backend, **{"cases": CASES, "device": "cpu", **more})
    return run_smoke(TARGET, environ, run, choice, judge())


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("backend", [Backend.SDPA_FLASH, Backend.SDPA_MATH])
def test_healthy_torch_passes_with_room_to_spare(backend: Backend) -> None:
    limits = read_limits(shipped())
    found = smoke_on_cpu(backend)
    assert found.problem == ""
    assert [cell.measured for cell in found.cells] == [Measured.PASSED] * 6
    assert not found.gpu_tested
    for cell in found.cells:
        assert all(error < 0.7 * limits[cell.dtype].of(name) for name, error in cell.errors.items())
        assert (cell.speed is not None) == (cell.case == "causal")  # what a CPU is timed at
        assert cell.speed is None or cell.speed.forward_tflops


@pytest.mark.long
def test_every_case_of_torch_passes_or_is_refused() -> None:
    cases = ("gqa", "long", "hdim128", "hdim256", "mixed", "mixed-autocast", "fp32-autocast")
    found = smoke_on_cpu(cases=cases, dtypes=(Dtype.BF16, Dtype.FP16))
    results = {cell.case: cell.measured for cell in found.cells}
    assert results.pop("mixed") is Measured.REFUSED
    assert set(results.values()) == {Measured.PASSED}
    assert {c.rule_id for c in found.cells if c.case == "mixed"} == {"sdpa-mixed-qkv-dtype"}


@pytest.mark.long
def test_a_backend_without_cpu_kernels_is_refused() -> None:
    found = smoke_on_cpu(Backend.SDPA_EFFICIENT)
    assert {cell.measured for cell in found.cells} == {Measured.REFUSED}
    assert {cell.rule_id for cell in found.cells} == {"sdpa-no-available-kernel"}


Judgements = dict[tuple[str, str, str], "CellJudgement"]


def run_faults(folder: Path) -> None:
    script = Path(__file__).parent / "faulty_torch.py"
    ours = str(Path(fadoctor.proof.smoke.child.__file__).parent)
    result = run(Command((sys.executable, "-B", str(script), ours), 120.0))
    assert result.ok, result.stderr
    folder.mkdir()
    (folder / "lines").write_text(result.stdout, encoding="utf-8")


@pytest.fixture(scope="module")
def judgements(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Judgements:
    """Return fault, dtype and case -> what comes of the cell, all run in one process."""
    folder = made_once(tmp_path_factory, worker_id, "faults", run_faults)
    found = {}
    for text in (folder / "lines").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        done = msgspec.convert(line["done"], Done)
        key = (line["fault"], done.cell.dtype.value, done.cell.case)
        found[key] = judge().judge(done, "cpu")
    return found


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found(judgements: Judgements, fault: str, dtype: str, case: str) -> None:
    found = judgements[fault, dtype, case]
    assert (found.measured, found.failure) == (Measured.FAILED, CellFailure.NUMBERS)
    assert "out is wrong" in found.detail or "out holds NaN" in found.detail


ALL = ("full", "causal", "gqa", "long", "hdim96", "short-q", "large", "hdim256", "masked")
RARE = {
    "head dimension 96": {"hdim96"},
    "head dimension 256": {"hdim256"},
    "fewer queries": {"short-q"},
    "very long": {"long"},
    "last row": {*ALL},
    "mask ignored": {"masked"},
    "mask of the first": {"masked"},
    "large values clipped": {"large"},
    "batch": {"full", "causal", "masked", "hdim96"},
    "third of the batch": {"hdim96"},
    "three heads": {"hdim96"},
    "head dimension 128": {"full"},
    "grouped heads": {"gqa"},
    "long sequence": {"long"},
    "dtype of the output": {*ALL},
    "second call": {"causal"},
    "no rare one": set(),
}
"""Fault -> the cells of the default set that find it. In float32 a wider output is none."""


@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fault", RARE)
def test_default_set_finds_what_is_wrong_for_some_shapes(
    judgements: Judgements, fault: str, dtype: str
) -> None:
    found = {case for case in ALL if is_failed(judgements[fault, dtype, case])}
    harmless = fault == "dtype of the output" and dtype == "fp32"
    assert found == (set() if harmless else RARE[fault])


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_scale_off_by_half_a_percent_is_found(judgements: Judgements, dtype: str) -> None:
    fault = "scale off by half a percent"
    assert any(is_failed(judgements[fault, dtype, case]) for case in ALL)


SUBTLE = (
    "last head", "first row", "last column", "own key hidden", "next key seen",
    "remainder of a tile", "rounded to eight bits", "gradient of a row", "gradient of a head",
    "one element",
)  # fmt: skip
BLIND = {
    "head dimension 72": "head dimensions that 32 does not divide (72, 80)",
    "more queries": "more queries than keys",
    "causal with fewer queries": "fewer queries than keys with a causal mask",
    "mask of numbers": "masks of numbers",
    "row without keys": "rows that see no key",
    "scale ignored": "a scale of your own",
    "scale of dropout": "dropout",
    "scale of a window": "sliding windows",
    "scale of a softcap": "softcaps",
}
"""Fault that the default set passes by -> what its run says that it did not try."""


@pytest.mark.long
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fault", SUBTLE)
def test_small_fault_is_found_by_some_cell(judgements: Judgements, fault: str, dtype: str) -> None:
    assert any(is_failed(judgements[fault, dtype, case]) for case in ("hdim96", "masked"))


@pytest.mark.long
def test_what_is_passed_by_is_said_not_to_be_tried(judgements: Judgements) -> None:
    """Of all planted faults these alone are not noticed in any dtype."""
    planted = {fault for fault, _, _ in judgements} - {"none", "no rare one"}
    noticed = {fault for fault, *_ in judgements if any(
        judgements[key].measured is not Measured.PASSED for key in judgements if key[0] == fault
    )}  # fmt: skip
    assert len(planted) >= 24
    assert planted - noticed == set(BLIND)
    said = untried(set(ALL))
    assert set(BLIND.values()) <= set(said)


def is_failed(found: CellJudgement) -> bool:
    return found.measured is Measured.FAILED and found.failure is CellFailure.NUMBERS


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_healthy_attention_is_no_false_alarm(judgements: Judgements, dtype: str, case: str) -> None:
    assert judgements["none", dtype, case].measured is Measured.PASSED


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["dq", "dk", "dv"])
def test_zeroed_gradient_alone_is_found(
    judgements: Judgements, name: str, dtype: str, case: str
) -> None:
    found = judgements[f"{name} zeroed", dtype, case]
    assert found.measured is Measured.FAILED
    assert f"{name} is wrong: relative error 1.0e+00" in found.detail
    assert "out is wrong" not in found.detail


@pytest.mark.long
def test_silent_fall_back_to_another_kernel_is_seen(judgements: Judgements) -> None:
    found = judgements["another kernel", "fp32", "full"]
    assert found.measured is Measured.REFUSED
    assert "another kernel ran" in found.detail


@pytest.mark.long
@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_timed_shape_of_a_gpu_is_compared(factor: float) -> None:
    """On a CPU, where it takes the same code: nothing of it has run on a GPU."""
    folder = Path(fadoctor.proof.smoke.child.__file__).parent
    script = Path(__file__).parent / "timed_on_cpu.py"
    result = run(Command((sys.executable, "-B", str(script), str(folder), str(factor)), 120.0))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["case"] for each in found] == ["full", "causal", "gqa"], result.stderr
    for each in found:
        assert each["errors"]["timed"] == pytest.approx(factor - 1, abs=1e-5)
        assert each["peak_memory_bytes"] == 7
        assert each["forward_ms"] > 0
        assert ("backward_ms" in each) == (each["case"] == "causal")


@pytest.mark.long
def test_pinning_undoes_the_switch_of_a_container() -> None:
    """NGC's images set it, and float32 products are then computed in TF32 from the start."""
    code = (
        "import sys; sys.path.append(sys.argv[1]); import torch, _fadoctor_worker as worker\n"
        "print(torch.get_float32_matmul_precision()); worker.pin_precision(torch)\n"
        "print(torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32)"
    )
    folder = str(Path(fadoctor.proof.smoke.child.__file__).parent)
    env = {**os.environ, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"}
    result = run(Command((sys.executable, "-B", "-c", code, folder), 60.0, env=env))
    assert result.stdout == "high\nhighest False\n", result.stderr


@pytest.mark.long
def test_fault_is_found_from_end_to_end(tmp_path: Path) -> None:
    """Through processes and files: a sitecustomize wraps attention, its flash kernel still runs."""
    (tmp_path / "sitecustomize.py").write_text(
        "import torch\n"
        "healthy = torch.nn.functional.scaled_dot_product_attention\n"
        "torch.nn.functional.scaled_dot_product_attention = (\n"
        "    lambda q, k, v, is_causal: healthy(q, k, v * 1.01, is_causal=is_causal))\n"
    )
    found = smoke_on_cpu(environ={"PYTHONPATH": str(tmp_path)})
    assert {cell.measured for cell in found.cells} == {Measured.FAILED}
    assert all("out is wrong" in cell.detail for cell in found.cells)


@pytest.mark.gpu
def test_gpu_runs_half_precision_and_refuses_float32() -> None:
    choice = choice_of(cases=CASES)
    found = run_smoke(TARGET, os.environ, run, choice, judge())
    if not found.gpu_tested:
        pytest.skip("torch sees no GPU")
    by_dtype = {cell.dtype.value: cell.measured for cell in found.cells}
    assert by_dtype["fp32"] is Measured.REFUSED
    assert Measured.FAILED not in by_dtype.values()
