"""Calls of the real flash-attn on a CPU, by triton's interpreter; the last one raises.

Run with an interpreter that has flash-attn, TRITON_INTERPRET=1 and
FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE. It prints the bits of each result and gradient.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN204, BLE001, FBT002, PERF203, T201

from __future__ import annotations

import hashlib
import sys

import torch
from flash_attn import flash_attn_func, flash_attn_interface
from flash_attn.modules.mha import FlashSelfAttention
from torch import nn

BF16, FP16 = torch.bfloat16, torch.float16
OPERATORS = (
    "_flash_attn_forward", "_flash_attn_varlen_forward", "_flash_attn_backward",
    "_flash_attn_varlen_backward",
)  # fmt: skip
for _name in OPERATORS:  # declared for CUDA only
    _function = getattr(flash_attn_interface, _name)._init_fn
    torch.library.register_kernel("flash_attn::" + _name, "cpu", _function)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(16))

    def forward(self, x):
        return self.weight * x  # the guilty line


class Attention(nn.Module):
    def __init__(self, call, dtype):
        super().__init__()
        self.proj = nn.Linear(32, 96, dtype=dtype)
        self.norm = Norm().to(dtype)
        self.call = call
        self.inner = FlashSelfAttention(causal=True)

    def forward(self, x):
        qkv = self.proj(x).view(1, x.shape[1], 3, 2, 16)
        q, k, v = qkv.unbind(2)
        if self.call is None:
            return self.inner(qkv)
        return self.call(q, self.norm(k), v)


def packed(q, k, v):
    return flash_attn_interface.flash_attn_qkvpacked_func(torch.stack([q, k, v], 2), causal=True)


def packed_pair(q, k, v):
    return flash_attn_interface.flash_attn_kvpacked_func(q, torch.stack([k, v], 2))


def lengths(q, k, v):
    ends = torch.tensor([0, 3, q.shape[1]], dtype=torch.int32)
    flat = [each.reshape(-1, 2, 16) for each in (q, k, v)]
    return flash_attn_interface.flash_attn_varlen_func(*flat, ends, ends, 5, 5, causal=True)


def decoded(q, k, v):
    with torch.no_grad():
        return flash_attn_interface.flash_attn_with_kvcache(q[:, -1:], k, v)


def plain(q, k, v):
    return flash_attn_func(q, k, v, causal=True)


CALLS = {each.__name__: each for each in (plain, packed, packed_pair, lengths, decoded)}
CALLS["module"] = None


def bits(tensor):
    return hashlib.sha256(tensor.detach().double().numpy().tobytes()).hexdigest()[:16]


def step(name, dtype, wide=False):
    torch.manual_seed(0)
    layer = Attention(CALLS[name], dtype)
    if wide:
        layer.norm.float()
    out = layer(torch.randn(1, 8, 32, dtype=dtype))
    print(name, dtype, out.dtype, bits(out), flush=True)
    if out.requires_grad:
        out.float().pow(2).sum().backward()
        print(*[bits(each.grad) for each in layer.parameters() if each.grad is not None])


def main(names):
    for name in names:
        for dtype in (FP16, BF16):
            try:
                step(name, dtype)
            except Exception as error:
                print(name, dtype, type(error).__name__, str(error)[:200])
    step("plain", BF16, wide=True)


if __name__ == "__main__":
    main(sys.argv[1:] or CALLS)
