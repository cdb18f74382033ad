"""Which kernel runs, and why it is not a flash kernel: torch's own word first."""

from __future__ import annotations

import re
import warnings
from typing import Any

import torch
from _fadoctor_trace_origin import RANK

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


def why_not(before: Any, name: Any, problem: Any) -> Any:
    """Return the reasons why no flash kernel ran, or why the one that was called refused."""
    if name in FLASH and problem is None and name != "sdpa-flash":
        return ["dtype %s" % each for each in _wide(before)]
    if name == "sdpa-flash" and problem is None:
        return []
    if before.entry["backend"] == "eager" or name == "eager":
        return _framework(before)
    found = _dtypes(before) + _shapes(before)
    if before.entry["backend"] == "sdpa":
        found += _of_sdpa(before)
    elif not found and before.device.type != "cuda":
        found.append("device %s" % before.device.type)
    if before.reasons:
        found = found + [each for each in before.reasons if each not in found]
    if not found and problem is not None:
        found.append("refused: %s" % (str(problem).splitlines() or [""])[0][:200])
    if not found and name in ("xformers", "flex"):
        found += _framework(before)
    return found


def _wide(before: Any) -> Any:
    casts = before.autocast is not None and before.entry["backend"] == "sdpa"
    dtypes = [each.dtype for each in before.tensors.values()]
    return sorted({
        str(each).replace("torch.", "") for each in dtypes
        if RANK.get(each, 1) > (1 if casts else 0)
    })  # fmt: skip


def _dtypes(before: Any) -> Any:
    cpu_sdpa = before.entry["backend"] == "sdpa" and before.device.type == "cpu"
    found = [] if cpu_sdpa else ["dtype %s" % each for each in _wide(before)]
    dtypes = {letter: each.dtype for letter, each in before.tensors.items()}
    casts = before.autocast is not None and before.entry["backend"] == "sdpa"
    if len(set(dtypes.values())) > 1 and not casts:
        parts = ("%s %s" % (k, str(v).replace("torch.", "")) for k, v in dtypes.items())
        found.append("dtypes differ: %s" % ", ".join(parts))
    return found


def _shapes(before: Any) -> Any:
    found = []
    tensors = before.tensors
    devices = {str(each.device) for each in tensors.values()}
    if len(devices) > 1:
        found.append(
            "devices differ: %s"
            % ", ".join("%s %s" % (letter, each.device) for letter, each in tensors.items())
        )
    sizes = {letter: int(each.shape[-1]) for letter, each in tensors.items() if each.dim()}
    if len(set(sizes.values())) > 1:
        found.append("head dims differ: %s" % ", ".join("%s %d" % pair for pair in sizes.items()))
    limit = before.tracer.limits.get(before.entry["backend"], 0)
    head = max(sizes.values()) if sizes else 0
    if limit and head > limit:
        found.append("head dim %d is more than %d" % (head, limit))
    if any(each.dim() and each.numel() and each.stride(-1) != 1 for each in tensors.values()):
        found.append("non-contiguous: the last dimension")
    return found


def _of_sdpa(before: Any) -> Any:
    found = []
    enabled = getattr(torch.backends.cuda, "flash_sdp_enabled", None)
    if enabled is not None and not enabled():
        found.append("disabled by context: flash is switched off")
    dropout = before.values.get("dropout")
    if before.device.type == "cpu" and isinstance(dropout, float) and dropout > 0:
        found.append("dropout %g on the CPU" % dropout)
    mask = before.values.get("mask")
    if isinstance(mask, torch.Tensor):
        if before.device.type == "cuda":
            found.append("mask: a tensor")
        elif mask.requires_grad:
            found.append("mask: it needs a gradient")
        elif mask.dim() not in (2, 4):
            found.append("mask: %d dimensions" % mask.dim())
    heads = [each.shape[1] for each in before.tensors.values() if each.dim() == 4]
    if len(set(heads)) > 1:
        found.append("heads differ: %s" % ", ".join(map(str, heads)))
    if any(each.dim() != 4 for each in before.tensors.values()):
        found.append("tensors of %d dimensions, not 4" % before.tensors["q"].dim())
    if any(0 in each.shape for each in before.tensors.values()):
        found.append("a tensor is empty")
    return found


def _framework(before: Any) -> Any:
    found = []
    setting = getattr(getattr(before.owner, "config", None), "_attn_implementation", None)
    if isinstance(setting, str):
        found.append("framework's setting: attn_implementation=%s" % setting)
    for name, error in before.tracer.watch.missing:
        if name.startswith("flash_attn"):
            found.append("import failed: %s" % error)
    if not found:
        found.append("the code calls no other")
    return found
