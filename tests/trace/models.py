"""Small models with and without a fault; the guilty line of each says ``# guilty: <scenario>``."""

# mypy: disable-error-code="no-any-return,untyped-decorator,no-untyped-call,no-untyped-def"
# ruff: noqa: ANN001, ANN201, ARG004, N812

from __future__ import annotations

import math
from contextlib import suppress

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.trace.parts import (
    ForgetfulNorm,
    Lift,
    Norm,
    Rotary,
    Wide,
    rotate,
    rotate_back,
)

BF16 = torch.bfloat16


def flash(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options: bool) -> torch.Tensor:
    """Call the stand-in of flash-attn, with its own layout."""
    import flash_attn  # noqa: PLC0415 -- a stand-in that the test brings

    swapped = (each.transpose(1, 2) for each in (q, k, v))
    out: torch.Tensor = flash_attn.flash_attn_func(*swapped, **options)
    return out.transpose(1, 2)


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=q.shape == k.shape)


def shifted(x: torch.Tensor) -> torch.Tensor:
    wide = torch.randn(2, 1, 8)
    return x + wide  # guilty: outside


class Attention(nn.Module):
    """The trunk: what comes between projection and attention is the scenario."""

    def __init__(self, size: int, heads: int, kernel: str = "flash") -> None:
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(size, size)
        self.k_proj = nn.Linear(size, size)
        self.v_proj = nn.Linear(size, size)
        self.o_proj = nn.Linear(size, size)
        self.kernel = kernel

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def between(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return q, k, v

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.split(self.q_proj(x)), self.split(self.k_proj(x)), self.split(self.v_proj(x))
        q, k, v = self.between(q, k, v)
        out = flash(q, k, v, causal=True) if self.kernel == "flash" else sdpa(q, k, v)
        out = out.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1)
        return self.o_proj(out.to(self.o_proj.weight.dtype))


