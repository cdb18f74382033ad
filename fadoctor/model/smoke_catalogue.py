"""The catalogue: which cases each backend has, and which script of `child/` runs it.

A new test is one file in `child/` and one line here.
"""

from __future__ import annotations

import enum

import msgspec

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable
from fadoctor.model.packages import BACKENDS, IMPORTS, TORCH
from fadoctor.model.verdict import Backend, Dtype

PREDICTED = ("full", "causal", "long", "rotary", "layer-norm", "cross-entropy", "matmul")
"""Cases whose shapes a prediction speaks of: what is within every documented limit."""

EDGES = ("hdim96", "hdim256", "short-q", "masked", "large")
"""Cases of shapes that many models never have: where one alone fails, the backend works."""

LIKE = ("like", "like-decode")
"""Cases of the shape that a model has: its prompt, and one token that follows."""

TRAPS = ("mixed", "mixed-autocast", "fp32-autocast")
"""Cases whose tensors have the wrong dtypes on purpose, as a user's do."""

HALF = (Dtype.BF16, Dtype.FP16)
ALL = (*HALF, Dtype.FP32)
EIGHT = (*ALL, Dtype.FP8)


class OnCpu(enum.Enum):
    """Whether a backend has kernels for a CPU."""

    YES = "yes"
    NO = "runs on a GPU only"
    NAMED = "runs on a GPU only; named by --backend it is tried"
    TRITON = "runs on a GPU only, or with TRITON_INTERPRET=1 in triton's interpreter"
    FLASH_ATTN = (
        "runs on a GPU only, or with TRITON_INTERPRET=1 and "
        "FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE in triton's interpreter"
    )


class Entry(msgspec.Struct, frozen=True):
    """One backend."""

    backend: Backend
    module: str
    """Script in `child/`."""
    cases: tuple[str, ...]
    """What the default set runs."""
    thorough: tuple[str, ...] = ()
    """What ``--thorough`` adds."""
    dtypes: tuple[Dtype, ...] = ALL
    on_cpu: OnCpu = OnCpu.NO
    tensors: tuple[str, ...] = ("out", "dq", "dk", "dv")
    """What a healthy cell compares; less where `compared` says so."""
    slow: str = ""
    """Why the default set leaves it out."""
    companions: tuple[str, ...] = ()
    """Modules without which the package may be there as a part of another, and cannot run."""

    @property
    def package(self) -> str:
        """What it imports: where there is no such module, there is nothing to run; "" for torch."""
        package = BACKENDS[self.backend.value]
        return "" if package == TORCH else IMPORTS.get(package, (package,))[0]


_BASIC = ("full", "causal", "long")
_GROUPED = ("full", "causal", "gqa", "long")
_SHAPES = ("hdim96", "short-q", "large")
_WIDER = (*_SHAPES, "hdim256")
_DIMS = ("hdim128",)
_GENERATION = ("varlen", "kvcache")
_FA, _SDPA, _OPS = "_fadoctor_flash_attn", "_fadoctor_sdpa", "_fadoctor_fa_ops"
_HUB, _ACTIVATED = "_fadoctor_hub", "_fadoctor_activated"
_CUTE = ("cutlass", "cuda", "quack", "tvm_ffi")
_COMPILES = "it compiles each kernel on the spot"
_NORM = ("out", "dx", "dweight", "dbias")

