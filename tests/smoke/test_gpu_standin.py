"""The worker's scripts from T4 to B200: torch and packages answer as with that GPU.

FlashAttention-3 has no code for a B200, where the driver, not the package, says no.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fadoctor.model.smoke import CellKey, SmokeCell
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.processes.run import run
from fadoctor.proof.smoke import child
from fadoctor.proof.smoke.choice import CUDA, CellChoice, CellsRequest, Chosen
from fadoctor.proof.smoke.parent import run_smoke
from tests.smoke.smoke_recordings import HALVES, TARGET, judge
from tests.tools.gpu_transcripts import GPUS, Gpu, takes

pytestmark = [pytest.mark.torch, pytest.mark.slow]

CHILD = Path(child.__file__).parent
BACKENDS = (Backend.SDPA_FLASH, Backend.SDPA_EFFICIENT, Backend.SDPA_CUDNN, Backend.SDPA_MATH)
SITE = """
import sys
words = getattr(sys, "orig_argv", None) or open("/proc/self/cmdline").read().split(chr(0))
if any(word.endswith("_fadoctor_worker.py") for word in words):
    sys.path.insert(0, {folder!r})
    import gpu_standin
    gpu_standin.install({name!r}, {major}, {minor})
    if {more}:
        import modules_standin, torch
        modules_standin.install(torch, ({major}, {minor}))
    if {timing!r}:
        gpu_standin.let_time(*{timing!r})
    sys.path.remove({folder!r})
