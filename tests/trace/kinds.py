"""Ways in which training and serving make attention wide; guilty lines say ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204, ANN205, N812

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.trace.calls import BF16, F32, attend


def three(x):
    return x.view(x.shape[0], x.shape[1], 3, 4, 8).unbind(2)


def hidden(dtype=BF16):
    return torch.randn(1, 6, 32, dtype=dtype)


class Block(nn.Module):
    """Attention with its projections, as most models have it."""

    def __init__(self, dtype=BF16):
        super().__init__()
        self.norm = nn.LayerNorm(32, dtype=dtype)
        self.qkv = nn.Linear(32, 96, dtype=dtype)
        self.out = nn.Linear(32, 32, dtype=dtype)

    def forward(self, x):
        q, k, v = three(self.qkv(self.norm(x)))
        return x + self.out(attend(q, k, v).reshape(x.shape))


# --- low-rank adapters in float32


class LowRank(nn.Module):
    """An adapter that follows the dtype of its own weights."""

    def __init__(self, base, dtype=F32, *, back=False):
        super().__init__()
        self.base, self.back = base, back
        self.down = nn.Linear(32, 2, bias=False, dtype=dtype)
        self.up = nn.Linear(2, base.out_features, bias=False, dtype=dtype)

    def forward(self, x):
        result = self.base(x)
        x = x.to(self.down.weight.dtype)
        delta = self.up(self.down(x)) * 2.0
        if self.back:
            return result + delta.to(result.dtype)
        return result + delta  # guilty: lora_into_query


class Separate(nn.Module):
    def __init__(self, dtype=F32, **options):
        super().__init__()
        self.q = LowRank(nn.Linear(32, 32, dtype=BF16), dtype, **options)
        self.k, self.v = nn.Linear(32, 32, dtype=BF16), nn.Linear(32, 32, dtype=BF16)

    def forward(self, x):
        q, k, v = (each(x).view(1, 6, 4, 8) for each in (self.q, self.k, self.v))
        return attend(q, k, v)


def lora_into_query():
    Separate()(hidden())


def well_lora_in_half():
    Separate(BF16)(hidden())


def well_lora_given_back():
    Separate(back=True)(hidden())


# --- a residual in float32


class Controlled(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.block = nn.Linear(32, 32, dtype=BF16), Block()

    def forward(self, x, residuals):
        x = self.first(x)
        for residual in residuals:
            x = x + residual  # guilty: residual_given
        return self.block.qkv(x)


def residual_given():
    """The residual comes from outside, in float32."""
    net = Controlled()
    net.block.qkv = Following(32, 96)
    attend(*three(net(hidden(), (torch.zeros(1, 6, 32),))))


class Following(nn.Linear):
    def __init__(self, given, made):
        super().__init__(given, made, bias=False, dtype=BF16)

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype))


class Stream(nn.Module):
    """A residual stream that is kept in float32 and goes into the projection."""

    def __init__(self):
        super().__init__()
        self.qkv = Following(32, 96)

    def forward(self, x):
        residual = x.to(torch.float32)  # guilty: stream_in_float32
        residual = residual + torch.tanh(x)
        return attend(*three(self.qkv(residual)))


def stream_in_float32():
    Stream()(hidden())


# --- a gate inside a compiled block


class Gated(nn.Module):
    def __init__(self, dtype=F32):
        super().__init__()
        self.gate = nn.Parameter(torch.ones(8, dtype=dtype))
        self.qkv = nn.Linear(32, 96, dtype=BF16)

    def forward(self, x):
        q, k, v = three(self.qkv(x))
        return q * self.gate, k, v  # guilty: gate_compiled


def gate_compiled():
    attend(*torch.compile(Gated(), backend="eager")(hidden()))


def well_gate_compiled():
    attend(*torch.compile(Gated(BF16), backend="eager")(hidden()))


# --- a step outside autocast, weights in float32


def step_outside_autocast():
    """Training runs under autocast; sampling does not."""
    net = nn.Sequential(Block(F32))
    with torch.autocast("cpu", dtype=BF16):
        net[0].qkv(hidden(F32))
    x = hidden(F32)
    attend(*three(net[0].qkv(net[0].norm(x))))  # guilty: step_outside_autocast


def well_step_inside_autocast():
    net = Block(F32)
    with torch.autocast("cpu", dtype=BF16):
        net.qkv(net.norm(hidden(F32)))
        attend(*three(net.qkv(hidden(F32))))


class Embedded(nn.Module):
    def __init__(self, dtype=F32):
        super().__init__()
        self.embed = nn.Embedding(16, 32, dtype=dtype)
        self.block = Block(dtype)

    def forward(self, ids):
        x = self.embed(ids)  # guilty: weights_in_float32
        return self.block(x)


def weights_in_float32():
    Embedded()(torch.arange(6)[None])


def well_weights_in_half():
    Embedded(BF16)(torch.arange(6)[None])


# --- preparation for training in few bits


def prepared(net):
    for name, parameter in net.named_parameters():
        if "norm" in name or "embed" in name:
            parameter.data = parameter.data.to(torch.float32)
    return net


class Wide(nn.Module):
    """A norm that gives back the dtype of its weight, and a projection that follows."""

    def __init__(self):
        super().__init__()
        self.norm_weight = nn.Parameter(torch.ones(32, dtype=BF16))
        self.qkv = Following(32, 96)

    def forward(self, x):
        x = x * self.norm_weight  # guilty: prepared_for_few_bits
        return attend(*three(self.qkv(x)))


def prepared_for_few_bits():
    prepared(Wide())(hidden())


# --- a second tower


class Towers(nn.Module):
    def __init__(self, dtype=F32):
        super().__init__()
        self.vision = nn.Linear(12, 32, dtype=dtype)
        self.text = nn.Embedding(16, 32, dtype=BF16)
        self.block = Block()
        self.block.qkv = Following(32, 96)

    def forward(self, pixels, ids):
        pixels = pixels.to(self.vision.weight.dtype)
        seen = self.vision(pixels)  # guilty: second_tower
        both = torch.cat([seen, self.text(ids)], 1)
        return attend(*three(self.block.qkv(both)))


def second_tower():
    Towers()(torch.randn(1, 2, 12), torch.arange(4)[None])


def well_second_tower():
    Towers(BF16)(torch.randn(1, 2, 12), torch.arange(4)[None])


# --- recomputation, a cache behind hooks, another device


class Recomputed(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = nn.Linear(32, 96)

    def forward(self, x):
        return checkpoint(self.inner, x, use_reentrant=True)

    def inner(self, x):
        q, k, v = three(self.block(x))  # guilty: recomputed_wide
        return attend(q, k, v)


def recomputed_wide():
    """Recomputation whose region knows nothing of autocast."""
    net = Recomputed()
    x = hidden(F32).requires_grad_()
    net(x).sum().backward()


class Again(torch.autograd.Function):
    """Recomputation that does not keep the state of autocast."""

    @staticmethod
    def forward(ctx, run, x):
        ctx.run, ctx.x = run, x.detach()
        with torch.no_grad():
            return run(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.x.requires_grad_()
        with torch.enable_grad():
            out = ctx.run(x)
        torch.autograd.backward(out, grad)
        return None, x.grad


class Narrow(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(32, 96)

    def forward(self, x):
        q, k, v = three(self.qkv(x))  # guilty: recomputed_outside_autocast
        return x + attend(q, k, v).reshape(x.shape)


def recomputed_outside_autocast():
    x = hidden(F32).requires_grad_()
    first, second = Narrow(), Narrow()
    with torch.autocast("cpu", dtype=BF16):
        out = Again.apply(second, Again.apply(first, x))
    out.float().sum().backward()


def well_recomputed_under_autocast():
    x = hidden(F32).requires_grad_()
    net = Narrow()
    with torch.autocast("cpu", dtype=BF16):
        out = Again.apply(net, x)
        out.float().sum().backward()


class Sampled(nn.Module):
    """A residual stream that autocast leaves in float32, and a step outside it."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Narrow(), nn.Linear(32, 96)

    def forward(self, x):
        with torch.autocast("cpu", dtype=BF16):
            x = self.first(x)
        return attend(*three(self.second(x)))  # guilty: sampled_outside_autocast


