"""Let the torch of a CPU answer as one with a GPU does: facts, forced kernels, refusals.

For a process of its own, by a sitecustomize. What is refused, and in which words, is that of
torch's aten/src/ATen/native/transformers/cuda/sdp_utils.cpp (2.11); values are those of the CPU.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import types
import warnings
from typing import Any

_MILLISECONDS = itertools.count()
"""What events take for the time: no clock."""

SPELLED = {"torch.bfloat16": "c10::BFloat16", "torch.float16": "c10::Half"}
SET = {True: "{Half, BFloat16}", False: "{Half, Float}"}


DONATED = (
    "This backward function was compiled with non-empty donated buffers which requires "
    "create_graph=False and retain_graph=False."
)
"""What torch says of a compiled backward whose graph is to be kept: runtime_wrappers.py of 2.6."""


def install(name: str, major: int, minor: int) -> None:
    """Put the GPU into this process."""
    torch: Any = importlib.import_module("torch")
    give_facts(torch, name, major, minor)
    move_to_cpu(torch)
    functional = torch.nn.functional
    functional.scaled_dot_product_attention = Attention(torch, (major, minor)).attend
    importlib.import_module("packages_standin").install(torch, (major, minor))


def give_facts(torch: Any, name: str, major: int, minor: int) -> None:
    """Let torch.cuda tell of one GPU."""
    memory = 16 << 30
    properties = types.SimpleNamespace(name=name, major=major, minor=minor, total_memory=memory)
    facts = {
        "is_available": True, "device_count": 1, "get_device_properties": properties,
        "get_device_name": name, "get_device_capability": (major, minor), "set_device": None,
        "synchronize": None, "_lazy_init": None,
        "current_device": 0, "is_bf16_supported": True, "mem_get_info": (memory, memory),
        "memory_reserved": 0,
    }  # fmt: skip
    for each, value in facts.items():
        setattr(torch.cuda, each, lambda *_, value=value, **__: value)


def let_time(folder: str, accident: str = "") -> None:
    """Let a smaller shape be timed by events that never lie far apart; `folder` has the scripts.

    An accident is what goes wrong then: ``memory`` of that shape, or ``events``.
    """
    torch: Any = importlib.import_module("torch")
    torch.cuda.reset_peak_memory_stats = lambda *_: None
    torch.cuda.max_memory_allocated = lambda *_: 7 << 20
    torch.cuda.Event = event_of("CUDA error: an illegal memory access" * (accident == "events"))
    made = torch.Generator

    class Generator:  # torch's own annotations take a class
        def __new__(cls, device: Any = "cpu") -> Any:
            if is_gpu(device) and accident == "memory":  # the first that is made for a timing
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
            return made("cpu")

    torch.Generator = Generator
    sys.path.append(folder)
    tested: Any = importlib.import_module("_fadoctor_attention")
    tested.SPEED_BATCH, tested.SPEED_HEADS = 1, 2


def event_of(problem: str) -> Any:
    """Return the class of events; one with a problem raises it where it is waited for."""

    class Event:
        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing
            self.at = 0.0

        def record(self) -> None:
            self.at = next(_MILLISECONDS)

        def synchronize(self) -> None:
            if problem:
                raise RuntimeError(problem)

        def elapsed_time(self, end: Any) -> float:
            return float(end.at - self.at)

    return Event


def move_to_cpu(torch: Any) -> None:
    """Let what is asked for on a GPU lie in the host's memory."""
    torch.Tensor.to = moved(torch.Tensor.to)
    for name in ("ones", "zeros", "empty", "randn", "tensor", "full"):
        setattr(torch, name, moved(getattr(torch, name)))


MOVED = """
def moved(original, is_gpu):
    def call(*args, **more):
        args = tuple("cpu" if is_gpu(each) else each for each in args)
        if is_gpu(more.get("device")):
            more["device"] = "cpu"
        return original(*args, **more)
    return call
"""


def moved(original: Any) -> Any:
    """Return a function that makes its tensors in the host's memory; it stands in torch's folder.

    A tracer names the statement that calls it then, as it does for torch's own.
    """
    torch: Any = importlib.import_module("torch")
    names: dict[str, Any] = {}
    exec(compile(MOVED, f"{torch.__path__[0]}/standin.py", "exec"), names)  # noqa: S102 -- our own
    return names["moved"](original, is_gpu)


def is_gpu(word: Any) -> bool:
    """Return whether something names a GPU."""
    return type(word).__name__ in {"str", "device"} and str(word).partition(":")[0] == "cuda"


