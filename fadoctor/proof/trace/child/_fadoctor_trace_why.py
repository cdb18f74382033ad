"""Which kernel runs, and why it is not a flash kernel: torch's own word first."""

from __future__ import annotations

import re
from typing import Any

import torch
from _fadoctor_trace_quiet import heard, warned_in_python

FLASH = frozenset(
    ("fa1", "fa2", "fa3", "fa4", "hub-fa2", "hub-fa3", "hub-fa4", "torch-fa3", "torch-fa4",
     "sdpa-flash", "vllm-fa")
)  # fmt: skip

FAST = FLASH | {"sdpa-cudnn"}
"""Kernels that never hold all scores: cuDNN's is torch's first choice on some GPUs."""

_SETTING = re.compile(r"flash[-_](?:attn|attention)[-_]?([234]?)")
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


class Kernels:
    """What scaled_dot_product_attention chooses among, as the table of them has it."""

    def __init__(self, rows: Any) -> None:
        self.by_number = {int(row["number"]): row["backend"] for row in rows}
        self.by_node = [(row["node"], row["backend"]) for row in rows if row["node"]]


def choice(choose: Any, before: Any) -> Any:
    """Return which kernel scaled_dot_product_attention takes, "" where nobody knows.

    It is asked once the call has run: what torch warns of once, it has told the patient by then.
    """
    if choose is None or not before.chooses or len(before.tensors) < 3:
        return ""
    values = before.values
    tensors = [_as_cast(before.tensors[letter], before.autocast) for letter in "qkv"]
    given = [*tensors, _as_cast(values.get("mask"), before.autocast),
             float(values.get("dropout") or 0.0), bool(values.get("causal"))]  # fmt: skip
    more = {"scale": before.scale}
    try:
        with torch._C.DisableTorchFunction():
            number, _ = heard(lambda: choose(*given, **more, enable_gqa=before.grouped))
    except TypeError:
        try:
            number, _ = heard(lambda: choose(*given, **more))
        except (RuntimeError, TypeError):
            return ""
    except RuntimeError:  # shapes that do not fit: the call itself says so
        return ""
    return before.tracer.kernels.by_number.get(int(number), "")


def _as_cast(tensor: Any, autocast: Any) -> Any:
    """Return a tensor of the dtype that autocast will give it, whose values mean nothing.

    It lies in the memory of the tensor itself: nothing is allocated, and nothing is read.
    """
    if not isinstance(tensor, torch.Tensor) or autocast is None:
        return tensor
    dtype = getattr(torch, autocast)
    if tensor.dtype == dtype or tensor.dtype not in _FLOATS:
        return tensor
    with torch._C.DisableTorchFunction(), torch.no_grad():
        found = torch.empty(0, dtype=dtype, device=tensor.device)
        times, rest = divmod(tensor.element_size(), found.element_size())
        if rest or not times:  # it would need more memory than there is
            return tensor
        start = tensor.storage_offset() * times
        try:
            found.set_(tensor.untyped_storage(), start, tensor.shape, tensor.stride())
        except (RuntimeError, NotImplementedError):  # a tensor without a storage
            return tensor
        return found.requires_grad_(tensor.requires_grad)


def backend(before: Any, out: Any) -> Any:
    """Return DESIGN's name of what ran: what autograd shows outranks what was foreseen."""
    if before.entry["backend"] == "setting":
        return _by_setting(getattr(before.owner, "config", None))
    if before.entry["backend"] != "sdpa":
        return before.entry["backend"]
    node = out.grad_fn.name() if isinstance(out, torch.Tensor) and out.grad_fn is not None else ""
    for part, name in before.tracer.kernels.by_node:
        if part in node:
            return name
    return choice(before.tracer.choose, before) or "unknown"


def _by_setting(config: Any) -> str:
    """Return the backend that attn_implementation names: flash_attention_2, owner/flash-attn3."""
    setting = getattr(config, "_attn_implementation", None)
    if not isinstance(setting, str):
        return "unknown"
    found = _SETTING.search(setting)
    if found is None:
        return "unknown"
    return ("hub-fa%s" if "/" in setting else "fa%s") % (found.group(1) or "2")


def reasons(before: Any) -> Any:
    """Return torch's own reasons against its flash kernel; it tells them for CUDA alone."""
    if before.entry["backend"] != "sdpa" or before.device.type != "cuda":
        return []
    cuda = torch.backends.cuda
    params = getattr(cuda, "SDPAParams", None)
    ask = getattr(cuda, "can_use_flash_attention", None)
    if params is None or ask is None or len(before.tensors) < 3:
        return []
    found = before.values
    tensors = [_as_cast(before.tensors[letter], before.autocast) for letter in "qkv"]
    given = [*tensors, _as_cast(found.get("mask"), before.autocast),
             float(found.get("dropout") or 0.0), bool(found.get("causal"))]  # fmt: skip
    try:
        asked = params(*given, before.grouped)
    except TypeError:  # older than grouped heads
        asked = params(*given)
    _, said = heard(lambda: warned_in_python(lambda: ask(asked, debug=True)))
    return [each.split(" (Triggered internally")[0][:300] for each in said][:8]
