"""Judge what a worker reports about a cell: passed, refused, failed, or not run after all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.symptoms import matcher_of
from fadoctor.model.fact import printable
from fadoctor.model.smoke import CellFailure
from fadoctor.model.smoke_catalogue import TRAPS, compared, entry_of
from fadoctor.model.verdict import Backend, Dtype, Measured
from fadoctor.proof.smoke.limits import read_limits
from fadoctor.proof.smoke.memory import describe_room, is_short, is_too_large

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge
    from fadoctor.proof.smoke.events import DeviceFailed, Memory, Shown, WorkerRaised

DECLINES = frozenset({
    "bf16-unsupported-gpu", "dtype-fp32-into-fa2", "fa2-mixed-qkv-dtype", "fa2-too-old-for-gpu",
    "fa3-arch-unsupported", "fa4-arch-unsupported", "gpu-too-old-fa2", "headdim-limit",
    "headdim-limit-rocm", "hub-arch-refused", "rocm-sdpa-flash-unavailable",
    "sdpa-flash-not-in-build", "sdpa-mixed-qkv-dtype", "sdpa-no-available-kernel",
    "xformers-mixed-qkv-dtype", "torch-activated-fa-refused", "xformers-no-operator",
})  # fmt: skip
"""Rules whose texts a backend raises instead of running: it declines, and nothing is broken."""

KERNELS = {
    Backend.SDPA_FLASH: "ScaledDotProductFlashAttention",
    Backend.SDPA_EFFICIENT: "ScaledDotProductEfficientAttention",
    Backend.SDPA_CUDNN: "ScaledDotProductCudnnAttention",
    Backend.TORCH_FA3: "ScaledDotProductFlashAttention",
    Backend.TORCH_FA4: "ScaledDotProductFlashAttention",
}
"""Backend -> how the name of its autograd node begins. On a CPU it goes on with ``ForCpu``."""

_SDPA = frozenset({*KERNELS, Backend.SDPA_MATH})

_IN_TORCH = {Dtype.BF16: "bfloat16", Dtype.FP16: "float16", Dtype.FP32: "float32"}
"""Dtype -> its name in torch, where attention gives back what it was given."""

_NO_MODULE = re.compile(r"No module named '([\w.]{1,200})'")

_OURS = frozenset({"inputs", "comparison"})
"""Phases in which nothing of the backend runs."""

_FUSED = "ScaledDotProduct"
"""How all fused nodes begin: the plain form has none of them."""

# RuntimeError: "baddbmm_with_gemm" not implemented for 'Half'      (an older torch, on the CPU)
_NOT_FOR_DTYPE = re.compile(r"not implemented for '")
# CUDA error: an illegal memory access ... / Triton Error [CUDA]: ... / CUBLAS_STATUS_...
# HIP error: invalid device function / HIPBLAS_STATUS_... / MIOpen Error: ...
_OF_DEVICE = re.compile(
    r"\b(?:CUDA|HIP) (?:driver )?error\b|Triton Error|\b(?:CUBLAS|HIPBLAS|ROCBLAS)_"
    r"|\bcuDNN error\b|\bMIOpen Error\b",
    re.IGNORECASE,
)
# ValueError: Unsupported CUDA architecture: sm75      (SageAttention, before any kernel)
_NOT_FOR_GPU = re.compile(r"^Unsupported CUDA architecture: sm_?\d{2,3}\b")
# Flash attention kernel not used because: (Triggered internally at ../aten/src/ATen/...:98.)
_ORIGIN = re.compile(r"\s*\(Triggered internally at [^()]{1,300}\)")
# Memory Efficient attention has been runtime disabled.      (because another backend is forced)
_NO_REASON = re.compile(r"not used because:$|has been runtime disabled\.$")


class CellJudgement(msgspec.Struct, frozen=True):
    """What a cell means."""

    measured: Measured
    detail: str
    """One line that says why."""
    rule_id: str = ""
    """The root cause whose symptoms show."""
    message: str = ""
    """The text that they show in."""
    failure: CellFailure = CellFailure.NONE


class CellJudge:
    """Knows how far a healthy kernel may be off, and which texts name which root cause."""

    def __init__(self, knowledge: Knowledge) -> None:
        """Take limits and symptoms of the knowledge base."""
        self.limits = read_limits(knowledge)
        self._matcher = matcher_of(knowledge)

    def judge(self, done: Shown, device: str) -> CellJudgement:
        """Return what a finished cell means."""
        found = self._judge(done, device)
        label = "on the CPU, not on a GPU: " if device == "cpu" else ""
        return msgspec.structs.replace(found, detail=printable(label + found.detail, 600))

    def judge_device(self, failed: DeviceFailed) -> CellJudgement:
        """Return what becomes of every cell of a GPU on which torch's own kernel does not run."""
        raised = failed.exception
        text = _first_line(raised)
        message = raised.trace or f"{raised.type}: {raised.text}"
        if is_short(text):
            return self._short_of_room("", raised, failed.memory, message)
        detail = printable(f"not even a kernel of torch itself runs on it: {text}", 600)
        rule_id = self.cause_of(message)
        return CellJudgement(Measured.FAILED, detail, rule_id, message, CellFailure.EXCEPTION)

    def cause_of(self, message: str) -> str:
        """Return the id of the rule whose symptoms show in a text, the most likely one."""
        found = self._matcher.match(message)
        return found[0].rule_id if found else ""

    def _judge(self, done: Shown, device: str) -> CellJudgement:
        if done.lacking:
            return CellJudgement(Measured.NOT_RUN, done.lacking)
        if done.exception is not None:
            return self._judge_exception(done, done.exception, device)
        cell = done.cell
        names = compared(cell.backend, cell.dtype, cell.case, device)
        # Whatever else was compared counts, too: what was computed while it was timed.
        every = dict.fromkeys((*names, *done.errors))
        faults = [fault for name in every if (fault := self._fault(done, name))]
        faults += filter(None, [_dtype_fault(done)])
        kernel = _kernel_fault(done)
        if not faults and not kernel:
            return CellJudgement(Measured.PASSED, _numbers(done, names))
        # The first versions of torch with this function ignore the choice on a CPU, where they
        # have only the plain form: with right numbers that is a lack and no defect.
        lack = device == "cpu" and not faults
        detail = "; ".join(filter(None, [*faults, kernel]))
        if lack:
            return CellJudgement(Measured.REFUSED, detail)
        failure = CellFailure.NUMBERS if faults else CellFailure.KERNEL
        return CellJudgement(Measured.FAILED, detail, failure=failure)

    def _judge_exception(self, done: Shown, raised: WorkerRaised, device: str) -> CellJudgement:
        text = _first_line(raised)
        message = "\n".join([*done.warnings, raised.trace or f"{raised.type}: {raised.text}"])
        if _is_missing(done, raised):
            return CellJudgement(Measured.NOT_RUN, f"not installed: {text}")
        if _lacks_companion(done, raised):
            return CellJudgement(Measured.NOT_RUN, f"what it needs is not installed: {text}")
        if is_short(raised.text):
            return self._short_of_room(done.phase, raised, done.memory, message)
        rule_id = self.cause_of(message)
        reasons = kernel_reasons(done.warnings) if done.cell.backend in _SDPA else []
        detail = "; ".join([f"{done.phase}: {text}", *reasons])
        if _is_refusal(done, raised, rule_id, device):
            return CellJudgement(Measured.REFUSED, detail, rule_id, message)
        return CellJudgement(Measured.FAILED, detail, rule_id, message, CellFailure.EXCEPTION)

    def _short_of_room(
        self, phase: str, raised: WorkerRaised, memory: Memory | None, message: str
    ) -> CellJudgement:
        """Return what it means that memory ran out: a backend that asks for too much has failed."""
        detail = f"{describe_room(raised.text, memory)}: {_first_line(raised)}"
        rule_id = self.cause_of(message)
        if is_too_large(raised.text, memory) and phase and phase not in _OURS:
            return CellJudgement(
                Measured.FAILED, f"{phase}: {detail}", rule_id, message, CellFailure.EXCEPTION
            )
        return CellJudgement(Measured.NOT_RUN, detail, rule_id)

    def _fault(self, done: Shown, name: str) -> str:
        """Return what is wrong with one tensor, empty where nothing is."""
        if name not in done.errors:
            return f"{name} was not reported"
        error = done.errors[name]
        if error is None:
            return f"{name} holds NaN or infinity"
        # SageAttention multiplies in 8 bits, whatever it is given.
        in_eight = done.cell.backend is Backend.HUB_SAGE
        limit = self.limits[Dtype.FP8 if in_eight else done.cell.dtype].of(name)
        if error <= limit:
            return ""
        return f"{name} is wrong: relative error {error:.1e} against float64, limit {limit:.1e}"


