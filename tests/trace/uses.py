"""What a program does with functions of torch besides calling them: a line of outcome for each."""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN202, ANN206, BLE001, N812, PERF203, S301, T201

from __future__ import annotations

import copy
import inspect
import io
import pickle

import torch
import torch.nn.functional as F
from torch import nn


class Holder(nn.Module):
    """A module that keeps the function itself."""

    def __init__(self) -> None:
        super().__init__()
        self.function = F.scaled_dot_product_attention

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, x, x)


X = torch.ones(1, 1, 2, 8)


def pickled(name, owner):
    function = getattr(owner, name)
    return pickle.loads(pickle.dumps(function)) is function


def saved():
    file = io.BytesIO()
    torch.save(Holder(), file)
    file.seek(0)
    return torch.load(file, weights_only=False)(X).sum().item()


def exported():
    return torch.export.export(Holder(), (X,)).module()(X).shape


def compiled():
    @torch.compile(backend="eager", fullgraph=True)
    def add(x):
        return x + torch.from_numpy(torch.ones(3).numpy())

    layer = torch.compile(nn.MultiheadAttention(8, 2), backend="eager", fullgraph=True)
    return add(torch.ones(3)).tolist(), layer(*[X[0]] * 3)[0].shape


def scripted():
    layer = torch.jit.script(nn.TransformerEncoderLayer(8, 2).eval())
    attention = torch.jit.script(nn.MultiheadAttention(8, 2))
    return layer(X[0]).shape, attention(*[X[0]] * 3)[0].shape


def described():
    """What is asked of a compiled function besides its result."""
    turn = torch.jit.script(twice)
    try:
        signature = inspect.signature(turn)
    except ValueError as error:
        signature = str(error).partition(" at 0x")[0]
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(Doubles()), file)
    file.seek(0)
    layer = copy.deepcopy(torch.jit.load(file))
    looped = torch.compile(lambda x: turn(layer(x)), backend="eager")
    return (
        turn.__name__,
        signature,
        layer.code,
        looped(X).sum().item(),
        torch.jit.trace(turn, X).code,
    )


class Own(torch.Tensor):
    """A class that keeps which functions it does itself."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in HANDLED:
            return HANDLED[func](*args)
        return super().__torch_function__(func, types, args, kwargs or {})


HANDLED = {F.scaled_dot_product_attention: lambda q, _k, _v: 3.0 * q.sum().item()}


def twice(x: torch.Tensor):
    return x.double() * 2


class Doubles(nn.Module):
    def forward(self, x: torch.Tensor):
        return twice(x)


USES = {
    "pickle of SDPA": lambda: pickled("scaled_dot_product_attention", F),
    "pickle of from_numpy": lambda: pickled("from_numpy", torch),
    "pickle of attention": lambda: pickled("multi_head_attention_forward", F),
    "copy": lambda: copy.deepcopy(F.scaled_dot_product_attention)(X, X, X).shape,
    "saved model": saved,
    "exported model": exported,
    "compiled": compiled,
    "scripted": scripted,
    "described": described,
    "traced": lambda: torch.jit.trace(nn.TransformerEncoderLayer(8, 2).eval(), X[0])(X[0]).shape,
    "symbolic": lambda: torch.fx.symbolic_trace(Holder())(X).shape,
    "taken over": lambda: F.scaled_dot_product_attention(X.as_subclass(Own), X, X),
    "functional": lambda: torch.func.functional_call(Holder(), {}, (X,)).shape,
    "forward gradient": lambda: torch.func.jvp(lambda x: x * 2.0, (X,), (X,))[1].sum().item(),
    "signature": lambda: str(inspect.signature(F.multi_head_attention_forward)),
}

if __name__ == "__main__":
    for name, use in USES.items():
        try:
            print(name, use())
        except Exception as error:
            print(name, repr(error)[:300])
