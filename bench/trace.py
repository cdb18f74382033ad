"""Time what tracing costs: idle, while it records, for one operation, and at the start of Python.

Usage: python bench/trace.py [--rounds N] [--steps N]

Rounds are interleaved in one process: bare, under an empty function mode of torch's own (what no
tracer can go below), idle (patched, its calls used up) and recording, in turn.
Ratios are medians of each round's own ratio of processor time. Needs torch.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 -- as everybody calls it
from torch import nn
from torch.overrides import TorchFunctionMode

from fadoctor import api
from fadoctor.knowledge.matrix.load import load_knowledge
from fadoctor.proof.trace.parent import traced_environment
from fadoctor.proof.trace.settings import TraceSettings, config_of, write_config

if TYPE_CHECKING:
    from collections.abc import Callable

ALL = 1 << 30


class Layer(nn.Module):
    """Attention and a feed-forward part, with norms in float32 as models have them."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.Parameter(torch.ones(size))
        self.qkv = nn.Linear(size, 3 * size)
        self.out = nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def rms(self, x: torch.Tensor) -> torch.Tensor:
        """Norm in float32, cast back."""
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        out: torch.Tensor = self.norm * y.to(x.dtype)
        return out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer's output."""
        b, t, d = x.shape
        q, k, v = self.qkv(self.rms(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        out: torch.Tensor = x + self.down(F.gelu(self.up(self.rms(x))))
        return out


def step_of(size: int, layers: int, length: int) -> Callable[[], None]:
    """Return one step, forward and backward, in bfloat16."""
    net = nn.Sequential(*(Layer(size, 8) for _ in range(layers))).to(torch.bfloat16)
    x = torch.randn(1, length, size, dtype=torch.bfloat16)

    def step() -> None:
        net(x).float().sum().backward()

    return step


def generation_of(size: int, layers: int, tokens: int) -> Callable[[], None]:
    """Return the generation of tokens by a tiny model in bfloat16: all of it is Python's time."""
    net = nn.Sequential(*(Layer(size, 4) for _ in range(layers))).to(torch.bfloat16)

    @torch.no_grad()
    def generate() -> None:
        x = torch.randn(1, 8, size, dtype=torch.bfloat16)
        for _ in range(tokens):
            last = net(x)[:, -1:].float()
            chosen = torch.softmax(last / 0.8, -1).topk(4).values.to(x.dtype)
            x = torch.cat((x, last.to(x.dtype) * chosen.mean()), 1)

    return generate


class Empty(TorchFunctionMode):
    """A mode that does nothing but run what it is told of."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation."""
        return func(*args, **(kwargs or {}))


def timed(step: Callable[[], None], steps: int) -> float:
    """Return seconds of processor time of one step: others may use the machine."""
    started = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - started) / steps


def compare(name: str, step: Callable[[], None], rounds: int, steps: int) -> None:
    """Print bare time and the ratios of idle and recording."""
    step()
    idle, recording, empty = [], [], []
    bare_ms = []
    for _ in range(rounds):
        bare = timed(step, steps)
        with Empty():
            empty.append(timed(step, steps) / bare)
        with api.trace(calls=1):
            step()  # uses the one call up
            idle.append(timed(step, steps) / bare)
        with api.trace(calls=ALL):
            step()
            recording.append(timed(step, steps) / bare)
        bare_ms.append(bare * 1e3)
    print(
        f"{name}: {statistics.median(bare_ms):.1f} ms bare, "
        f"an empty mode x{statistics.median(empty):.3f}, "
        f"idle x{statistics.median(idle):.3f}, recording x{statistics.median(recording):.3f} "
        f"({rounds} rounds)"
    )


def operation(count: int = 2000) -> None:
    """Print what recording adds to one operation, of a half and of a wide result."""
    half, wide = torch.ones(8, dtype=torch.bfloat16), torch.ones(8)
    for name, run in {
        "half": lambda: half * half,
        "cast": half.float,
        "promotion": lambda: half * wide,
        "wide": lambda: wide * wide,
    }.items():
        added = []
        for _ in range(7):
            bare = timed(run, count)  # type: ignore[arg-type]
            with api.trace(calls=ALL):
                added.append(timed(run, count) - bare)  # type: ignore[arg-type]
        print(f"one operation, {name}: {statistics.median(added) * 1e6:.1f} us more")


def start(rounds: int) -> None:
    """Print how much later `python -c pass` ends when it is entered."""
    argv = [sys.executable, "-c", "pass"]
    with tempfile.TemporaryDirectory() as folder:
        write_config(config_of(TraceSettings(), load_knowledge()), Path(folder))
        entered = traced_environment(Path(folder), os.environ, eager=False)
        more = []
        for _ in range(rounds):
            times = []
            for env in (dict(os.environ), entered):
                began = time.perf_counter()
                subprocess.run(argv, check=True, env=env)
                times.append(time.perf_counter() - began)
            more.append(times[1] - times[0])
    print(f"python -c pass: {statistics.median(more) * 1e3:.1f} ms more ({rounds} rounds)")


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    operation()
    start(options.rounds)
    compare("small model", step_of(64, 2, 32), options.rounds, 10 * options.steps)
    compare("generation by a toy", generation_of(64, 2, 20), options.rounds, 1)
    compare("hidden 512, 8 layers, 256", step_of(512, 8, 256), max(options.rounds // 6, 5), 1)


if __name__ == "__main__":
    main()
