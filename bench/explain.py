"""Measure how fast a long log is read: a generated one, beside a plain read of the same bytes.

Usage: python bench/explain.py [--megabytes 200] [--repeat 3]

The log comes from a fixed seed; at most one line in a hundred holds an anchor of a symptom. It is
made piece by piece, so that the memory that is shown is the reader's own. Prints MB a second of
processor time (the best of the repetitions), the ratio to a plain read, which tells more on a busy
machine, then the time of the report on what was read, and the peak of memory for two sizes.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fadoctor.judging.engine.symptoms import Matcher
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.knowledge.matrix.load import load_knowledge

if TYPE_CHECKING:
    from fadoctor.model.rule import Knowledge

SEED = 20261121
PIECE = 1 << 20
PIECES = 16
"""Different pieces that a log is made of, again and again."""

ANCHORED = 0.009
"""Part of the lines that hold an anchor."""

_WORDS = (
    "step", "loss", "epoch", "grad_norm", "learning_rate", "train", "eval", "samples", "tokens",
    "per", "second", "saving", "checkpoint", "shard", "loaded", "model", "layers", "hidden",
    "heads", "rank", "world", "size", "device", "memory", "allocated", "reserved", "worker",
    "dataset", "batch", "cache", "config", "scheduler", "warmup", "optimizer", "state", "bf16",
    "gradient", "accumulation", "trainer", "transformers", "accelerate", "deepspeed", "offload",
)  # fmt: skip
_FAILURES = (
    "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "ImportError: /opt/venv/lib/flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEa",
    "RuntimeError: query and key must have the same dtype",
    "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
    "ModuleNotFoundError: No module named 'triton'",
    "ValueError: Unknown attention backend: 'FLASHINFERR'",
)


def generated_pieces() -> list[bytes]:
    """Return what generated logs are made of, the same for the same seed."""
    source = random.Random(SEED)  # noqa: S311 -- a bench, no secret
    return [_piece(source) for _ in range(PIECES)]


class GeneratedLog:
    """A log of any size as a binary stream."""

    def __init__(self, pieces: list[bytes], size: int) -> None:
        self._pieces = pieces
        self._left = size
        self._next = 0

    def read(self, size: int, /) -> bytes:
        """Return the next piece, whole: shorter than what was asked for where it ends."""
        if self._left <= 0:
            return b""
        piece = self._pieces[self._next % PIECES][: min(size, self._left)]
        self._next += 1
        self._left -= len(piece)
        return piece


def _piece(source: random.Random) -> bytes:
    lines, size = [], 0
    while size < PIECE:
        line = _line(source)
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines).encode()[: PIECE - 1] + b"\n"


def _line(source: random.Random) -> str:
    stamp = (
        f"2026-11-21 10:{source.randrange(60):02}:{source.randrange(60):02},{source.random():.6f}"
    )
    if source.random() < ANCHORED:
        return f"{stamp} {source.choice(_FAILURES)} ({source.getrandbits(64):x})"
    words = " ".join(source.choices(_WORDS, k=source.randrange(5, 16)))
    return f"{stamp} INFO {words} {source.random():.5f}"


def _plain(pieces: list[bytes], size: int) -> float:
    log, started = GeneratedLog(pieces, size), time.process_time()
    lines = 0
    while block := log.read(PIECE):
        lines += block.count(b"\n")
    return time.process_time() - started


def _explained(pieces: list[bytes], size: int, knowledge: Knowledge) -> float:
    log, started = GeneratedLog(pieces, size), time.process_time()
    read_log(log, "generated", knowledge)
    return time.process_time() - started


def _reported(pieces: list[bytes], size: int, knowledge: Knowledge) -> float:
    reading = read_log(GeneratedLog(pieces, size), "generated", knowledge)
    started = time.process_time()
    explain(reading, knowledge)
    return time.process_time() - started


def _peak_mib() -> float:
    """Return the peak without the pieces that the log is made of."""
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - PIECES * PIECE) / (1 << 20)


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--megabytes", type=int, default=200)
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    knowledge = load_knowledge()
    size = options.megabytes * 1_000_000
    anchors = Matcher(knowledge).anchors()
    pieces = generated_pieces()
    sample = pieces[0].split(b"\n")
    anchored = sum(any(anchor in line for anchor in anchors) for line in sample) / len(sample)
    _explained(pieces, size // 4, knowledge)
    small = _peak_mib()
    explained = min(_explained(pieces, size, knowledge) for _ in range(options.repeat))
    plain = min(_plain(pieces, size) for _ in range(options.repeat))
    print(f"lines with an anchor: {anchored:.2%}")
    print(f"explain: {options.megabytes / explained:.0f} MB/s; plain read and count of lines: "
          f"{options.megabytes / plain:.0f} MB/s; ratio {explained / plain:.1f}")  # fmt: skip
    report = min(_reported(pieces, size // 4, knowledge) for _ in range(options.repeat))
    print(f"report on it, with the facts of the log: {report * 1000:.0f} ms")
    print(f"peak memory: {small:.0f} MiB for a quarter, {_peak_mib():.0f} MiB for all of it")


if __name__ == "__main__":
    main()
