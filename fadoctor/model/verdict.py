"""Verdicts: GPU x backend x dtype, predicted from facts and measured by running."""

from __future__ import annotations

import enum

import msgspec


class Backend(enum.Enum):
    """The attention backends and kernels that a verdict can be about, in the report's order."""

    __hash__ = object.__hash__  # equal is the same here, and enum's own is not written in C
    FA1 = "fa1"
    FA2 = "fa2"
    FA3 = "fa3"
    FA4 = "fa4"
    HUB_FA2 = "hub-fa2"
    HUB_FA3 = "hub-fa3"
    HUB_FA4 = "hub-fa4"
    HUB_SAGE = "hub-sage"
    TORCH_FA3 = "torch-fa3"
    TORCH_FA4 = "torch-fa4"
    SDPA_FLASH = "sdpa-flash"
    SDPA_EFFICIENT = "sdpa-efficient"
    SDPA_CUDNN = "sdpa-cudnn"
    SDPA_MATH = "sdpa-math"
    XFORMERS = "xformers"
    VLLM_FA = "vllm-fa"
    FA_ROTARY = "fa-rotary"
    FA_LAYER_NORM = "fa-layer-norm"
    FA_CROSS_ENTROPY = "fa-cross-entropy"
    TRITON = "triton"
    FLEX = "flex"


class Dtype(enum.Enum):
    """The dtypes that a verdict can be about."""

    __hash__ = object.__hash__
    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    FP8 = "fp8"


_DTYPE_NAMES = {
    "bfloat16": Dtype.BF16, "float16": Dtype.FP16, "half": Dtype.FP16, "float32": Dtype.FP32,
    "float": Dtype.FP32, "float8": Dtype.FP8, "float8_e4m3fn": Dtype.FP8, "float8_e5m2": Dtype.FP8,
} | {each.value: each for each in Dtype}  # fmt: skip


def dtype_named(name: str) -> Dtype | None:
    """Return the dtype that a name means, as fadoctor or torch writes it; None for another."""
    return _DTYPE_NAMES.get(name.strip().lower().removeprefix("torch."))


class Predicted(enum.Enum):
    """What the facts say."""

    WORKS = "works"
    FAILS = "fails"
    UNKNOWN = "unknown"


class Measured(enum.Enum):
    """What a run showed. ``refused`` is the known refusal, neither passed nor failed."""

    PASSED = "passed"
    REFUSED = "refused"
    FAILED = "failed"
    NOT_RUN = "not_run"


_SHOWN_BY_RUN = {Measured.PASSED: Predicted.WORKS, Measured.FAILED: Predicted.FAILS}


class Verdict(msgspec.Struct, frozen=True):
    """One cell of the table."""

    gpu: str
    """``gpu[0] Tesla V100``, or ``cpu`` for what was only run on the CPU."""
    backend: Backend
    package_version: str
    """Version of the package that brings the backend."""
    dtype: Dtype
    predicted: Predicted
    because: tuple[str, ...]
    """Ids of the rules that decided a prediction other than works."""
    measured: Measured
    detail: str

    @property
    def outcome(self) -> Predicted:
        """How the cell comes out: what was measured counts before what was predicted."""
        return _SHOWN_BY_RUN.get(self.measured, self.predicted)


class Origin(enum.Enum):
    """Where the attention comes from that a program asked for by name."""

    PACKAGE = "package"
    HUB = "hub"
    ERROR = "error"
    UNKNOWN = "unknown"


class Becomes(msgspec.Struct, frozen=True):
    """What transformers makes of a name: a package, a kernel of the Hub, or an error."""

    origin: Origin
    name: str = ""
    """``flash-attn 2.8.3``, ``kernels-community/flash-attn2@v3``; "" where it takes none."""
    detail: str = ""
    """Where the kernel comes from, else why it fails or nobody knows."""


class Recommendation(msgspec.Struct, frozen=True):
    """What to use on the GPUs at hand, as if the findings were repaired."""

    dtype: Dtype
    backend: Backend
    settings: dict[str, dict[str, str]]
    """Framework -> setting -> value, ready to paste."""
    why: str
    flash_attention_2: Becomes | None = None
    """What that name of transformers really is here; None where transformers does not know it."""
