"""What workers told, and a torch that is not one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from fadoctor.model.environment import Target
from fadoctor.probes.run import Command, Ending, Result

TARGET = Target("environment", "/env", "--python", python=sys.executable, may_run=True)
CPU = {"device": "cpu", "name": "CPU x86_64"}
GPU = {"device": "cuda:0", "name": "NVIDIA H100", "compute_capability": "9.0", "uuid": "abc"}
NUMBERS = {"out": 2e-7, "dq": 3e-7, "dk": 3e-7, "dv": 3e-7}


def line(event: str, **fields: Any) -> str:
    return json.dumps({"schema": 1, "event": event, **fields})


def imported(*devices: dict[str, str]) -> str:
    return line(
        "imported",
        torch_version="9.9",
        cuda_available=devices[0]["device"] != "cpu",
        cuda_warnings=[],
        devices=list(devices),
    )


def name(dtype: str, device: str = "cpu") -> dict[str, str]:
    return {"device": device, "backend": "sdpa-flash", "dtype": dtype}


def started(dtype: str, device: str = "cpu") -> str:
    return line("run", cell=name(dtype, device))


def done(dtype: str, device: str = "cpu", **fields: Any) -> str:
    healthy = {
        "phase": "comparison",
        "available": True,
        "kernels": ["ScaledDotProductFlashAttentionForCpuBackward0"],
        "errors": NUMBERS,
    }
    return line("done", cell=name(dtype, device), **{**healthy, **fields})


class RecordedWorkers:
    """Plays one recording for each worker that is started, and keeps the commands."""

    def __init__(self, *recordings: tuple[list[str], Result]) -> None:
        self.recordings = list(recordings)
        self.commands: list[Command] = []

    def __call__(self, command: Command) -> Result:
        lines, result = self.recordings[len(self.commands)]
        self.commands.append(command)
        Path(command.argv[3]).write_text("".join(text + "\n" for text in lines))
        return result

    def skipped(self, index: int) -> list[str]:
        """Return the dtypes that the worker of that index was told to leave out."""
        return [cell["dtype"] for cell in json.loads(self.commands[index].argv[4])["skip"]]


def ended(ending: Ending = Ending.EXITED, code: int = 0, elapsed_s: float = 2.0) -> Result:
    return Result(ending, code, "", "", elapsed_s)


FAKE_TORCH = """
import contextlib, os, signal, sys, time, types, warnings

print('{"schema": 1, "event": "end"}')
__version__ = "9.9+fake"
bfloat16, float16, float32 = "bfloat16", "float16", "float32"
version = types.SimpleNamespace(hip=None)


class Tensor:
    dtype = float32

    def to(self, where, copy=False):
        if where in (bfloat16, float16, float32):
            self.dtype = where
        return self

    def requires_grad_(self):
        return self


class Generator:
    def manual_seed(self, seed):
        return self


def randn(shape, generator):
    return Tensor()


def attention(q, k, v, is_causal):
    {attention}
    raise RuntimeError("No available kernel.  Aborting execution.")


cuda = types.SimpleNamespace(
    is_available=lambda: {gpus} > 0,
    device_count=lambda: {gpus},
    synchronize=lambda device: None,
    get_device_properties=lambda i: types.SimpleNamespace(name="Fake", major=8, minor=i, uuid="u"),
)
nn = types.SimpleNamespace(functional=types.SimpleNamespace(scaled_dot_product_attention=attention))
backends = types.SimpleNamespace(
    cuda=types.SimpleNamespace(sdp_kernel=lambda **arguments: contextlib.nullcontext())
)
{extra}
"""
