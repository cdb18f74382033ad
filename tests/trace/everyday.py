"""Attention calls as everyday code has them; each guilty line says ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN202, ANN204, ANN205, FBT002, N812, PLC0415

from __future__ import annotations

import math
import sys
import types

import torch
import torch.nn.functional as F
from torch import nn

from tests.trace.calls import BF16, F32, attend, heads, sdpa


def sorted_keys():
    """Results that have names: sort, max."""
    q, k, v = heads()
    k = k.float()  # guilty: sorted_keys
    k, _ = k.sort(dim=1)
    k, _ = k.max(0, keepdim=True)
    attend(q, k, v)


def from_numpy():
    q, k, v = heads()
    for _ in range(50):  # storages that are gone must not speak for later ones
        k.double()
    numpy = torch.ones(8, dtype=torch.float64).numpy().copy()
    table = torch.from_numpy(numpy)
    k = k * table  # guilty: from_numpy
    attend(q, k, v)


def numpy_alone():
    q, k, v = heads()
    for _ in range(50):
        k.double()
    numpy = torch.ones(1, 6, 4, 8, dtype=torch.float64).numpy().copy()
    k = torch.from_numpy(numpy)  # guilty: numpy_alone
    attend(q, k, v)


def scale_of_a_class():
    """An operand that is an attribute of a class that is no module."""
    q, k, v = heads()
    k = Processor()(k)
    attend(q, k, v)


class Processor:
    scale = torch.full((4, 1), 2.0)

    def __call__(self, k):
        return k / self.scale  # guilty: scale_of_a_class


def dequantized():
    q, _, v = heads()
    code, scale = torch.ones(1, 6, 4, 8, dtype=torch.int8), torch.ones(1, 6, 4, 1)
    k = code * scale  # guilty: dequantized
    attend(q, k, v)


def like_another():
    """The line asks for the dtype of a tensor that somebody else has widened."""
    q, k, v = heads()
    hidden = k.float()  # guilty: like_another
    k = v.to(hidden.dtype)
    attend(q, k, v)


def batched():
    """torch.func: tensors without a storage of their own."""
    q, k, v = heads()
    k = torch.vmap(lambda each: each.float())(k)  # guilty: batched
    attend(q, k, v)


def half_cast():
    q, k, v = heads()
    k = k.half()  # guilty: half_cast
    sdpa(q, k, v)


def long_chain():
    q, k, v = heads()
    v = v * torch.ones(1, 1, 1, 8)  # guilty: long_chain
    v = F.dropout(F.gelu(v), 0.1)
    v = torch.tanh(v - v.mean(-1, keepdim=True)) / v.std(-1, keepdim=True).clamp(min=1e-3)
    v = F.pad(v.flip(1).roll(1, 1), (0, 0)).index_select(1, torch.arange(6))
    attend(q, k, v)


def one_element():
    q, k, v = heads()
    q = q / torch.tensor([math.sqrt(8)])  # guilty: one_element
    attend(q, k, v)


def well_no_dimension():
    q, k, v = heads()
    attend(q / torch.tensor(3.0), k * torch.tensor(2.0, dtype=torch.float64), v)


def largest_of_one():
    q, k, v = heads()
    k = torch.maximum(k, torch.tensor([0.0]))  # guilty: largest_of_one
    attend(q, k, v)


def well_in_place():
    q, k, v = heads()
    q += torch.ones(8)
    k.mul_(torch.ones(8))
    v.copy_(torch.randn(v.shape))
    attend(q, k, v)


def given_out():
    q, k, v = heads()
    held = torch.empty(q.shape)  # guilty: given_out
    torch.mul(q, 2, out=held)
    attend(held, k, v)


def cast_of_data():
    q, k, v = heads()
    k.data = k.data.float()  # guilty: cast_of_data
    attend(q, k, v)


def several_lines():
    q, k, v = heads()
    k = (
        k.transpose(1, 2)
        .float()  # guilty: several_lines
        .transpose(1, 2)
    )
    attend(q, k, v)


def hooked():
    """A forward hook that widens."""
    q, k, v = heads()
    layer = nn.Linear(8, 8).to(BF16)
    layer.register_forward_hook(
        lambda _module, _args, out: out.float()  # guilty: hooked
    )
    attend(q, layer(k), v)


def well_hooked():
    q, k, v = heads()
    layer = nn.Linear(8, 8).to(BF16)
    layer.register_forward_hook(lambda _module, _args, out: out.float().to(out.dtype))
    attend(q, layer(k), v)


def injected():
    """A module that nobody imported, and a function that was taken from it by name."""
    module = types.ModuleType("flash_attn_interface")

    def flash_attn_func(q, k, v, softmax_scale=None, causal=False):
        return q

    module.flash_attn_func = flash_attn_func
    sys.modules["flash_attn_interface"] = module
    q, k, v = heads()
    k = k.float()  # guilty: injected
    from flash_attn_interface import flash_attn_func as attention

    attention(q, k, v)
    del sys.modules["flash_attn_interface"]


def flexible():
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = (torch.randn(1, 4, 16, 16, dtype=BF16) for _ in range(3))
    k = k.float()  # guilty: flexible
    flex_attention(q, k, v)


def island():
    """A region without autocast in one with it."""
    q, k, v = heads()
    with torch.autocast("cpu", dtype=BF16):
        with torch.autocast("cpu", enabled=False):
            q = q.float() * 2  # guilty: island
        attend(q, k, v)


def well_island():
    """The same before SDPA, which autocast casts."""
    q, k, v = heads()
    with torch.autocast("cpu", dtype=BF16):
        with torch.autocast("cpu", enabled=False):
            q = q.float() * 2
        sdpa(q, k, v)


class AttendsInBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        wide = grad.to(F32)  # guilty: gradients_asked_for
        attend(x, wide, x)
        return grad


def gradients_asked_for():
    """torch.autograd.grad, not Tensor.backward."""
    x = torch.randn(1, 6, 4, 8, dtype=BF16, requires_grad=True)
    torch.autograd.grad(AttendsInBackward.apply(x).float().sum(), x)


def well_eager_inside():
    q, k, v = heads()
    scores = (q.float().transpose(1, 2) @ k.float().permute(0, 2, 3, 1)).softmax(-1).to(v.dtype)
    sdpa(q, (scores @ v.transpose(1, 2)).transpose(1, 2), v)


def well_module_of_torch():
    x = torch.randn(2, 6, 8, dtype=BF16)
    nn.MultiheadAttention(8, 2, batch_first=True).to(BF16)(x, x, x, need_weights=False)


def well_dequantized():
    q, k, v = heads()
    code, scale = torch.ones(8, 8, dtype=torch.int8), torch.ones(8, 1)
    attend(q, F.linear(k, code.to(k.dtype) * scale.to(k.dtype)), v)


def well_default_dtype():
    torch.set_default_dtype(BF16)
    try:
        q, k, v = heads()
        k = torch.cat([torch.empty(1, 0, 4, 8), k + torch.ones(8)], 1)
        attend(q, k, v)
    finally:
        torch.set_default_dtype(F32)


def well_tiny_floats():
    q, k, v = heads()
    attend(q, k.to(torch.float8_e4m3fn).to(BF16), v)


def well_numbers():
    q, k, v = heads()
    attend(q * 0.5, k * 3.0 + 1, torch.where(v > 0, v, 0.0))


def well_batched():
    torch.vmap(lambda x: F.scaled_dot_product_attention(x, x, x))(
        torch.randn(3, 1, 4, 6, 8, dtype=BF16)
    )


def well_scaled_gradients():
    net = nn.Linear(8, 8)
    scaler = torch.amp.GradScaler("cpu")
    with torch.autocast("cpu", dtype=BF16):
        x = net(torch.randn(1, 6, 4, 8))
        loss = sdpa(x, x, x).float().pow(2).mean()
    scaler.scale(loss).backward()


def kernel_of_the_hub():
    """The module of a kernel comes from a loader, under a name of its own."""
    import kernels

    kernel = kernels.get_kernel("kernels-community/flash-attn3", version=1)
    q, k, v = heads()
    k = k.float()  # guilty: kernel_of_the_hub
    kernel.flash_attn_func(q, k, v)