"""


EACH = [  # the oldest; the others, too, where long tests run
    pytest.param(gpu, id=gpu.key, marks=[pytest.mark.long] if gpu is not GPUS[0] else [])
    for gpu in GPUS
]


@pytest.mark.thinned
@pytest.mark.parametrize("gpu", EACH)
def test_each_gpu_passes_and_refuses_what_its_kernels_do(tmp_path: Path, gpu: Gpu) -> None:
    put_in_place(tmp_path, gpu)
    cells = tuple(CellKey(backend, dtype, case) for backend in BACKENDS
                  for dtype in HALVES for case in ("hdim96", "mixed")
                  if case == "hdim96" or dtype is not Dtype.FP32)  # fmt: skip
    cells += tuple(CellKey(backend, Dtype.FP16, "masked") for backend in BACKENDS)
    cells += cells_of_packages(gpu)
    asked = {"hub-sage": {"repository": "owner/sage", "branch": "v1", "online": "no"}}
    choice = CellChoice(CellsRequest(device="all"), "cuda", {CUDA: Chosen(cells)}, asked)
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


def put_in_place(
    folder: Path, gpu: Gpu, *, more: bool = False, timing: tuple[str, ...] = ()
) -> None:
    major, _, minor = gpu.capability.partition(".")
    here = str(Path(__file__).parent)
    text = SITE.format(folder=here, name=gpu.name, major=major, minor=minor, more=more,
                       timing=timing)  # fmt: skip
    (folder / "sitecustomize.py").write_text(text)


PACKAGES = {
    Backend.FA2: ("hdim96", "varlen", "kvcache", "mixed"),
    Backend.FA3: ("hdim96", "varlen", "mixed"),
    Backend.FA4: ("hdim96", "mixed"),
    Backend.XFORMERS: ("hdim96", "mixed"),
    Backend.VLLM_FA: ("varlen",),
    Backend.HUB_SAGE: ("hdim128",),
}
"""Backend of a package -> the cases that call each of its functions."""

SAGE = frozenset({"8.0", "8.6", "8.9", "9.0", "12.0"})


def cells_of_packages(gpu: Gpu) -> tuple[CellKey, ...]:
    return tuple(CellKey(backend, dtype, case) for backend, cases in PACKAGES.items()
                 for dtype in HALVES for case in cases
                 if (case == "hdim96" or dtype is Dtype.FP16)
                 and not (backend is Backend.FA3 and gpu is GPUS[-1]))  # fmt: skip


def of_package(gpu: Gpu, key: tuple[Backend, Dtype, str]) -> tuple[Measured, str]:
    """Return how a cell of a package comes out, and by which rule."""
    backend, dtype, case = key
    refusals = {
        Backend.HUB_SAGE: "" if gpu.capability in SAGE else "sage-kernel-missing",
        Backend.XFORMERS: refusal_of_xformers(gpu, dtype, case),
        Backend.FA4: dtypes_of(dtype, case) or ("" if gpu.modern else "fa4-arch-unsupported"),
    }
    flash = dtypes_of(dtype, case) if gpu.modern else "gpu-too-old-fa2"  # the GPU first
    rule = refusals.get(backend, flash)
    return (Measured.REFUSED, rule) if rule else (Measured.PASSED, "")


def dtypes_of(dtype: Dtype, case: str) -> str:
    """Return the rule by which flash-attn refuses the dtypes of a case, "" where it takes them."""
    if case == "mixed":
        return "fa2-mixed-qkv-dtype"
    return "dtype-fp32-into-fa2" if dtype is Dtype.FP32 else ""


def refusal_of_xformers(gpu: Gpu, dtype: Dtype, case: str) -> str:
    if case == "mixed":
        return "xformers-mixed-qkv-dtype"
    taken = dtype is Dtype.FP16 or (dtype is Dtype.BF16 and gpu.modern)
    return "" if taken else "xformers-no-operator"


def tuple_of(key: CellKey) -> tuple[Backend, Dtype, str]:
    return key.backend, key.dtype, key.case


def expected(gpu: Gpu, key: tuple[Backend, Dtype, str]) -> tuple[Measured, str]:
    """Return how a cell comes out, and by which rule."""
    backend, dtype, case = key
    if backend in PACKAGES:
        return of_package(gpu, key)
    if case == "mixed":
        return Measured.REFUSED, "sdpa-mixed-qkv-dtype"
    masked = case == "masked" and backend is Backend.SDPA_FLASH
    if masked or not takes(gpu, backend.value, dtype.value):
        return Measured.REFUSED, "sdpa-no-available-kernel"
    return Measured.PASSED, ""


@pytest.mark.long
@pytest.mark.thinned
@pytest.mark.parametrize("gpu", GPUS, ids=lambda gpu: gpu.key)
def test_what_torch_compiles_and_activates_answers_as_on_each_gpu(tmp_path: Path, gpu: Gpu) -> None:
    """Flex and activated kernels ask torch's own checks; the choice of a kernel comes before."""
    put_in_place(tmp_path, gpu, more=True)
    cells = tuple(CellKey(backend, dtype, case)
                  for backend, cases in COMPILED.items() for dtype in HALVES for case in cases
                  if dtype is not Dtype.FP32 or case != "mixed")  # fmt: skip
    choice = CellChoice(CellsRequest(device="all"), "cuda", {CUDA: Chosen(cells)}, {})
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    found = run_smoke(TARGET, environ, run, choice, judge())
    assert (found.problem, found.gpu_tested) == ("", True)
    seen = {(c.backend, c.dtype, c.case): (c.measured, c.rule_id) for c in found.cells}
    assert seen == {key: of_compiled(gpu, key) for key in map(tuple_of, cells)}, [
        (cell.backend, cell.dtype, cell.case, cell.detail) for cell in found.cells
    ]
    passed = [cell for cell in found.cells if cell.measured is Measured.PASSED]
    assert {cell.phase for cell in passed} <= {"comparison", "timing"}
    assert {cell.phase for cell in found.cells if cell not in passed} == {"forward"}
    assert {cell.backend for cell in passed} == {
        backend for backend in COMPILED if gpu.capability in ACTIVE.get(backend, {gpu.capability})
    }


TIMED = (Backend.SDPA_FLASH, Backend.FLEX)