def kernel_of(torch: Any, name: str) -> Any:
    """Return a kernel whose results bear the node of torch's own."""

    def forward(ctx: Any, q: Any, k: Any, v: Any, more: Any) -> Any:
        with torch.enable_grad():
            given = [each.detach().float().requires_grad_() for each in (q, k, v)]
            seen = more.get("attn_mask")
            if seen is not None and seen.dtype == torch.bool:  # torch does so before it chooses
                hidden = torch.zeros(seen.shape).masked_fill(~seen, float("-inf"))
                more = {**more, "attn_mask": hidden}
            out = torch._scaled_dot_product_attention_math(*given, **more)[0]
        ctx.kept, ctx.dtypes = (given, out), [each.dtype for each in (q, k, v)]
        return out.detach().to(q.dtype)

    def backward(ctx: Any, gradient: Any) -> Any:
        if name == "FlexAttention" and torch._C._autograd._get_current_graph_task_keep_graph():
            raise RuntimeError(DONATED)
        given, out = ctx.kept
        found = torch.autograd.grad(out, given, gradient.float())
        return (*(each.to(dtype) for each, dtype in zip(found, ctx.dtypes, strict=True)), None)

    methods = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    node = "ToCopy" if name == "Math" else f"ScaledDotProduct{name}Attention"
    return type(node, (torch.autograd.Function,), methods)


class Attention:
    """scaled_dot_product_attention of a GPU: the first kernel that is on and takes the call."""

    def __init__(self, torch: Any, capability: tuple[int, int]) -> None:
        self._torch = torch
        self._capability = capability
        cuda = torch.backends.cuda
        self.order = ["Flash", "Efficient", "Cudnn", "Math"]
        """Which kernel is tried first."""
        self._kernels = {
            "Flash": (cuda.flash_sdp_enabled, self._flash),
            "Efficient": (cuda.mem_efficient_sdp_enabled, self._efficient),
            "Cudnn": (cuda.cudnn_sdp_enabled, self._cudnn),
            "Math": (cuda.math_sdp_enabled, lambda *_: ""),
        }

    def attend(  # noqa: PLR0917 -- as torch has it
        self, query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, **more: Any,  # noqa: FBT001, FBT002 -- as torch has it
    ) -> Any:  # fmt: skip
        """Run the call on a kernel, or refuse it as torch does."""
        q, k, v = (self._as_cast(each) for each in (query, key, value))
        more.update(dropout_p=dropout_p, is_causal=is_causal)
        if len({q.dtype, k.dtype, v.dtype}) > 1:
            text = ("Expected query, key, and value to have the same dtype, but got query.dtype: "
                    "{} key.dtype: {} and value.dtype: {} instead.")  # fmt: skip
            raise RuntimeError(text.format(*(spelled(each) for each in (q, k, v))))
        for name in self.order:
            is_on, refusal = self._kernels[name]
            said = refusal(q, attn_mask) if is_on() else ""
            if not is_on():
                continue
            if not said:
                options = {"attn_mask": attn_mask, **more}
                return kernel_of(self._torch, name).apply(q, k, v, options)
            warnings.warn(f"{name} attention kernel not used because:", stacklevel=2)
            warnings.warn(said, stacklevel=2)
        raise RuntimeError("No available kernel. Aborting execution.")

    def choice(self, q: Any, mask: Any) -> str:
        """Return the kernel that a call of one dtype takes."""
        for name in self.order:
            is_on, refusal = self._kernels[name]
            if is_on() and not refusal(q, mask):
                return name
        return "Math"

    def against_flash(self, q: Any, k: Any, v: Any, mask: Any) -> str:
        """Return why the flash kernel does not take a call, "" where it does."""
        if not self._kernels["Flash"][0]():
            return "Flash attention has been runtime disabled."
        return self._flash(q, mask) or self._dtypes(q, k, v, modern=True)

    def _as_cast(self, tensor: Any) -> Any:
        """Return a tensor as autocast gives it to the function."""
        if not self._torch.is_autocast_enabled("cuda"):
            return tensor
        return tensor.to(self._torch.get_autocast_dtype("cuda"))

    def _flash(self, q: Any, mask: Any) -> str:
        if mask is not None:
            return "Flash Attention does not support non-null attn_mask."
        if q.shape[-1] > 256:
            return (
                "Flash attention requires q,k,v to have the same last dimension and to be less "
                f"than or equal to 256. Got Query.size(-1): {q.shape[-1]} instead."
            )
        return self._too_old("Flash attention") or self._dtypes(q, modern=True)

    def _cudnn(self, q: Any, _mask: Any) -> str:
        if q.shape[-1] > 256:
            return "head_dim should be no more than 256"
        return self._too_old("cuDNN MHA") or self._dtypes(q, modern=True)

    def _efficient(self, q: Any, _mask: Any) -> str:
        if self._capability >= (8, 0):
            return ""
        return self._dtypes(q, modern=False)

    def _too_old(self, what: str) -> str:
        if self._capability >= (8, 0):
            return ""
        major, minor = self._capability
        return (
            f"{what} only supports gpu architectures in the range [sm80, sm121]. Attempting to "
            f"run on a sm {major}.{minor} gpu."
        )

    def _dtypes(self, *tensors: Any, modern: bool) -> str:
        taken = ("c10::Half", "c10::BFloat16" if modern else "float")
        kinds = [spelled(each) for each in tensors] * (3 // len(tensors))
        if set(kinds) <= set(taken):
            return ""
        return (
            f"Expected query, key and value to all be of dtype: {SET[modern]}. Got Query dtype: "
            f"{kinds[0]}, Key dtype: {kinds[1]}, and Value dtype: {kinds[2]} instead."
        )


def spelled(tensor: Any) -> str:
    """Return a dtype as C++ prints it."""
    return SPELLED.get(str(tensor.dtype), "float")
