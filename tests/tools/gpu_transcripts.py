"""What `on_a_gpu` would leave on five GPUs: records made from what their kernels take.

The form of each record is that of a run on an H200 with torch 2.11.0. What a GPU answers is
written down here from torch's own checks (sdp_utils.cpp of 2.11): flash and cuDNN need capability
8.0 and half precision, the memory-efficient kernel takes bf16 from 8.0 on, math takes everything;
cuDNN comes first on 9.0 and 10.0. No table of rules/matrix is read for it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tools import gpu_faults, gpu_trace

if TYPE_CHECKING:
    from pathlib import Path

CASES = ("full", "causal", "gqa", "long", "hdim96", "short-q", "large", "hdim256", "mixed")
NODES = {"sdpa-flash": "Flash", "sdpa-efficient": "Efficient", "sdpa-cudnn": "Cudnn"}
NO_CASES = {"sdpa-efficient": ("gqa",), "sdpa-cudnn": ("hdim256",)}
DTYPES = {"bf16": "BFloat16", "fp16": "Half", "fp32": "float"}
ERRORS = {"bf16": 2.1e-3, "fp16": 2.7e-4, "fp32": 4e-7}


class Gpu(NamedTuple):
    """One GPU: its names, and how fast its kernels are at most here."""

    key: str
    name: str
    capability: str
    tflops: float

    @property
    def modern(self) -> bool:
        """Return whether it has flash kernels and bf16."""
        return float(self.capability) >= 8

    @property
    def first(self) -> str:
        """Return the kernel that torch takes for half precision without a mask."""
        if not self.modern:
            return "sdpa-efficient"
        return "sdpa-cudnn" if self.capability in {"9.0", "10.0"} else "sdpa-flash"


GPUS = (
    Gpu("t4", "Tesla T4", "7.5", 21.0),
    Gpu("v100", "Tesla V100-SXM2-16GB", "7.0", 40.0),
    Gpu("rtx4090", "NVIDIA GeForce RTX 4090", "8.9", 120.0),
    Gpu("h200", "NVIDIA H200", "9.0", 343.5),
    Gpu("b200", "NVIDIA B200", "10.0", 700.0),
)


def takes(gpu: Gpu, backend: str, dtype: str) -> bool:
    """Return whether torch's checks let a kernel take a dtype."""
    if backend in {"sdpa-flash", "sdpa-cudnn"}:
        return gpu.modern and dtype != "fp32"
    return backend == "sdpa-math" or gpu.modern or dtype != "bf16"


def cell_of(gpu: Gpu, backend: str, dtype: str, case: str) -> dict[str, Any]:
    """Return a cell as smoke reports it."""
    trap, taken = case == "mixed", takes(gpu, backend, dtype)
    cell: dict[str, Any] = {
        "device": "cuda:0", "device_name": gpu.name, "compute_capability": gpu.capability,
        "backend": backend, "dtype": dtype, "case": case, "trap": trap, "because": [], "notes": [],
        "failure": "none", "rule_id": "", "phase": "timing", "kernel": "", "errors": {},
        "speed": None, "message": "", "predicted": "unknown",
    }  # fmt: skip
    if not trap and backend != "sdpa-cudnn":
        emulated = backend == "sdpa-math" and dtype == "bf16" and not gpu.modern
        cell["predicted"] = "unknown" if emulated else "works" if taken else "fails"
    if trap or not taken:
        rule = "sdpa-mixed-qkv-dtype" if trap else "sdpa-no-available-kernel"
        said = "No available kernel. Aborting execution." if not trap else (
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"c10::{DTYPES[dtype]} key.dtype: float and value.dtype: float instead."
        )  # fmt: skip
        because = [rule] if cell["predicted"] == "fails" else []
        cell.update(measured="refused", rule_id=rule, phase="forward", because=because)
        return {**cell, "detail": f"forward: RuntimeError: {said}"}
    error = ERRORS[dtype]
    node = f"ScaledDotProduct{NODES.get(backend, '')}AttentionBackward0"
    kernel = node if backend in NODES else "UnsafeViewBackward0"
    cell.update(measured="passed", kernel=kernel, detail="relative error against float64")
    cell["errors"] = {"out": error, "dq": error, "dk": error, "dv": error}
    if case == "full":
        speed = gpu.tflops / (1 if dtype != "fp32" else 8)
        cell["speed"] = {"forward_ms": 137.4 / speed, "forward_tflops": speed}
    return cell


