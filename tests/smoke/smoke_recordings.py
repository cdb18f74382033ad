"""What workers told, choices of cells, and a torch that is not one."""

from __future__ import annotations

import json
import signal
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.model.catalogue import build_catalogue
from fadoctor.model.environment import Target
from fadoctor.model.packages import EXTENSIONS
from fadoctor.model.smoke import CellKey
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.processes.command import Command, Ending, Result
from fadoctor.proof.smoke.choice import AUTO, CUDA, CellChoice, CellsRequest, Chosen
from fadoctor.proof.smoke.judge import CellJudge
from fadoctor.proof.smoke.parent import run_smoke as run_cells

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge
    from fadoctor.model.smoke import SmokeRun

TARGET = Target("environment", "/env", "--python", python=sys.executable, may_run=True)
CPU = {"device": "cpu", "name": "CPU x86_64"}
GPU = {"device": "cuda:0", "name": "NVIDIA H100", "compute_capability": "9.0"}
NUMBERS = {"out": 2e-7, "dq": 3e-7, "dk": 3e-7, "dv": 3e-7}
HALVES = (Dtype.BF16, Dtype.FP16, Dtype.FP32)


@cache
def shipped() -> Knowledge:
    return load_knowledge()


@cache
def judge() -> CellJudge:
    return CellJudge(shipped())


def choice_of(
    backend: Backend = Backend.SDPA_FLASH,
    cases: tuple[str, ...] = ("causal",),
    dtypes: tuple[Dtype, ...] = HALVES,
    **wanted: Any,
) -> CellChoice:
    """Return a choice of the same cells for GPUs and the CPU, whatever the catalogue says."""
    cells = tuple(CellKey(backend, dtype, case) for dtype in dtypes for case in cases)
    asked = CellsRequest(**{"device": AUTO, **wanted})
    return CellChoice(asked, "cpu", {CUDA: Chosen(cells), "cpu": Chosen(cells)})


def line(event: str, **fields: Any) -> str:
    return json.dumps({"schema": 3, "event": event, **fields})


def imported(*gpus: dict[str, str], device: str = "") -> str:
    return line(
        "imported",
        torch_version="9.9",
        cuda_available=bool(gpus),
        cuda_warnings=[],
        devices=[*gpus, CPU],
        device=device or (gpus[0]["device"] if gpus else "cpu"),
    )


def name(dtype: str, backend: str = "sdpa-flash", case: str = "causal") -> dict[str, str]:
    return {"backend": backend, "dtype": dtype, "case": case}


def started(dtype: str, phase: str = "forward", **names: str) -> str:
    return line("phase", cell=name(dtype, **names), phase=phase)


def done(dtype: str, backend: str = "sdpa-flash", case: str = "causal", **fields: Any) -> str:
    healthy = {
        "phase": "timing",
        "kernels": ["ScaledDotProductFlashAttentionForCpuBackward0"],
        "errors": NUMBERS,
    }
    return line("done", cell=name(dtype, backend, case), **{**healthy, **fields})


class RecordedWorkers:
    """Plays one recording for each worker that is started, and keeps the commands."""

    def __init__(self, *recordings: tuple[list[str], Result | BaseException]) -> None:
        self.recordings = list(recordings)
        self.commands: list[Command] = []

    def __call__(self, command: Command) -> Result:
        lines, result = self.recordings[len(self.commands)]
        self.commands.append(command)
        Path(command.argv[3]).write_text("".join(text + "\n" for text in lines))
        if isinstance(result, BaseException):
            raise result
        return result

    def request(self, index: int) -> Any:
        """Return what the worker of that index was told."""
        return json.loads(self.commands[index].argv[5])

    def dtypes(self, index: int) -> list[str]:
        """Return the dtypes that the worker of that index was told to run."""
        return [cell["dtype"] for cell in self.request(index)["cells"]["cpu"]]


def ended(
    ending: Ending = Ending.EXITED, code: int = 0, elapsed_s: float = 2.0, stderr: str = ""
) -> Result:
    return Result(ending, code, "", stderr, elapsed_s)


