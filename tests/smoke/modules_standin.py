"""Let more of torch and of packages answer as on a GPU: flex, torch's activation, TE.

For a process of its own, beside `gpu_standin`. What flex and the activated kernels refuse is asked
of torch's own functions (torch.nn.attention of the release that runs); what Transformer Engine
refuses is in the words of its dot_product_attention.py at v2.9. Values are those of the CPU.
"""

# ruff: noqa: ARG002, FBT001, FBT002, PLR0917 -- the signatures are theirs

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

TE = "transformer_engine.pytorch.attention.dot_product_attention.dot_product_attention"
NODES = {"FA3": (9,), "FA4": (9, 10)}


def install(torch: Any, capability: tuple[int, int]) -> None:
    """Put them into this process."""
    put_transformer_engine(torch, capability)
    put_flex(torch, capability)
    put_activation(torch)


def put_transformer_engine(torch: Any, capability: tuple[int, int]) -> None:
    """Stand for Transformer Engine's module of attention."""

    class DotProductAttention(torch.nn.Module):  # type: ignore[misc]
        def forward(
            self, query_layer: Any, key_layer: Any, value_layer: Any, attention_mask: Any = None,
            qkv_format: Any = None,
        ) -> Any:  # fmt: skip
            same = query_layer.dtype == key_layer.dtype == value_layer.dtype
            assert same, "Queries, keys and values must have the same data type!"
            return attend(torch, "FusedAttnFunc", query_layer, key_layer, value_layer)

    parts = TE.split(".")
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        if count > 1:
            setattr(sys.modules[name.rpartition(".")[0]], parts[count - 1], module)
    vars(sys.modules[TE])["DotProductAttention"] = DotProductAttention


def attend(torch: Any, node: str, q: Any, k: Any, v: Any, **more: Any) -> Any:
    """Compute attention of (batch, heads, sequence, dimension) tensors under a node's name."""
    kernel = importlib.import_module("gpu_standin").kernel_of(torch, node)
    return kernel.apply(q, k, v, more)


def put_flex(torch: Any, capability: tuple[int, int]) -> None:
    """Let flex attention be a Triton kernel: torch's own checks, dense values."""
    module: Any = importlib.import_module("torch.nn.attention.flex_attention")
    utils = importlib.import_module("torch.nn.attention._utils")
    move = importlib.import_module("gpu_standin").moved

    def flex_attention(
        query: Any, key: Any, value: Any, score_mod: Any = None, block_mask: Any = None,
        scale: Any = None, enable_gqa: bool = False, return_lse: bool = False,
        kernel_options: Any = None,
    ) -> Any:  # fmt: skip
        utils._validate_sdpa_input(query, key, value)
        if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
            raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
        if "bfloat16" in str(query.dtype) and capability < (8, 0):
            raise RuntimeError("Internal Triton PTX codegen error: feature .bf16 requires sm_80")
        more = {} if block_mask is None else {"attn_mask": seen_by(torch, block_mask, query, key)}
        return attend(torch, "FlexAttention", query, key, value, **more)

    module.flex_attention = flex_attention
    module.create_block_mask = move(module.create_block_mask)
    torch.compile = lambda function, **_options: function


def seen_by(torch: Any, block_mask: Any, query: Any, key: Any) -> Any:
    """Return which keys each query sees."""
    rows = torch.arange(query.shape[2])[:, None]
    return block_mask.mask_mod(0, 0, rows, torch.arange(key.shape[2])[None, :])


def put_activation(torch: Any) -> None:
    """Give torch what activates FlashAttention 3 and 4, and let its kernels ask torch's checks."""
    names = ("flash_attn_interface", "flash_attn.cute.interface")
    for name in names:
        sys.modules.setdefault(name, types.ModuleType(name))
    vars(sys.modules[names[1]]).update(_flash_attn_fwd=None, _flash_attn_bwd=None)
    torch.library.define("flash_attn_3::fwd", "(Tensor q) -> Tensor")
    torch.library.define("flash_attn_3::bwd", "(Tensor q) -> Tensor")
    functional = torch.nn.functional
    healthy = functional.scaled_dot_product_attention

    def activated(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, **more: Any,
    ) -> Any:  # fmt: skip
        name = torch.nn.attention.current_flash_attention_impl()
        out = healthy(query, key, value, attn_mask, dropout_p, is_causal, **more)
        if name in NODES and torch.backends.cuda.flash_sdp_enabled():
            said = refusal(torch, name, query, key, value)
            if said:
                raise RuntimeError(f"{name} SDPA forward unsupported: {said}")
        return out

    functional.scaled_dot_product_attention = activated


def refusal(torch: Any, name: str, q: Any, k: Any, v: Any) -> str:
    """Return what the function of torch that an activated kernel asks first says of a call."""
    module = importlib.import_module(f"torch.nn.attention._{name.lower()}")
    given = [Placed(each) for each in (q, k, v)]
    check = getattr(module, f"_{name.lower()}_forward_support_error")
    optional = check.__code__.co_argcount - 5
    return check(*given, 0.0, False, *[None] * optional) or ""


class Placed:
    """A tensor as it would lie on a GPU."""

    def __init__(self, tensor: Any) -> None:
        self.dtype, self.device, self.is_cuda = tensor.dtype, tensor.device, True
        self.dim, self.shape = tensor.dim, tensor.shape
