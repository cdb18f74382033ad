"""A script that is traced: its second layer puts a float32 scale on half queries."""

# ruff: noqa: T201 -- its output is compared

from __future__ import annotations

import os
import signal
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F  # noqa: N812 -- as everybody calls it
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable


class Scale(nn.Module):
    weight: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.ones(8))  # what a wrapper casts are parameters

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight  # the guilty line


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(8, 8)
        self.scale = Scale()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.scale(self.proj(x))
        return x + F.scaled_dot_product_attention(q, x, x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Attention() for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def step(*_args: object) -> None:
    torch.manual_seed(0)
    net = Net().to(torch.bfloat16)
    if os.environ.get("PATIENT") != "well":
        second = net.layers[1]
        assert isinstance(second, Attention)
        second.scale.float()
    try:
        out = net(torch.randn(1, 2, 4, 8, dtype=torch.bfloat16))
        print(float(out.detach().float().sum()))
    except RuntimeError as error:
        print("refused:", str(error)[:40])


def ranks() -> None:
    import torch.distributed as dist  # noqa: PLC0415

    dist.init_process_group("gloo")
    net = nn.parallel.DistributedDataParallel(Net())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        net(torch.randn(1, 2, 4, 8)).sum().backward()
    step()
    dist.destroy_process_group()


def compiled() -> None:
    @torch.compile(backend="eager", fullgraph=True)
    def attend(x: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(x, x, x) * 2

    x = torch.ones(1, 2, 3, 4)
    print(float(attend(x).sum()), float(attend(x).sum()))
    step()


class Items(torch.utils.data.Dataset[float]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, _index: int) -> float:
        step()
        return 0.0


def process(way: str) -> None:
    import multiprocessing  # noqa: PLC0415

    multiprocessing.set_start_method(way)
    child = multiprocessing.Process(target=step)
    child.start()
    child.join()


def threaded() -> None:
    thread = threading.Thread(target=step)
    thread.start()
    thread.join()


def inference() -> None:
    with torch.inference_mode():
        step()


def executed() -> None:
    os.execv(sys.executable, [sys.executable, __file__, "plain"])  # noqa: S606


WAYS: dict[str, Callable[[], object]] = {
    **{way: partial(process, way) for way in ("spawn", "fork", "forkserver")},
    "thread": threaded,
    "workers": lambda: list(torch.utils.data.DataLoader(Items(), num_workers=1)),
    "ranks": ranks,
    "exec": executed,
    "compiled": compiled,
    "inference": inference,
}


def main(way: str) -> None:
    WAYS.get(way, step)()
    if way == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "gone":
        os._exit(9)
    if way == "fails":
        F.softmax(torch.ones(1), dim=7)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "plain")
