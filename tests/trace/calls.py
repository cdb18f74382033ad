"""What the scenarios of traces have in common: tensors, and how they call attention."""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN003, ANN201, ANN204, N812, PLC0415

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

BF16 = torch.bfloat16
F32 = torch.float32


def heads():
    """Query, key and value, (batch, seqlen, nheads, head_dim), bf16."""
    return tuple(torch.randn(1, 6, 4, 8, dtype=BF16) for _ in range(3))


def attend(q, k, v):
    import flash_attn

    return flash_attn.flash_attn_func(q, k, v)


def sdpa(q, k, v, **options):
    return F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), **options)


class Following(nn.Linear):
    """A projection whose weights follow the dtype of what comes, as user interfaces have it."""

    def __init__(self, given, made):
        super().__init__(given, made, bias=False, dtype=BF16)

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype))


def three(x):
    """Query, key and value of a packed projection."""
    return x.view(x.shape[0], x.shape[1], 3, 4, 8).unbind(2)


def hidden():
    return torch.randn(1, 6, 32, dtype=BF16)


def turned(x, cos, sin):
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat([-second, first], -1) * sin