CATALOGUE = (
    Entry(Backend.FA2, _FA, (*_GROUPED, *_WIDER), (*_DIMS, *_GENERATION, *TRAPS),
          on_cpu=OnCpu.FLASH_ATTN),
    Entry(Backend.FA3, _FA, (*_GROUPED, *_WIDER), (*_DIMS, *_GENERATION, *TRAPS), EIGHT),
    Entry(Backend.FA4, _FA, (*_GROUPED, *_SHAPES), ("hdim128", "varlen", *TRAPS), EIGHT,
          slow=_COMPILES, companions=_CUTE),
    Entry(Backend.HUB_FA2, _HUB, (*_GROUPED, *_WIDER), (*_DIMS, *_GENERATION, *TRAPS),
          on_cpu=OnCpu.NAMED),
    Entry(Backend.HUB_FA3, _HUB, (*_GROUPED, *_WIDER), (*_DIMS, "varlen", *TRAPS)),
    Entry(Backend.HUB_FA4, _HUB, (*_GROUPED, *_SHAPES), ("hdim128", "varlen", *TRAPS),
          slow=_COMPILES),
    Entry(Backend.HUB_SAGE, _HUB, _GROUPED, ("hdim128",), tensors=("out",),
          on_cpu=OnCpu.NAMED),
    Entry(Backend.TORCH_FA3, _ACTIVATED, (*_GROUPED, *_SHAPES), ("hdim128", *TRAPS)),
    Entry(Backend.TORCH_FA4, _ACTIVATED, (*_GROUPED, *_SHAPES), ("hdim128", *TRAPS), slow=_COMPILES,
          companions=_CUTE),
    Entry(Backend.SDPA_FLASH, _SDPA, (*_GROUPED, *_WIDER), (*_DIMS, *TRAPS), on_cpu=OnCpu.YES),
    Entry(Backend.SDPA_EFFICIENT, _SDPA, (*_BASIC, *_WIDER, "masked"), (*_DIMS, *TRAPS)),
    Entry(Backend.SDPA_CUDNN, _SDPA, (*_GROUPED, *_SHAPES, "masked"), ("hdim128", *TRAPS)),
    Entry(Backend.SDPA_MATH, _SDPA, (*_GROUPED, *_WIDER, "masked"), (*_DIMS, *TRAPS),
          on_cpu=OnCpu.YES),
    Entry(Backend.XFORMERS, "_fadoctor_xformers", (*_BASIC, *_WIDER), (*_DIMS, *TRAPS)),
    Entry(Backend.VLLM_FA, "_fadoctor_vllm_fa", _GROUPED, ("hdim128", "varlen", *TRAPS),
          tensors=("out",), slow="importing vllm takes many seconds"),
    Entry(Backend.FA_ROTARY, _OPS, ("rotary",), tensors=("out", "dx")),
    Entry(Backend.FA_LAYER_NORM, _OPS, ("layer-norm",), tensors=_NORM),
    Entry(Backend.FA_CROSS_ENTROPY, _OPS, ("cross-entropy",), tensors=("out", "dlogits")),
    Entry(Backend.TRITON, "_fadoctor_triton", ("matmul",), on_cpu=OnCpu.TRITON, tensors=("out",)),
    Entry(Backend.FLEX, "_fadoctor_flex", ("causal",), ("full", *TRAPS), on_cpu=OnCpu.YES,
          slow="torch.compile takes many seconds"),
)  # fmt: skip


TRIED = {
    "a head dimension of 96": ("hdim96",),
    "a head dimension of 256": ("hdim256",),
    "head dimensions that 32 does not divide (72, 80)": ("with an odd head dimension",),
    "three sequences or more": ("hdim96", "kvcache"),
    "a number of heads that is no power of two": ("hdim96", "with an odd number of heads"),
    "fewer queries than keys": ("short-q", "kvcache", "like-decode"),
    "more queries than keys": (),
    "fewer queries than keys with a causal mask": (),
    "masks": ("masked",),
    "masks of numbers": (),
    "rows that see no key": (),
    "a scale of your own": (),
    "large logits": ("large",),
    "grouped heads": ("gqa", "with grouped heads"),
    "packed sequences": ("varlen",),
    "more than 2,048 positions": ("long",),
    "faults of one call among many": (),
    "dropout": (),
    "sliding windows": ("with a sliding window",),
    "softcaps": ("with a softcap",),
    "sinks": ("with sinks",),
}
"""What a kernel may be given -> cases, and notes of cells, that tell of it having been tried."""


def word_of(case: str) -> str:
    """Return what a case tries, in words: a head dimension of 256."""
    return next((name for name, tries in TRIED.items() if case in tries), case)


def untried(told: set[str]) -> tuple[str, ...]:
    """Return what none of the cells that passed has tried, given their cases and notes."""
    return tuple(name for name, tries in TRIED.items() if told.isdisjoint(tries))


NO_BACKWARD = (Backend.FLEX, Backend.HUB_FA2, Backend.HUB_SAGE)
"""Backends that have no backward on a CPU."""

RUN = tuple(entry.backend.value for entry in CATALOGUE)
"""Names of the backends that a run can try."""


def entry_of(backend: Backend) -> Entry:
    """Return a backend's entry; UsageError for one that is predicted and never run."""
    for entry in CATALOGUE:
        if entry.backend is backend:
            return entry
    raise UsageError(f"{backend.value} is predicted, but never run: choose one of {', '.join(RUN)}")


def backend_of(name: str) -> Backend:
    """Return the backend of a name on the command line; UsageError where none of that name runs."""
    if name not in {each.value for each in Backend}:
        shown = printable(name, 40)
        raise UsageError(f"--backend {shown}: no such backend; choose one of {', '.join(RUN)}")
    return entry_of(Backend(name)).backend


def compared(backend: Backend, dtype: Dtype, case: str, device: str) -> tuple[str, ...]:
    """Return the tensors that a healthy cell compares: where one is missing, it has not passed."""
    entry = entry_of(backend)
    if case == "kvcache":
        return ("out", "cache")
    on_cpu = device == "cpu"
    forward_only = dtype is Dtype.FP8 or (on_cpu and (backend in NO_BACKWARD or case == "long"))
    return entry.tensors[:1] if forward_only else entry.tensors
