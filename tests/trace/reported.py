"""Attention calls as public reports have them; each guilty line says ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN204, ANN205

from __future__ import annotations

import io

import torch
from torch import nn

from tests.trace.calls import BF16, F32, attend, heads, sdpa


def complex_turn(x, table):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))  # guilty: complex_rope
    return torch.view_as_real(pairs * table).flatten(3)


def complex_rope():
    """Rotary through complex numbers that nobody casts back."""
    q, k, v = heads()
    table = torch.polar(torch.ones(6, 1, 4), torch.ones(6, 1, 4))
    attend(complex_turn(q, table), k, v)


def well_complex_rope():
    q, k, v = heads()
    table = torch.polar(torch.ones(6, 1, 4), torch.ones(6, 1, 4))
    attend(complex_turn(q, table).type_as(q), k, v)


class Cache:
    """A cache in the default dtype."""

    def __init__(self):
        self.k = torch.zeros(1, 16, 4, 8)  # guilty: cache_of_default_dtype
        self.v = torch.zeros(1, 16, 4, 8)  # guilty: cache_of_default_dtype

    def update(self, k, v):
        self.k[:, : k.shape[1]] = k
        self.v[:, : k.shape[1]] = v
        return self.k[:, : k.shape[1]], self.v[:, : k.shape[1]]


def cache_of_default_dtype():
    q, k, v = heads()
    sdpa(q, *Cache().update(k, v))


class Rotary(nn.Module):
    """Positions in float32 on purpose, and query and a packed kv turned by them."""

    def forward(self, q, kv):
        angles = torch.outer(torch.arange(q.shape[1]).float(), torch.ones(4))
        cos, sin = angles.cos()[:, None], angles.sin()[:, None]
        return self.turn(q, cos, sin), torch.stack(
            [self.turn(kv[:, :, 0], cos, sin), kv[:, :, 1]], 2
        )

    @staticmethod
    def turn(x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)  # guilty: packed_rotary


def packed_rotary():
    q, k, v = heads()
    q, kv = Rotary()(q, torch.stack([k, v], 2))
    attend(q, kv[:, :, 0], kv[:, :, 1])


def modulated():
    """A transformer for images: scale and shift come from a float32 embedding of time."""
    q, k, v = heads()
    scale, shift = nn.Linear(4, 16)(torch.randn(1, 4)).chunk(2, -1)
    q = q * (1 + scale) + shift  # guilty: modulated
    attend(q, k, v)


def adapter_for_images():
    """Keys and values of an image encoder that stayed float32."""
    q, _, _ = heads()
    project = nn.Linear(8, 8)
    context = torch.randn(1, 6, 4, 8)
    k = project(context)  # guilty: adapter_for_images
    sdpa(q, k, k)


def default_dtype_changed():
    q, k, v = heads()
    torch.set_default_dtype(torch.float64)
    try:
        k = k + torch.ones(8)  # guilty: default_dtype_changed
    finally:
        torch.set_default_dtype(F32)
    sdpa(q, k, v)


class Variance(nn.Module):
    """A norm whose variance of float32 widens what it divides."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, hidden):
        variance = hidden.to(F32).pow(2).mean(-1, keepdim=True)
        hidden = hidden * torch.rsqrt(variance + 1e-6)  # guilty: wide_weight
        if self.weight.dtype in (torch.float16, BF16):
            hidden = hidden.to(self.weight.dtype)
        return self.weight * hidden


def wide_weight():
    """Preparing for training of few bits leaves norms in float32."""
    q, k, v = heads()
    attend(Variance()(q), k, v)


def well_half_weight():
    q, k, v = heads()
    attend(Variance().to(BF16)(q), k, v)


def loaded():
    """A prefix that was saved in float32."""
    q, _, v = heads()
    file = io.BytesIO()
    torch.save(torch.randn(1, 6, 4, 8), file)
    file.seek(0)
    k = torch.load(file)  # guilty: loaded
    attend(q, k, v)


def other_half():
    """A cache in the other half dtype."""
    q, _, v = heads()
    held = torch.zeros(1, 9, 4, 8, dtype=torch.float16)  # guilty: other_half
    sdpa(q, held[:, :6], v)


def well_wide_mask():
    """A mask of float32 is none of the three."""
    sdpa(*heads(), attn_mask=torch.zeros(6, 6))
