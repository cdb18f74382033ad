"""Caches and positions of public reports; each guilty line says ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN204, ANN205

from __future__ import annotations

import torch
from torch import nn

from tests.trace.calls import BF16, F32, attend, heads, sdpa, turned


def widened(values):
    if isinstance(values, tuple):
        return tuple(widened(each) for each in values)
    return values.float()  # guilty: outputs_widened


def outputs_widened():
    """https://github.com/huggingface/transformers/issues/30019"""
    _, *past = heads()
    past = widened(tuple(past))
    q, k, v = heads()
    attend(q, torch.cat([past[0], k], 1), torch.cat([past[1], v], 1))


class KeyValues(nn.Module):
    def __init__(self, dtype=F32):
        super().__init__()
        k = torch.zeros(1, 16, 4, 8, dtype=dtype)  # guilty: registered_cache
        self.register_buffer("k", k)
        v = torch.zeros(1, 16, 4, 8, dtype=dtype)  # guilty: registered_cache
        self.register_buffer("v", v)

    def forward(self, at, k, v):
        self.k[:, :at], self.v[:, :at] = k, v
        return self.k[:, :at], self.v[:, :at]


def registered_cache():
    """https://github.com/meta-pytorch/torchtune/issues/398"""
    q, k, v = heads()
    sdpa(q, *KeyValues()(6, k, v))


def coded():
    """https://github.com/NVIDIA/kvpress/issues/27"""
    q, _, v = heads()
    codes = torch.randint(0, 16, (1, 6, 4, 8), dtype=torch.uint8)
    zero, scale = torch.ones(1, 6, 4, 1), torch.ones(1, 6, 4, 1)
    k = (codes.float() - zero) * scale  # guilty: coded
    attend(q, k, v)


def xpos():
    """https://github.com/lucidrains/rotary-embedding-torch/pull/9"""
    q, k, v = heads()
    cos = sin = torch.ones(6, 1, 8, dtype=BF16)
    scale = torch.full((6, 1, 8), 0.9)
    k = turned(k, cos, sin) * scale**-1  # guilty: xpos
    attend(turned(q, cos, sin), k, v)


class Positions(nn.Module):
    """A table that is made anew where a sequence is longer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", self.make(4))

    @staticmethod
    def make(length):
        return torch.outer(torch.arange(length).float(), torch.ones(8)).sin()

    def forward(self, k):
        if k.shape[1] > self.table.shape[0]:
            self.table = self.make(k.shape[1])
        return k + self.table[: k.shape[1], None]  # guilty: made_anew


def made_anew():
    """https://github.com/huggingface/transformers/pull/13665"""
    q, k, v = heads()
    attend(q, Positions().to(BF16)(k), v)


def doubly(x, table):
    x = x.to(torch.float64).reshape(*x.shape[:-1], -1, 2)  # guilty: doubled_rope
    return torch.view_as_real(torch.view_as_complex(x) * table).flatten(3).float()


def doubled_rope():
    """A rotation in float64, of which the last statement gives float32."""
    q, k, v = heads()
    table = torch.polar(*(torch.ones(6, 1, 4, dtype=torch.float64) for _ in range(2)))
    attend(doubly(q, table), doubly(k, table), v)


def turned_in_a_batch():
    """https://github.com/huggingface/pytorch-image-models/pull/2794"""
    q, k, v = heads()
    table = torch.randn(4, 8)
    k = torch.vmap(lambda each: each * table)(k)  # guilty: turned_in_a_batch
    attend(q, k, v)


def well_prefixed_rotary():
    """https://github.com/huggingface/pytorch-image-models/pull/2794"""
    q, k, v = heads()
    cos = sin = torch.ones(5, 1, 8)
    q = torch.cat([q[:, :1], turned(q[:, 1:], cos, sin)], 1).type_as(v)
    attend(q, k, v)


def well_tuned_temperature():
    """Queries that are scaled by their position in float32, and cast back."""
    q, k, v = heads()
    scales = torch.log(torch.floor(torch.arange(6) + 1.0) / 8 + 1) * 0.1 + 1.0
    attend((q * scales.view(1, 6, 1, 1)).to(q.dtype), k, v)


def well_slopes():
    """https://github.com/vllm-project/vllm/issues/995"""
    distance = torch.arange(6)[None] - torch.arange(6)[:, None]
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])
    sdpa(*heads(), attn_mask=(slopes[:, None, None] * distance)[None])
