"""Other shapes of tensors and functions; each guilty line says ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN201, N812, PLC0415

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from tests.trace.calls import BF16, attend, heads, sdpa


def ragged():
    parts = [torch.randn(length, 4, 8, dtype=BF16) for length in (3, 5)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged)
    return tuple(nested.clone() for _ in range(3))


def nested():
    """https://github.com/openvdb/fvdb-core/pull/364"""
    q, k, v = ragged()
    k = k.float()  # guilty: nested
    sdpa(q, k, v)


def scripted_turn(x: torch.Tensor, cos: torch.Tensor):
    return x * cos


def scripted():
    """https://github.com/Dao-AILab/flash-attention/issues/42"""
    q, k, v = heads()
    turn = torch.jit.script(scripted_turn)
    k = turn(k, torch.ones(6, 1, 8))  # guilty: scripted
    attend(q, k, v)


class Lifting(nn.Module):
    def forward(self, x: torch.Tensor):
        return x.float() * 2


def scripted_module():
    """https://github.com/Dao-AILab/flash-attention/pull/43"""
    q, k, v = heads()
    layer = torch.jit.script(Lifting())
    k = layer(k)  # guilty: scripted_module
    attend(q, k, v)


def well_grouped():
    """https://github.com/facebookresearch/sapiens2/pull/3"""
    q, k, v = heads()
    try:
        sdpa(q, k[:, :, :2], v[:, :, :2], enable_gqa=True)
    except TypeError as error:
        raise AttributeError("enable_gqa") from error


def well_repeated_heads():
    """https://github.com/saforem2/ezpz/pull/199"""
    q, k, v = heads()
    k = k[:, :, :2, None].expand(1, 6, 2, 2, 8).reshape(1, 6, 4, 8)
    sdpa(q, k, v)


def well_scalars_of_numpy():
    """https://github.com/huggingface/diffusers/pull/13432"""
    import numpy as np

    q, k, v = heads()
    attend(q * np.float64(2), k / np.sqrt(8), v + np.float32(1))


def well_nested():
    """https://github.com/pytorch/pytorch/pull/114164"""
    sdpa(*ragged())


def well_padded():
    """https://github.com/AnswerDotAI/ModernBERT/pull/40"""
    parts = [torch.randn(length, 4, 8, dtype=BF16) for length in (3, 5)]
    x = nn.utils.rnn.pad_sequence(parts, batch_first=True)
    attend(x, x, F.pad(x[:, :4], (0, 0, 0, 0, 0, 1)))


def well_switched_off():
    """https://github.com/NVIDIA-NeMo/Automodel/issues/2617"""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.MATH):
        sdpa(*heads())


def well_masked_heads():
    """https://github.com/pytorch/pytorch/issues/111276"""
    x = torch.randn(2, 6, 8)
    mask = torch.zeros(6, 6)
    with torch.autocast("cpu", dtype=BF16):
        layer = nn.MultiheadAttention(8, 2, batch_first=True)
        layer(x, x, x, need_weights=False, attn_mask=mask)


def scripted_turn_back(x: torch.Tensor, cos: torch.Tensor):
    return (x.float() * cos).type_as(x)


def well_scripted():
    """https://github.com/huggingface/pytorch-image-models/pull/2794"""
    q, k, v = heads()
    attend(q, torch.jit.script(scripted_turn_back)(k, torch.ones(6, 1, 8)), v)


def well_traced():
    """https://github.com/pytorch/pytorch/issues/119162"""
    q, k, v = heads()
    attend(q, torch.jit.trace(nn.Linear(8, 8, dtype=BF16), k)(k), v)