def sampled_outside_autocast():
    Sampled()(hidden(F32))


class Cached(nn.Module):
    def __init__(self, dtype=F32):
        super().__init__()
        self.qkv = nn.Linear(32, 96, dtype=BF16)
        self.dtype = dtype

    def forward(self, x, held=None):
        q, k, v = three(self.qkv(x))
        if held is None:
            held = torch.zeros(1, 2, 4, 8, dtype=self.dtype)
        k = torch.cat([held, k], 1)  # guilty: cache_behind_hooks
        v = torch.cat([held, v], 1)  # guilty: cache_behind_hooks
        return attend(q, k, v)


def hooked(module):
    """Replace forward as libraries do that move weights to and fro."""
    old = module.forward

    def new_forward(*args, **kwargs):
        return old(*args, **kwargs)

    module.forward = new_forward
    return module


def cache_behind_hooks():
    nn.Sequential(hooked(Cached()))(hidden())


def well_cache_behind_hooks():
    nn.Sequential(hooked(Cached(BF16)))(hidden())


class Prefixed(nn.Module):
    def __init__(self, device="meta"):
        super().__init__()
        self.qkv = nn.Linear(32, 96, dtype=BF16)
        self.prefix = nn.Parameter(torch.zeros(1, 6, 4, 8, dtype=BF16, device=device))

    def forward(self, x):
        q, _, v = three(self.qkv(x))
        k = self.prefix * 2  # guilty: prefix_on_meta
        return F.scaled_dot_product_attention(q, k, v)


def prefix_on_meta():
    Prefixed()(hidden())


def well_prefix():
    Prefixed("cpu")(hidden())


def scale_of_python():
    """A number of numpy is no Python number: its product is wide."""
    import numpy as np  # noqa: PLC0415

    q, k, v = three(nn.Linear(32, 96, dtype=BF16)(hidden()))
    q = q * torch.as_tensor(np.ones(8))  # guilty: scale_of_python
    attend(q, k, v)


def weights_loaded_later():
    net = Embedded(BF16)
    state = {name: each.float() for name, each in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    net(torch.arange(6)[None])