class QKNorm(Attention):
    def __init__(self, size: int, heads: int, kernel: str = "flash") -> None:
        super().__init__(size, heads, kernel)
        self.q_norm = Norm(size // heads)
        self.k_norm = Norm(size // heads)

    def between(self, q, k, v):
        return self.q_norm(q), self.k_norm(k), v


class Forgets(Attention):
    def __init__(self, size: int, heads: int, kernel: str = "flash") -> None:
        super().__init__(size, heads, kernel)
        self.q_norm = ForgetfulNorm(size // heads)

    def between(self, q, k, v):
        return self.q_norm(q), k, v


class Rotated(Attention):
    def __init__(self, size: int, heads: int, kernel: str = "flash") -> None:
        super().__init__(size, heads, kernel)
        self.rotary = Rotary(size // heads)

    def between(self, q, k, v):
        cos, sin = self.rotary(q.shape[2])
        return rotate(q, cos, sin), rotate(k, cos, sin), v


class RotatedBack(Rotated):
    def between(self, q, k, v):
        cos, sin = self.rotary(q.shape[2])
        return rotate_back(q, cos, sin), rotate_back(k, cos, sin), v


class Partial(Rotated):
    """Rotates a part of each head and joins it with the rest."""

    def between(self, q, k, v):
        cos, sin = self.rotary(q.shape[2])
        half = q.shape[-1] // 2
        cos, sin = cos[:, :half], sin[:, :half]
        turned = rotate(q[..., :half], cos, sin)
        return torch.cat([turned, q[..., half:]], -1), k, v


class EmptyCache(Attention):
    """Appends to a cache that begins empty, in the default dtype."""

    def between(self, q, k, v):
        cache = torch.empty(k.shape[0], k.shape[1], 0, k.shape[3])
        k = torch.cat([cache, k], dim=2)  # guilty: empty-cache
        return q, k, v


class HalfCache(Attention):
    def between(self, q, k, v):
        cache = torch.empty(k.shape[0], k.shape[1], 0, k.shape[3], dtype=k.dtype)
        return q, torch.cat([cache, k], dim=2), v


class StaticCache(Attention):
    """Copies keys and values into buffers of float32."""

    def between(self, q, k, v):
        held = torch.zeros(k.shape)  # guilty: static-cache
        held[:, :, : k.shape[2]] = k
        return q, held[:, :, : k.shape[2]], v


class MemoryKeys(Attention):
    """Learned keys of float32 in front of the others."""

    def __init__(self, size: int, heads: int, kernel: str = "flash") -> None:
        super().__init__(size, heads, kernel)
        self.memory = nn.Parameter(torch.zeros(1, heads, 2, size // heads))

    def between(self, q, k, v):
        memory = self.memory.expand(k.shape[0], -1, -1, -1)
        k = torch.cat([memory, k], dim=2)  # guilty: memory-keys
        return q, k, v


class WhereOne(Attention):
    """A constant of one element and one dimension."""

    def between(self, q, k, v):
        fill = torch.tensor([0.0])
        v = torch.where(v > 9, fill, v)  # guilty: where-one
        return q, k, v


class WhereZero(Attention):
    def between(self, q, k, v):
        return q, k, torch.where(v > 9, torch.tensor(0.0), v)


class Scaled(Attention):
    """A temperature of its own for each head."""

    def __init__(self, size: int, heads: int, kernel: str = "flash") -> None:
        super().__init__(size, heads, kernel)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

    def between(self, q, k, v):
        q = q * self.temperature  # guilty: scaled
        return q, k, v


class Casts(Attention):
    def between(self, q, k, v):
        v = v.to(torch.float32)  # guilty: casts
        return q, k, v


class Doubles(Attention):
    def between(self, q, k, v):
        scale = torch.full((1, 1, 1, q.shape[-1]), 1 / math.sqrt(2), dtype=torch.float64)
        q = q * scale  # guilty: doubles
        return q, k, v


class OtherSelf(Attention):
    def __init__(self, size: int, heads: int, kernel: str = "flash") -> None:
        super().__init__(size, heads, kernel)
        self.lift = Lift()

    def between(self, q, k, v):
        return q, self.lift(k), v


class Softmaxed(Attention):
    """Keys that are normalised in float32 on purpose."""

    def between(self, q, k, v):
        k = F.softmax(k, dim=-1, dtype=torch.float32)  # guilty: softmaxed
        return q, k, v


class SoftmaxedBack(Attention):
    def between(self, q, k, v):
        return q, F.softmax(k, dim=-1, dtype=torch.float32).to(k.dtype), v


class Block(nn.Module):
    def __init__(self, attention: Attention, size: int) -> None:
        super().__init__()
        self.norm = Norm(size)
        self.self_attn = attention

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.self_attn(self.norm(x)).to(x.dtype)


class Model(nn.Module):
    def __init__(
        self, kind: type[Attention] = Attention, layers: int = 2, kernel: str = "flash"
    ) -> None:
        super().__init__()
        size, heads = 32, 4
        self.embed = nn.Embedding(16, size)
        self.layers = nn.ModuleList(Block(kind(size, heads, kernel), size) for _ in range(layers))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return x


class Upcasting(Model):
    """The root's own forward casts."""

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        x = x.float()  # guilty: root
        for layer in self.layers:
            x = layer(x)
        return x


class Checkpointed(Model):
    def __init__(self, kind: type[Attention] = Attention, *, reentrant: bool = False) -> None:
        super().__init__(kind)
        self.reentrant = reentrant

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=self.reentrant)
        return x


class CustomForward(Attention):
    def between(self, q, k, v):
        k = Wide.apply(k)  # guilty: custom-fwd
        return q, k, v


class AttendsBackwards(torch.autograd.Function):
    """A backward pass that calls attention with a key that it has cast."""

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * 1

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        k = grad.float()
        with suppress(RuntimeError):
            sdpa(grad, k, grad)
        return grad