def _is_missing(done: Shown, raised: WorkerRaised) -> bool:
    """Tell whether the package that is tested is not there at all."""
    package = entry_of(done.cell.backend).package
    names = {package, package.partition(".")[0]} - {""}
    return raised.type == "ModuleNotFoundError" and raised.text in {
        f"No module named {name!r}" for name in names
    }


def _lacks_companion(done: Shown, raised: WorkerRaised) -> bool:
    """Tell whether a package has a backend's sources and not what they need: it is no backend.

    flash-attn 2.8 holds ``flash_attn/cute`` so, which imports ``cutlass`` and ``cuda``.
    """
    found = _NO_MODULE.match(raised.text)
    if raised.type != "ModuleNotFoundError" or done.phase not in ("import", "load") or not found:
        return False
    return found[1].partition(".")[0] in entry_of(done.cell.backend).companions


def _is_refusal(done: Shown, raised: WorkerRaised, rule_id: str, device: str) -> bool:
    """Tell whether a backend declined: it looked at the tensors and launched nothing."""
    if done.poisoned or done.phase == "import" or _OF_DEVICE.search(raised.text):
        return False
    if _NOT_FOR_GPU.search(raised.text):
        return True
    if device == "cpu" and _NOT_FOR_DTYPE.search(raised.text):
        return True
    return rule_id in DECLINES or done.cell.case in TRAPS


