"""Other ways in which programs are written; each guilty line says ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN002, ANN201, ANN202, ANN204, ANN206, ANN205, N812, PLC0415

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import nn

from tests.trace.calls import BF16, F32, attend, heads, sdpa

KEPT = functools.partial(F.scaled_dot_product_attention, dropout_p=0.0)


def swapped(*tensors):
    return tuple(each.transpose(1, 2) for each in tensors)


# --- attention by another name


def kept_before():
    """A function that was taken from torch before anybody watched."""
    q, k, v = heads()
    k = k.float()  # guilty: kept_before
    KEPT(*swapped(q, k, v))


def by_operator():
    """The operator itself, below torch.nn.functional."""
    q, k, v = heads()
    k = k.float()  # guilty: by_operator
    torch.ops.aten.scaled_dot_product_attention(*swapped(q, k, v))


# --- operations by another name


def multiplied_by_operator():
    q, k, v = heads()
    table = torch.ones(8)
    k = torch.ops.aten.mul.Tensor(k, table)  # guilty: multiplied_by_operator
    attend(q, k, v)


def joined_by_operator():
    """A wide cache that an operator joins with half keys."""
    q, k, v = heads()
    cache = k.float()  # guilty: joined_by_operator
    k = torch.ops.aten.cat.default([cache, k], 1)
    attend(q, k, v)


def by_own_operator():
    """An operator of the program's own: nobody sees what it does."""
    q, k, v = heads()
    k = widening()(k)  # guilty: by_own_operator
    attend(q, k, v)


@functools.lru_cache(maxsize=1)
def widening():
    def widen(x: torch.Tensor) -> torch.Tensor:
        return x.float() * 2

    return torch.library.custom_op("fadoctor_tests::widen", widen, mutates_args=())


def mapped():
    q, k, v = heads()
    (k,) = map(torch.Tensor.float, (k,))  # guilty: mapped
    attend(q, k, v)


def listed():
    q, *rest = heads()
    k, v = [each.to(F32) for each in rest]  # guilty: listed
    attend(q, k, v)


# --- other owners of weights


class Doubled(nn.Module):
    def forward(self, weight):
        return weight.float() * 2


class Parametrized(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8, dtype=BF16))

    def forward(self, x):
        return x * self.weight  # guilty: parametrized


def parametrized():
    """A weight that is computed at each use."""
    q, k, v = heads()
    norm = Parametrized()
    nn.utils.parametrize.register_parametrization(norm, "weight", Doubled(), unsafe=True)
    attend(q, norm(k), v)


class Dispatching(torch.Tensor):
    """A weight whose class computes below autograd."""

    @staticmethod
    def __new__(cls, inner):
        found = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=BF16)
        found.inner = inner
        return found

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        plain = [each.inner if isinstance(each, cls) else each for each in args]
        wide = [each.float() if isinstance(each, torch.Tensor) else each for each in plain]
        return func(*wide, **(kwargs or {}))


def dispatched():
    q, k, v = heads()
    k = torch.mul(k, Dispatching(torch.ones(8, dtype=torch.int8)))  # guilty: dispatched
    attend(q, k, v)


class Learned(nn.Module):
    def __init__(self):
        super().__init__()
        self.positions = nn.Embedding(16, 8)

    def forward(self, k):
        at = torch.arange(k.shape[1])
        return k + self.positions(at)[:, None]  # guilty: learned


def learned():
    """Positions that are learned, and were left in float32."""
    q, k, v = heads()
    attend(q, Learned()(k), v)


# --- surroundings


def on_a_device():
    """A context of torch that is a function mode itself."""
    q, k, v = heads()
    with torch.device("cpu"):
        k = k.float()  # guilty: on_a_device
        attend(q, k, v)


def differentiated():
    q, k, v = heads()

    def loss(x):
        wide = x.float()  # guilty: differentiated
        return attend(q, wide, v).float().sum()

    torch.func.grad(loss)(k)


def flushed():
    """Keys are quantized in blocks: the third step is the first that is wrong."""
    q, k, v = heads()
    recent = []
    for step in range(3):
        recent.append(k[:, :1])
        past = torch.cat(recent, 1)
        if step == 2:
            past = past.float().round()  # guilty: flushed
        sdpa(q, past, v[:, : past.shape[1]])


def half_in_between():
    """Wide, half, and wide again: the last one is to blame."""
    q, k, v = heads()
    k = k.float() * 2
    k = k.to(BF16)
    k = k.double() + 1  # guilty: half_in_between
    attend(q, k, v)


def counted():
    """Below a mode of torch that counts."""
    from torch.utils.flop_counter import FlopCounterMode

    q, k, v = heads()
    with FlopCounterMode(display=False):
        k = k.float()  # guilty: counted
        sdpa(q, k, v)


# --- no fault


def well_counted():
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False):
        sdpa(*heads())


def well_kept_before():
    KEPT(*swapped(*heads()))


def well_causal_bias():
    from torch.nn.attention.bias import causal_lower_right

    sdpa(*heads(), attn_mask=causal_lower_right(6, 6))


def on_meta():
    """A key on another device."""
    q, k, v = heads()
    k = k.to("meta")  # guilty: on_meta
    sdpa(q, k, v)


def well_by_operators():
    q, k, v = heads()
    k = torch.ops.aten.mul.Tensor(k, torch.ones(8, dtype=BF16))
    attend(q, torch.ops.aten.cat.default([k, k], 1), v)


def well_parametrized():
    q, k, v = heads()
    norm = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8, dtype=BF16))
    attend(q, norm(k), v)


def well_half_at_last():
    q, k, v = heads()
    k = (k.float() * torch.ones(8)).double().to(BF16)
    attend(q, k, v)


def well_own_operator():
    q, k, v = heads()
    attend(q, widening()(k).to(BF16), v)


def well_deferred():
    """Made on meta, then given its values in half."""
    q, k, v = heads()
    with torch.device("meta"):
        layer = nn.Linear(8, 8)
    layer = layer.to_empty(device="cpu").to(BF16)
    attend(q, layer(k), v)
