"""Which kernel runs, and why it is not a flash kernel: torch's own word first."""

from __future__ import annotations

import re
import warnings
from typing import Any

import torch

FLASH = frozenset(
    ("fa1", "fa2", "fa3", "fa4", "hub-fa2", "hub-fa3", "hub-fa4", "torch-fa3", "torch-fa4",
     "sdpa-flash", "vllm-fa")
)  # fmt: skip

_SETTING = re.compile(r"flash[-_](?:attn|attention)[-_]?([234]?)")
_LARGEST = 1 << 25
"""Elements of a stand-in for a tensor that autocast will cast."""


class Kernels:
    """What scaled_dot_product_attention chooses among, as the table of them has it."""

    def __init__(self, rows: Any) -> None:
        self.by_number = {int(row["number"]): row["backend"] for row in rows}
        self.by_node = [(row["node"], row["backend"]) for row in rows if row["node"]]


def choice(choose: Any, before: Any, values: Any) -> Any:
    """Return which kernel scaled_dot_product_attention will take, "" where nobody knows."""
    if choose is None or len(before.tensors) < 3:
        return ""
    tensors = [_as_cast(before.tensors[letter], before.autocast) for letter in "qkv"]
    mask = _as_cast(values.get("attn_mask"), before.autocast)
    try:
        with torch._C.DisableTorchFunction():
            number = choose(
                *tensors, mask, float(values.get("dropout_p") or 0.0),
                bool(values.get("is_causal")), scale=values.get("scale"),
                enable_gqa=bool(values.get("enable_gqa")),
            )  # fmt: skip
    except TypeError:
        try:
            number = choose(
                *tensors,
                mask,
                float(values.get("dropout_p") or 0.0),
                bool(values.get("is_causal")),
                scale=values.get("scale"),
            )
        except (RuntimeError, TypeError):
            return ""
    except RuntimeError:  # shapes that do not fit: the call itself says so
        return ""
    return before.tracer.kernels.by_number.get(int(number), "")


def _as_cast(tensor: Any, autocast: Any) -> Any:
    """Return a tensor of the dtype that autocast will give it, without its values."""
    if not isinstance(tensor, torch.Tensor) or autocast is None:
        return tensor
    dtype = getattr(torch, autocast)
    if tensor.dtype == dtype or tensor.dtype not in (torch.float32, torch.float16, torch.bfloat16):
        return tensor
    if tensor.numel() > _LARGEST:
        return tensor
    with torch._C.DisableTorchFunction(), torch.no_grad():
        found = torch.empty_strided(
            tensor.shape, tensor.stride(), dtype=dtype, device=tensor.device
        )
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
    return before.chosen or "unknown"


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
    if params is None or ask is None:
        return []
    found = before.values
    tensors = [_as_cast(before.tensors[letter], before.autocast) for letter in "qkv"]
    given = [*tensors, found.get("mask"), float(found.get("dropout") or 0.0),
             bool(found.get("causal"))]  # fmt: skip
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            ask(params(*given, False), debug=True)
        except TypeError:
            ask(params(*given), debug=True)
    return [str(each.message).split(" (Triggered internally")[0][:300] for each in said][:8]
