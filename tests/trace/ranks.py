"""A script of several ranks whose layers keep a float32 buffer: ddp, fsdp or fully-shard."""

# ruff: noqa: PLC0415, T201

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812 -- as everybody calls it
from torch import nn

BF16 = torch.bfloat16


class Attention(nn.Module):
    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Linear(8, 8)
        self.k = nn.Linear(8, 8)
        self.register_buffer("scale", torch.ones(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k = self.q(x), self.k(x)
        k = k * self.scale  # the guilty line
        out: torch.Tensor = F.scaled_dot_product_attention(q[:, None], k[:, None], q[:, None])
        return out[:, 0]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention() for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def wrapped(net: nn.Module, way: str) -> nn.Module:
    if way == "ddp":
        for parameter in net.parameters():
            parameter.data = parameter.data.to(BF16)
        return nn.parallel.DistributedDataParallel(net)
    from torch.distributed import fsdp

    if way == "fully-shard":
        policy = fsdp.MixedPrecisionPolicy(param_dtype=BF16)
        for layer in net.layers:  # type: ignore[union-attr]
            fsdp.fully_shard(layer, mp_policy=policy)
        fsdp.fully_shard(net, mp_policy=policy)
        return net
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    mixed = fsdp.MixedPrecision(param_dtype=BF16, buffer_dtype=torch.float32)
    return fsdp.FullyShardedDataParallel(
        net, auto_wrap_policy=ModuleWrapPolicy({Attention}), mixed_precision=mixed,
        device_id=torch.device("cpu"),
    )  # fmt: skip


def main() -> None:
    way = sys.argv[1]
    dist.init_process_group("gloo")
    net = wrapped(Net(), way)
    try:
        net(torch.ones(2, 4, 8, dtype=BF16 if way == "ddp" else torch.float32))
    except RuntimeError as error:
        print("refused:", str(error)[:40])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
