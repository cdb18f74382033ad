"""Norms, weights and casts of public reports; each guilty line says ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN204, ANN205, ANN206, ARG004, N812

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.trace.calls import BF16, F32, Following, attend, heads, hidden, sdpa, three


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_qkv = nn.Linear(32, 96)
        self.norm_q, self.norm_k = nn.RMSNorm(8), nn.RMSNorm(8)

    def forward(self, x):
        q, k, v = three(self.to_qkv(x))
        q = self.norm_q(q)
        k = self.norm_k(k)
        return attend(q, k, v)


def well_normed_under_autocast():
    """https://github.com/huggingface/diffusers/issues/14104"""
    with torch.autocast("cpu", dtype=BF16):
        Normed()(torch.randn(1, 6, 32))


class WideNorm(nn.LayerNorm):
    def forward(self, x):
        return F.layer_norm(x.float(), self.normalized_shape)  # guilty: followed


def followed():
    """https://github.com/ali-vilab/UniAnimate-DiT/issues/40"""
    attend(*three(Following(32, 96)(WideNorm(32)(hidden()))))


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        out = torch.empty_like(x, dtype=weight.dtype)  # guilty: fused
        return torch.mul(x, weight, out=out)


def fused():
    """https://github.com/NVIDIA/apex/issues/1652"""
    q, k, v = heads()
    attend(Fused.apply(q, torch.ones(8)), k, v)


class Gain(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8, dtype=BF16))

    def forward(self, x):
        return self.weight * x  # guilty: averaged


def averaged():
    """https://github.com/d8ahazard/sd_dreambooth_extension/pull/1417"""
    q, k, v = heads()
    norm = Gain()
    shadow = {name: each.detach().float() for name, each in norm.named_parameters()}
    for name, each in norm.named_parameters():
        each.data = shadow[name]
    attend(norm(q), k, v)


class Merged(nn.Linear):
    def __init__(self):
        super().__init__(8, 8, bias=False, dtype=BF16)
        self.down, self.up = (nn.Parameter(torch.randn(8, 8)) for _ in range(2))

    def forward(self, x):
        delta = self.up @ self.down
        weight = self.weight + delta  # guilty: merged_weight
        return F.linear(x.to(weight.dtype), weight)


def merged_weight():
    """https://github.com/KohakuBlueleaf/LyCORIS/issues/215"""
    q, k, v = heads()
    attend(q, Merged()(k), v)


class Tiny(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("code", torch.randn(8, 8).to(torch.float8_e4m3fn))
        self.register_buffer("scale", torch.tensor([0.5]))

    def forward(self, x):
        weight = self.code.to(F32) * self.scale  # guilty: tiny_weight
        return F.linear(x.to(weight.dtype), weight)


def tiny_weight():
    """https://github.com/huggingface/peft/pull/3055"""
    q, k, v = heads()
    attend(q, Tiny()(k), v)


class Packed(torch.Tensor):
    """A weight that says itself how it is multiplied, as quantized ones do."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is not F.linear:
            return super().__torch_function__(func, types, args, kwargs or {})
        x, weight = args[:2]
        wide = weight.codes * weight.scale
        return F.linear(x.to(wide.dtype), wide)


def packed_weight():
    """https://github.com/huggingface/diffusers/pull/10009"""
    q, k, v = heads()
    weight = torch.zeros(8, 8, dtype=BF16).as_subclass(Packed)
    weight.codes, weight.scale = torch.ones(8, 8, dtype=torch.int8), torch.ones(8, 1)
    k = F.linear(k, weight)  # guilty: packed_weight
    attend(q, k, v)


def compute_wide(module, args):
    module.to(F32)
    return tuple(each.to(F32) for each in args)  # guilty: computing_hook


def computing_hook():
    """https://github.com/huggingface/diffusers/pull/10347"""
    q, k, v = heads()
    layer = nn.Linear(8, 8, dtype=BF16)
    layer.register_forward_pre_hook(compute_wide)
    attend(q, layer(k), v)


class Resampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(1, 3, 32))
        self.to_q, self.to_kv = Following(32, 32), Following(32, 64)

    def forward(self, x):
        latents = self.latents.repeat(x.shape[0], 1, 1)  # guilty: latents
        both = torch.cat([x, latents], 1)  # guilty: latents
        q, (k, v) = self.to_q(latents), self.to_kv(both).chunk(2, -1)
        return attend(*(each.reshape(1, -1, 4, 8) for each in (q, k, v)))


