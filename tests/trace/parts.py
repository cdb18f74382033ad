"""Parts of small models; the guilty line of each says ``# guilty: <scenario>``."""

# mypy: disable-error-code="no-any-return,untyped-decorator,no-untyped-call,no-untyped-def"
# ruff: noqa: ANN201, ARG004, RET504

from __future__ import annotations

import torch
from torch import nn


class Norm(nn.Module):
    """RMS norm whose weight is put on the result after it was cast back."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        y = y.to(x.dtype)
        out = self.weight * y  # guilty: norm-weight
        return out


class ForgetfulNorm(nn.Module):
    """RMS norm that never casts back."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.float()  # guilty: norm-forgets
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y


class Rotary(nn.Module):
    inv_freq: torch.Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("inv_freq", 1.0 / 100 ** (torch.arange(0, size, 2).float() / size))

    def forward(self, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        angles = torch.outer(torch.arange(length).float(), self.inv_freq.float())
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()


def half_turn(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return x * cos + half_turn(x) * sin  # guilty: rotary


def rotate_back(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return (x.float() * cos + half_turn(x.float()) * sin).type_as(x)


class Lift(nn.Module):
    """Calls itself otherwise than most do."""

    def forward(this, x: torch.Tensor) -> torch.Tensor:  # noqa: N805
        return x.float()  # guilty: other-self


class Adapter(nn.Module):
    """A low-rank adapter in float32 on a half projection."""

    def __init__(self, base: nn.Linear, *, back: bool) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, 4, bias=False)
        self.up = nn.Linear(4, base.out_features, bias=False)
        self.back = back

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result = self.base(x)
        delta = self.up(self.down(x.float()))
        if self.back:
            return result + delta.to(result.dtype)
        return result + delta  # guilty: adapter


class Magnitude(nn.Module):
    """Weight decomposition: a magnitude of float32 times a half projection."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.magnitude = nn.Parameter(base.weight.float().norm(dim=1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        norm = self.base.weight.norm(dim=1).detach()
        factor = (self.magnitude / norm).view(1, -1)
        result = self.base(x)
        result = (factor - 1) * result + result  # guilty: magnitude
        return result


class Restoring(nn.Module):
    """Computes in half and gives back the dtype that it was given, as quantized layers do."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        given = x.dtype
        return self.base(x.to(self.base.weight.dtype)).to(given)


def custom_fwd():
    """Return torch's decorator for library code, where it is not CUDA's alone."""
    if not hasattr(torch.amp, "custom_fwd"):
        return lambda function: function
    return torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)


class Wide(torch.autograd.Function):
    """Library code that asks for float32 under autocast."""

    @staticmethod
    @custom_fwd()
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2
