"""A script of several ranks whose layers keep a float32 scale: ddp, fsdp or fully-shard."""

# ruff: noqa: PLC0415, T201

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.trace.patient import Attention, Net

BF16 = torch.bfloat16


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
        net(torch.ones(2, 2, 4, 8, dtype=BF16 if way == "ddp" else torch.float32))
    except RuntimeError as error:
        print("refused:", str(error)[:40])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