def latents():
    """https://github.com/cubiq/ComfyUI_IPAdapter_plus/issues/395"""
    Resampler()(hidden())


class Control(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 8)

    def forward(self, x):
        return self.out(x)  # guilty: controlled


def controlled():
    """https://github.com/lllyasviel/stable-diffusion-webui-forge/issues/817"""
    q, k, v = heads()
    k = k + Control()(torch.randn(1, 6, 4, 8))
    attend(q, k, v)


class Cosine(nn.Module):
    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.zeros(4, 1))

    def forward(self, q):
        scale = torch.clamp(self.logit_scale, max=4.6).exp()
        return F.normalize(q, dim=-1) * scale  # guilty: cosine


def cosine():
    """https://github.com/huggingface/transformers/pull/31589"""
    q, k, v = heads()
    attend(Cosine()(q), k, v)


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(32, 4, 8, dtype=BF16))

    def forward(self, x):
        return torch.tensordot(x.to(self.weight.dtype), self.weight, dims=1).to(x.dtype)


def given_back():
    """https://github.com/nari-labs/dia/issues/158"""
    x = nn.Embedding(16, 32)(torch.zeros(1, 6, dtype=torch.long))  # guilty: given_back
    _, k, v = heads()
    sdpa(Dense()(x), k, v)


def precise():
    """https://github.com/Comfy-Org/ComfyUI/issues/3593"""
    q, k, v = heads()
    precision = F32
    q, k = q.to(precision), k.to(precision)  # guilty: precise
    sdpa(q, k, v)


def residual_in_float32():
    """https://github.com/fla-org/flash-linear-attention/pull/137"""
    x = hidden()
    residual = x.to(F32)  # guilty: residual_in_float32
    x = residual + torch.tanh(x)
    attend(*three(Following(32, 96)(x)))


def to_another():
    """https://github.com/xjdr-alt/entropix/pull/39"""
    q, k, v = heads()
    scores = v.float()  # guilty: to_another
    attend(q, k.to(scores), v)


class Projected(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_qkv = nn.Linear(32, 96)

    def forward(self, x):
        qkv = self.to_qkv(x)  # guilty: recomputed
        return attend(*three(qkv))


class Recomputes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, net):
        ctx.net = net
        ctx.save_for_backward(x)
        return net(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            ctx.net(x.detach().requires_grad_())
        return grad, None


def recomputed():
    """https://github.com/pytorch/pytorch/issues/148831"""
    x = torch.randn(1, 6, 32, requires_grad=True)
    with torch.autocast("cpu", dtype=BF16):
        out = Recomputes.apply(x, Projected())
    out.float().sum().backward()


def well_residual():
    """https://github.com/hao-ai-lab/FastVideo/pull/490"""
    x = hidden()
    residual = x.float() + torch.tanh(x)
    x = F.layer_norm(residual, (32,)).to(x.dtype)
    attend(*three(Following(32, 96)(x)))


def well_given_weights():
    """https://github.com/pytorch/pytorch/issues/126053"""
    q, k, v = heads()
    layer = nn.Linear(8, 8)
    weights = {name: each.to(BF16) for name, each in layer.named_parameters()}
    attend(q, torch.func.functional_call(layer, weights, (k,)), v)


def well_layer_by_layer():
    """https://github.com/huggingface/diffusers/pull/9177"""
    q, k, v = heads()
    layer = nn.Linear(8, 8).to(torch.float8_e4m3fn)
    layer.register_forward_pre_hook(lambda module, _args: module.to(BF16) and None)
    layer.register_forward_hook(lambda module, _args, _out: module.to(torch.float8_e4m3fn) and None)
    attend(q, layer(k), v)


def well_mixed_values():
    """Factors that are learned in float32 are single numbers: they widen nothing."""
    q, k, v = heads()
    lambdas = nn.Parameter(torch.tensor([0.5, 0.5]))
    attend(q, k, lambdas[0] * v + lambdas[1] * v.view_as(v))
