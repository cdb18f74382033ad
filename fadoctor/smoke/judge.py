"""Judge what a worker reports about a cell: passed, refused, failed, or not run after all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.model.fact import printable
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.smoke.cells import LIMITS

if TYPE_CHECKING:
    from fadoctor.smoke.events import Done, Raised

KERNELS = {Backend.SDPA_FLASH: "ScaledDotProductFlashAttention"}
"""Backend -> how the name of its autograd node begins. On a CPU it goes on with ``ForCpu``."""

TENSORS = ("out", "dq", "dk", "dv")

Judgement = tuple[Measured, str]

# RuntimeError: No available kernel.  Aborting execution.
_REFUSED = re.compile(r"\bNo available kernel\b")
# RuntimeError: "baddbmm_with_gemm" not implemented for 'Half'      (an older torch, on the CPU)
_NOT_FOR_DTYPE = re.compile(r"not implemented for '")
# CUDA out of memory. Tried to allocate ... / CUDA error: out of memory
# CUDA error: all CUDA-capable devices are busy or unavailable
_OCCUPIED = re.compile(r"\bout of memory\b|\bbusy or unavailable\b")
# Flash attention kernel not used because: (Triggered internally at ../aten/src/ATen/...:98.)
_ORIGIN = re.compile(r"\s*\(Triggered internally at [^()]{1,300}\)")
# Memory Efficient attention has been runtime disabled.      (because another backend is forced)
_NO_REASON = re.compile(r"not used because:$|has been runtime disabled\.$")


def judge(done: Done) -> Judgement:
    """Return what a finished cell means, and one line that says why."""
    measured, detail = _judge(done)
    label = "on the CPU, not on a GPU: " if done.cell.device == "cpu" else ""
    return measured, printable(label + detail, 600)


def _judge(done: Done) -> Judgement:
    if not done.available:
        return Measured.NOT_RUN, "this torch has no scaled_dot_product_attention"
    if done.exception is not None:
        return _judge_exception(done, done.exception)
    faults = [fault for name in TENSORS if (fault := _fault(done, name))]
    kernel = _kernel_fault(done)
    if not faults and not kernel:
        return Measured.PASSED, _numbers(done)
    # The first versions of torch with this function ignore the choice on a CPU, where they have
    # only the plain form: with right numbers that is a lack and no defect.
    lack = done.cell.device == "cpu" and not faults
    detail = "; ".join(filter(None, [*faults, kernel]))
    return Measured.REFUSED if lack else Measured.FAILED, detail


def _judge_exception(done: Done, raised: Raised) -> Judgement:
    text = _first_line(raised.text)
    reasons = kernel_reasons(done.warnings)
    if _REFUSED.search(text):
        return Measured.REFUSED, "; ".join(reasons) or text
    if done.cell.device == "cpu" and _NOT_FOR_DTYPE.search(text):
        return Measured.REFUSED, f"this torch has no such kernel: {text}"
    if _OCCUPIED.search(text):
        return Measured.NOT_RUN, f"the device is occupied by something else: {text}"
    return Measured.FAILED, "; ".join([f"{done.phase}: {raised.type}: {text}", *reasons])


def _kernel_fault(done: Done) -> str:
    """Return which other kernel has computed the cell than the forced one, empty where none has."""
    foreign = [name for name in done.kernels if not name.startswith(KERNELS[done.cell.backend])]
    if done.kernels and not foreign:
        return ""
    names = ", ".join(foreign) or "none that autograd knows"
    return f"another kernel ran than the one that was forced: {names}"


def _numbers(done: Done) -> str:
    worst = {name: error or 0.0 for name, error in done.errors.items()}
    gradients = max(worst[name] for name in TENSORS[1:])
    return (
        f"relative error against float64: out {worst['out']:.1e}, gradients at most {gradients:.1e}"
    )


def _fault(done: Done, name: str) -> str:
    """Return what is wrong with one tensor, empty where nothing is."""
    if name not in done.errors:
        return f"{name} was not reported"
    error = done.errors[name]
    if error is None:
        return f"{name} holds NaN or infinity"
    limit = _limit(done.cell.dtype, name)
    if error <= limit:
        return ""
    return f"{name} is wrong: relative error {error:.1e} against float64, limit {limit:.1e}"


def _limit(dtype: Dtype, name: str) -> float:
    limits = LIMITS[dtype]
    return limits.out if name == "out" else limits.gradients


def kernel_reasons(warnings: tuple[str, ...]) -> list[str]:
    """Return why torch did not use the forced kernel, out of the warnings that it gave.

    Torch's exception says only that there was no kernel; the reasons stand in warnings, between
    headings and lines about the backends that forcing one has switched off.
    """
    texts = map(without_origin, warnings)
    return [text for text in texts if text and not _NO_REASON.search(text)]


def without_origin(warning: str) -> str:
    """Return a warning of torch without the place in its sources."""
    return _ORIGIN.sub("", printable(warning, 400)).strip()


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return printable(lines[0], 400) if lines else "without a text"