START = line("start", python="3.11.7")
HEAD = [START, imported()]
HEALTHY = [*HEAD]
for _dtype in ("bf16", "fp16", "fp32"):
    HEALTHY += [started(_dtype), done(_dtype)]
HEALTHY.append(line("end"))

PASSED, FAILED, NOT_RUN = Measured.PASSED, Measured.FAILED, Measured.NOT_RUN
SEGFAULT = ended(Ending.SIGNALLED, signal.SIGSEGV)


def run_smoke(
    target: Target, environ: dict[str, str], workers: RecordedWorkers, **wanted: Any
) -> SmokeRun:
    return run_cells(target, environ, workers, choice_of(**wanted), judge())


def measured(run: SmokeRun) -> list[Measured]:
    return [cell.measured for cell in run.cells]


FAKE_TORCH = """
import contextlib, os, signal, sys, time, types, warnings

print('{"schema": 3, "event": "end"}')
__version__ = "9.9+fake"
bfloat16, float16, float32 = "bfloat16", "float16", "float32"
bool = bool
version = types.SimpleNamespace(hip=None)


class Tensor:
    dtype = float32

    def to(self, *where, copy=False):
        for each in where:
            if each in (bfloat16, float16, float32):
                self.dtype = each
        return self

    def requires_grad_(self):
        return self

    def transpose(self, one, other):
        return self

    def element_size(self):
        return 2

    def __mul__(self, other):
        return self

    def __setitem__(self, place, value):
        pass

    def expand(self, *form):
        return self

    shape = (2, 2, 2, 2)


class Generator:
    def manual_seed(self, seed):
        return self


def randn(shape, generator):
    return Tensor()


def zeros(*form, dtype):
    return Tensor()


def full_like(tensor, value):
    return tensor


def attention(q, k, v, is_causal, enable_gqa=False, attn_mask=None):
    {attention}
    raise RuntimeError("No available kernel.  Aborting execution.")


def ones(*form, device=None, dtype=None):
    found = Tensor()
    found.sum = lambda: 2.0
    return found


cuda = types.SimpleNamespace(
    is_available=lambda: {gpus} > 0,
    device_count=lambda: {gpus},
    set_device=lambda device: None,
    synchronize=lambda device: None,
    get_device_properties=lambda i: types.SimpleNamespace(name="Fake", major=8, minor=i),
)
nn = types.SimpleNamespace(functional=types.SimpleNamespace(scaled_dot_product_attention=attention))
backends = types.SimpleNamespace(
    cuda=types.SimpleNamespace(sdp_kernel=lambda **arguments: contextlib.nullcontext())
)
{extra}
"""

FAKE_FLASH_ATTN = """
import ctypes, os, signal, subprocess, sys, time
__version__ = "2.9.9"
{extra}

def flash_attn_func(q, k, v, causal=False):
    {accident}
    raise RuntimeError("FlashAttention only support fp16 and bf16 data type")
"""


def write_fake_torch(folder: Path, attention: str = "pass", gpus: int = 0, extra: str = "") -> None:
    text = FAKE_TORCH.replace("{attention}", attention).replace("{gpus}", str(gpus))
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text.replace("{extra}", extra))


def write_fake_flash_attn(folder: Path, accident: str = "pass", extra: str = "") -> None:
    text = FAKE_FLASH_ATTN.replace("{accident}", accident).replace("{extra}", extra)
    (folder / "flash_attn").mkdir()
    (folder / "flash_attn" / "__init__.py").write_text(text)


def complete(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts with all others Absent: somebody has looked, and there is no such thing."""
    names = (name for name in build_catalogue() if "[]" not in name and "*" not in name)
    there = [key for key in EXTENSIONS if facts.get(f"{key}.version") is not None]
    files = {f"{key}.binary.file": f"$site/{key}.so" for key in there}
    return {**dict.fromkeys(names), **files, **facts}
