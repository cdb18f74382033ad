"""A flash_attn whose function refuses what the real one refuses; a package of the Hub's kernels."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

import torch.nn.functional

if TYPE_CHECKING:
    from collections.abc import Iterator

REFUSAL = "FlashAttention only support fp16 and bf16 data type"


def flash_attn_func(  # noqa: PLR0917 -- as the real one
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, dropout_p: float = 0.0,
    softmax_scale: float | None = None, causal: bool = False,  # noqa: FBT001, FBT002
) -> torch.Tensor:  # fmt: skip
    if str(q.dtype) not in ("torch.float16", "torch.bfloat16"):
        raise RuntimeError(REFUSAL)
    if k.dtype != q.dtype:
        raise RuntimeError("query and key must have the same dtype")
    if v.dtype != q.dtype:
        raise RuntimeError("query and value must have the same dtype")
    if q.shape[-1] > 256:
        raise RuntimeError("FlashAttention forward only supports head dimension at most 256")
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    attend = torch.nn.functional.scaled_dot_product_attention
    out = attend(q, k, v, is_causal=causal and q.shape == k.shape)
    return out.transpose(1, 2)


def get_kernel(_repo_id: str, version: int | None = None) -> types.ModuleType:
    """Stand for the function that loads a kernel of the Hub: its module has a name of its own."""
    module = types.ModuleType(f"_kernel_{version}")
    vars(module)["flash_attn_func"] = lambda q, k, v: q  # noqa: ARG005 -- as the real one
    return module


def installed() -> Iterator[None]:
    """Stand for both packages for a while."""
    flash_attn, kernels = types.ModuleType("flash_attn"), types.ModuleType("kernels")
    vars(flash_attn).update(flash_attn_func=flash_attn_func, __version__="2.8.3")
    vars(kernels).update(get_kernel=get_kernel)
    before = {name: sys.modules.get(name) for name in ("flash_attn", "kernels")}
    sys.modules.update(flash_attn=flash_attn, kernels=kernels)
    yield
    for name, module in before.items():
        if module is None:
            del sys.modules[name]
        else:
            sys.modules[name] = module