def _dtype_fault(done: Shown) -> str:
    """Return how the output's dtype differs from that of the inputs, empty where it does not."""
    wanted = _IN_TORCH.get(done.cell.dtype, "")
    if not wanted or done.out_dtype in ("", wanted) or done.cell.case in TRAPS:
        return ""
    return f"the output is {printable(done.out_dtype, 40)}, not {wanted}"


def _kernel_fault(done: Shown) -> str:
    """Return which other kernel has computed the cell than the forced one, empty where none has."""
    backend = done.cell.backend
    if backend is Backend.SDPA_MATH:
        foreign = [name for name in done.kernels if name.startswith(_FUSED)]
    elif backend in KERNELS:
        foreign = [name for name in done.kernels if not name.startswith(KERNELS[backend])]
    else:
        return ""
    if done.kernels and not foreign:
        return ""
    names = printable(", ".join(foreign), 160) or "none that autograd records"
    return f"another kernel ran than the one that was forced: {names}"


def _numbers(done: Shown, names: tuple[str, ...]) -> str:
    errors = {name: done.errors[name] or 0.0 for name in names}
    gradients = [error for name, error in errors.items() if name.startswith("d")]
    more = f", gradients at most {max(gradients):.1e}" if gradients else ", forward only"
    return f"relative error against float64: out {errors['out']:.1e}{more}"


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


def _first_line(raised: WorkerRaised) -> str:
    """Return type and first line; an assertion without a text is told by the line it stands in."""
    lines = [line for line in raised.text.strip().splitlines() if line.strip()]
    if not lines:
        code = [line.strip() for line in raised.trace.splitlines() if line.startswith("    ")]
        lines = [line for line in code if set(line) - set("^~ ")][-1:] or ["without a text"]
    return printable(f"{raised.type}: {lines[0]}", 400)