def run_of(cells: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a smoke run of these cells."""
    words = ("passed", "refused", "failed", "not_run")
    summary = {word: sum(cell["measured"] == word for cell in cells) for word in words}
    ran = summary["not_run"] < len(cells)
    return {
        "torch_version": "2.11.0+cu130",
        "gpu_tested": ran,
        "cells": cells,
        "summary": summary,
    }


def fault_run(gpu: Gpu, fault: gpu_faults.Fault) -> dict[str, Any]:
    """Return a run in which a fault struck the first cell."""
    cells = [cell_of(gpu, "sdpa-flash" if gpu.modern else "sdpa-efficient", "fp16", case)
             for case in CASES[:4]]  # fmt: skip
    kind = fault.told if fault.told in {"signal", "time-out"} else "exception"
    rule = "" if kind == fault.told else fault.told
    cells[0].update(measured=fault.expected, failure=kind, rule_id=rule, detail=fault.name)
    return run_of(cells)


def trace_of(gpu: Gpu, case: gpu_trace.Case) -> dict[str, Any]:
    """Return what trace tells of a program."""
    culprit = {"source": f"w = {case.source}", "kind": "cast"}
    mixed = bool(case.letters) and case.letters != "qkv"
    backend = gpu.first
    if not backend_fits(case, backend):
        fitting = ("sdpa-efficient", "sdpa-math")
        backend = next(each for each in fitting if each in case.backends)
    reasons = (
        [f"it is so: {case.why}"] if case.why and (mixed or backend not in gpu_trace.FAST) else []
    )
    call = {
        "backend": "sdpa-math" if mixed else backend,
        "culprits": dict.fromkeys(case.letters, culprit),
        "error": "RuntimeError: dtypes differ" if mixed else None,
        "why_not_flash": reasons,
    }
    return {"processes": [{"calls": [call], "faults": []}]}


def backend_fits(case: gpu_trace.Case, backend: str) -> bool:
    """Return whether torch may take its first kernel: an old GPU has no fast one."""
    return backend in case.backends or (backend == "sdpa-efficient" and "fa2" in case.backends)


def transcript(gpu: Gpu) -> dict[str, Any]:
    """Return file -> content of a run in which all is well."""
    backends = (*NODES, "sdpa-math")
    cells = [cell_of(gpu, backend, dtype, case)
             for backend in backends for dtype in DTYPES for case in CASES
             if case not in NO_CASES.get(backend, ())]  # fmt: skip
    version = {"state": "known", "value": "2.11.0", "source": "METADATA"}
    files = {
        "facts.json": {"facts": {"torch.version": version}},
        "smoke-default.json": run_of([dict(cell) for cell in cells if cell["case"] != "mixed"]),
        "smoke-thorough.json": run_of(cells),
    }
    names = {"smoke default": 0, "smoke thorough": 0}
    for fault in gpu_faults.FAULTS:
        names[f"fault {fault.name}"] = 1
        files[f"fault-{fault.name.replace(' ', '-')}.json"] = fault_run(gpu, fault)
    for case in gpu_trace.CASES:
        names[f"trace {case.name}"] = 0
        files[f"trace/{case.name.replace(' ', '-')}.json"] = trace_of(gpu, case)
    steps = [{"name": name, "code": code, "seconds": 3.0} for name, code in names.items()]
    files["steps.json"] = {"pretended": False, "steps": steps}
    return files


def write(files: dict[str, Any], folder: Path) -> None:
    """Write a transcript as `on_a_gpu` leaves it."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