def timed(folder: Path, accident: str = "") -> dict[Backend, SmokeCell]:
    """Return a cell of torch's own kernel and one of a compiled one, each with its timing."""
    gpu = next(gpu for gpu in GPUS if gpu.modern)
    put_in_place(folder, gpu, more=True, timing=(str(CHILD), accident))
    cells = tuple(CellKey(backend, Dtype.FP16, "causal") for backend in TIMED)
    choice = CellChoice(CellsRequest(device="all"), "cuda", {CUDA: Chosen(cells)}, {})
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    found = run_smoke(TARGET, environ, run, choice, judge())
    assert {cell.measured for cell in found.cells} == {Measured.PASSED}, found.cells
    return {cell.backend: cell for cell in found.cells}


@pytest.mark.weekly
def test_a_compiled_backward_that_gives_its_buffers_away_is_timed(tmp_path: Path) -> None:
    for cell in timed(tmp_path).values():
        assert [note for note in cell.notes if note.startswith("not timed")] == []
        assert cell.speed is not None
        assert cell.speed.forward_ms > 0
        assert cell.speed.backward_ms is not None


@pytest.mark.long
@pytest.mark.parametrize(
    ("accident", "note"),
    [
        ("memory", "not timed: OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
        ("events", "not timed: RuntimeError: CUDA error: an illegal memory access"),
    ],
)
def test_a_timing_that_fails_on_a_gpu_is_a_note(tmp_path: Path, accident: str, note: str) -> None:
    for cell in timed(tmp_path, accident).values():
        assert (cell.notes, cell.speed) == ((note,), None)
        assert set(cell.errors) == {"out", "dq", "dk", "dv"}


EXITS = {("h200", "sdpa-flash"): 0, ("t4", "sdpa-flash"): 3, ("t4", "sdpa-efficient"): 0}
"""GPU and backend -> how the command ends: refusals are no failures, and they prove nothing: 3."""


@pytest.mark.long
@pytest.mark.thinned
@pytest.mark.parametrize(("key", "backend"), EXITS)
def test_the_command_ends_as_its_cells_came_out(tmp_path: Path, key: str, backend: str) -> None:
    put_in_place(tmp_path, next(gpu for gpu in GPUS if gpu.key == key))
    words = ["smoke", "--python", sys.executable, "--device", "all", "--require-gpu", "--backend",
             backend, "--dtype", "fp16", "--format", "json"]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    argv = [sys.executable, "-m", "fadoctor", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=env, timeout=120)
    assert done.returncode == EXITS[key, backend], done.stderr
    report = json.loads(done.stdout)
    assert (report["gpu_tested"], report["summary"]["failed"]) == (True, 0)
    assert bool(report["summary"]["passed"]) is (EXITS[key, backend] == 0)


COMPILED = {
    Backend.FLEX: ("causal", "full", "mixed"),
    Backend.TORCH_FA3: ("hdim96", "causal", "mixed"),
    Backend.TORCH_FA4: ("hdim96", "causal", "mixed"),
}
ACTIVE = {Backend.TORCH_FA3: {"9.0"}, Backend.TORCH_FA4: {"9.0", "10.0"}}
"""Backend -> the capabilities of these GPUs that torch's check of it takes."""


def of_compiled(gpu: Gpu, key: tuple[Backend, Dtype, str]) -> tuple[Measured, str]:
    """Return how a cell comes out that torch compiles or activates, and by which rule."""
    backend, dtype, case = key
    if case == "mixed":
        return Measured.REFUSED, "sdpa-mixed-qkv-dtype"
    if backend is Backend.FLEX:
        too_old = dtype is Dtype.BF16 and not gpu.modern
        return (Measured.REFUSED, "bf16-unsupported-gpu") if too_old else (Measured.PASSED, "")
    if not gpu.modern or dtype is Dtype.FP32:
        return Measured.REFUSED, "sdpa-no-available-kernel"  # torch's choice comes first
    if gpu.capability in ACTIVE[backend]:
        return Measured.PASSED, ""
    return Measured.REFUSED, "torch-activated-fa-refused"
