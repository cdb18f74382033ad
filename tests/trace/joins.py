"""What is wide by itself and put to something half; guilty lines say ``# guilty: NAME``.

A scenario is a function. Those whose name begins with ``well_`` have no fault.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN002, ANN003, ANN201, ANN202, ANN204

from __future__ import annotations

import torch
from torch import nn

from tests.trace.calls import BF16, F32, attend
from tests.trace.kinds import Following, hidden, three

# --- a branch that computes in float32, as it is told to by name


class ByMatmul(nn.Module):
    """An adapter of bare parameters."""

    def __init__(self, *, back=False):
        super().__init__()
        self.base, self.back = nn.Linear(32, 32, dtype=BF16), back
        self.down, self.up = nn.Parameter(torch.ones(2, 32)), nn.Parameter(torch.ones(32, 2))

    def forward(self, x):
        low = x.float() @ self.down.T @ self.up.T
        if self.back:
            low = low.to(BF16)
        return self.base(x) + low * 0.5  # guilty: branch_by_matmul


class Branched(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.q, self.kv = ByMatmul(**options), nn.Linear(32, 64, dtype=BF16)

    def forward(self, x):
        k, v = self.kv(x).view(1, 6, 2, 4, 8).unbind(2)
        return attend(self.q(x).view(1, 6, 4, 8), k, v)


def branch_by_matmul():
    Branched()(hidden())


def well_branch_given_back():
    Branched(back=True)(hidden())


class Side(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(32, 32, dtype=BF16)
        self.down, self.up = nn.Linear(32, 2), nn.Linear(2, 32)

    def forward(self, x):
        low = self.up(self.down(x.float()))
        return self.base(x) + low  # guilty: branch_compiled


def branch_compiled():
    k, v = (torch.randn(1, 6, 4, 8, dtype=BF16) for _ in range(2))
    attend(torch.compile(Side(), backend="eager")(hidden()).view(1, 6, 4, 8), k, v)


def stem_with_half_positions():
    """Not a branch: only a parameter in half precision is added to the wide stream."""
    stem, positions = nn.Linear(32, 32), nn.Parameter(torch.zeros(6, 32, dtype=BF16))
    x = stem(hidden().float())  # guilty: stem_with_half_positions
    attend(*three(Following(32, 96)(x + positions)))


# --- keys and values from the start, beside a half query


def prefix_joined():
    """A learned prefix, computed by a module in float32."""
    prefix = nn.Sequential(nn.Embedding(3, 8), nn.Tanh(), nn.Linear(8, 64))
    q, k, v = three(nn.Linear(32, 96, dtype=BF16)(hidden()))
    first, second = prefix(torch.arange(3)[None]).view(1, 3, 2, 4, 8).unbind(2)
    k = torch.cat([first, k], 1)  # guilty: prefix_joined
    v = torch.cat([second, v], 1)  # guilty: prefix_joined
    attend(q, k, v)


def positions_of_an_embedding():
    """All three are wide: the stream is, from the embedding on."""
    tokens, positions = nn.Embedding(8, 32), nn.Embedding(8, 32, dtype=BF16)
    at = torch.arange(6)[None]
    x = tokens(at)  # guilty: positions_of_an_embedding
    attend(*three(Following(32, 96)(x + positions(at))))


# --- weights that are wide for one call


def lent_wide(module, dtype=F32):
    """Cast a module and what it is given, as some servers of images do at each call."""
    inner = module.forward

    def forward(*args):
        kept = next(module.parameters()).dtype
        module.to(dtype)
        given = [each.to(dtype) for each in args]  # guilty: weights_lent
        result = inner(*given)
        module.to(kept)
        return result

    module.forward = forward
    return module


def weights_lent():
    attend(*three(lent_wide(nn.Linear(32, 96, dtype=BF16))(hidden())))


def well_weights_lent():
    attend(*three(lent_wide(nn.Linear(32, 96, dtype=F32), BF16)(hidden(F32))))


# --- a part of an argument


class Modulated(nn.Module):
    def forward(self, x, embedding):
        shift, factor = embedding[:, None, None].chunk(2, -1)
        return x * (1 + factor) + shift  # guilty: part_of_an_argument


def part_of_an_argument():
    q, k, v = (torch.randn(1, 6, 4, 8, dtype=BF16) for _ in range(3))
    attend(Modulated()(q, nn.Linear(2, 16)(torch.ones(1, 2))), k, v)
