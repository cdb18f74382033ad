"""Faults that `on_a_gpu` injects into a worker, and what fadoctor should say of each.

A fault is code of a `sitecustomize` that wraps torch's attention in the worker alone. On a GPU it
makes the real thing happen; pretended, on a CPU, it raises what a GPU would have raised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class Fault(NamedTuple):
    """One fault: it strikes the first cell, in its forward."""

    name: str
    real: str
    """Statements with `torch` and `q`, a tensor on the GPU."""
    pretended: str
    expected: str = "failed"
    """``measured`` of the cell that it strikes."""
    expected_pretended: str = "failed"
    told: str = ""
    """Rule, or else kind of failure, by which the cell must be told on a GPU."""


FAULTS = (
    Fault(
        "too much memory asked for",
        "total = torch.cuda.mem_get_info()[1]; torch.empty(2 * total, dtype=torch.uint8,"
        " device=q.device)",
        "raise RuntimeError('CUDA out of memory. Tried to allocate 999.00 GiB.')",
        expected_pretended="not_run",  # nobody knows there how large the GPU is
        told="gpu-memory-too-small",
    ),
    Fault(
        "device-side assert",
        "torch.zeros(2, device=q.device)[torch.tensor([5], device=q.device)];"
        " torch.cuda.synchronize()",
        "raise RuntimeError('CUDA error: device-side assert triggered')",
        told="device-side-assert",
    ),
    Fault(
        "illegal memory access",
        "import _fadoctor_fault_kernel as kernel; kernel.strike[(1,)](q, 1 << 42);"
        " torch.cuda.synchronize()",
        "raise RuntimeError('CUDA error: an illegal memory access was encountered')",
        told="device-illegal-access",
    ),
    Fault("killed", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 9)", told="signal"),
    Fault("hangs", "time.sleep(600)", "time.sleep(600)", told="time-out"),
)

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def strike(pointer, offset: tl.int64):
    tl.store(pointer + offset, 0.0)
"""
"""A file of its own: triton reads a kernel's source from there."""

HOG = """
import time
import torch

held = []
size = torch.cuda.mem_get_info()[0]
while size > 1 << 20:
    try:
        held.append(torch.empty(size, dtype=torch.uint8, device="cuda:0"))
    except RuntimeError:
        size //= 2
print("full", flush=True)
time.sleep(120)
"""
"""Another program that holds a GPU's memory."""

_SITE = """
import sys
words = getattr(sys, "orig_argv", None) or open("/proc/self/cmdline").read().split(chr(0))
if any(word.endswith("_fadoctor_worker.py") for word in words):
    import os, time
    import torch

    healthy = torch.nn.functional.scaled_dot_product_attention

    def faulty(q, k, v, **more):
        if not os.path.exists({mark!r}):
            open({mark!r}, "w").close()
            {code}
        return healthy(q, k, v, **more)

    torch.nn.functional.scaled_dot_product_attention = faulty
"""


def plant(fault: Fault, folder: Path, *, pretend: bool) -> None:
    """Write the modules that make a fault happen to whoever has the folder on PYTHONPATH."""
    folder.mkdir(parents=True, exist_ok=True)
    code = fault.pretended if pretend else fault.real
    mark = folder / "struck"
    mark.unlink(missing_ok=True)
    text = _SITE.format(mark=str(mark), code=code)
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    (folder / "_fadoctor_fault_kernel.py").write_text(KERNEL, encoding="utf-8")


def verdict(fault: Fault, cells: list[dict[str, object]], *, pretend: bool) -> str:
    """Return how fadoctor took a fault, empty where as it should: the cells after it must run."""
    if not cells:
        return "no cell was reported"
    expected = fault.expected_pretended if pretend else fault.expected
    struck = [cell for cell in cells if cell["measured"] == expected]
    others = [cell["measured"] for cell in cells if cell not in struck[:1]]
    if not struck:
        return f"no cell is {expected}"
    told = {str(struck[0].get(name, "")) for name in ("rule_id", "failure")}
    if fault.told and not pretend and fault.told not in told:
        return f"told as {' '.join(sorted(told)).strip() or 'nothing'}, not as {fault.told}"
    if any(each not in ("passed", "refused") for each in others):
        return "cells after it did not run"
    return ""
