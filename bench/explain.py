"""Measure how a log is read: its speed, and the memory and processor time of whole commands.

Usage: python bench/explain.py [--megabytes 200] [--repeat 3]

The log comes from a fixed seed; at most one line in a hundred holds a failure. It is made piece by
piece. Prints MB a second of processor time (the best of the repetitions), the ratio to a plain
read, which tells more on a busy machine, and the time of the report on what was read.

Then come whole commands, each in a process of its own and as installers leave it (compiled modules,
no sources of rules): `fadoctor explain -` with a report of 30 lines, a log of 1,000 lines, and two
sizes of the long log on its standard input. For each: the most memory that the process had at once
(resident, as the system counts it, shared libraries too), what of that is above an interpreter that
does nothing, and all of its processor time. The first bench read the log,
made no report, and had 37 MiB (39 MB) of a whole process: that is what "40 MB" says.

Logs of 1,000 lines of five kinds are explained in this process, too: what the first one costs, and
what one costs when all patterns are compiled.
"""

from __future__ import annotations

import argparse
import io
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.logs import kinds
from bench.startup import environ, install
from fadoctor.judging.explain.explain import explain, read_log
from fadoctor.knowledge.matrix.load import load_knowledge

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.rule import Knowledge

SEED = 20261121
PIECE = 1 << 20
MB = 1.048576
"""Of each, so many are a MiB."""

PIECES = 16
"""Different pieces that a log is made of, again and again."""

WANTED_MS, WANTED_MB = 300, 40
"""Most processor time for a log of 1,000 lines with the start, and most memory of its process."""

FAILING = 0.009
"""Part of the lines that hold a failure."""

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

LISTED = (
    "I installed it three times, and it still fails. Ubuntu 22.04.",
    "$ pip list | grep -iE 'torch|flash|transformers'",
    "flash-attn               2.7.4.post1",
    "torch                    2.6.0+cu124",
    "transformers             4.49.0",
    "$ nvidia-smi --query-gpu=name,driver_version --format=csv",
    "name, driver_version",
    "NVIDIA A100-SXM4-80GB, 550.54.15",
    "$ python --version",
    "Python 3.11.9",
    "$ python train.py --attn_implementation flash_attention_2",
)
_UNDEFINED = (
    "undefined symbol: "
    "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
)
_PACKAGES = "/opt/venv/lib/python3.11/site-packages"
TRACEBACK = (
    "Traceback (most recent call last):",
    *(
        line
        for number in range(8)
        for line in (
            f'  File "{_PACKAGES}/transformers/part_{number}.py", line {number + 7}, in <module>',
            f"    from .part_{number + 1} import anything",
        )
    ),
    f'  File "{_PACKAGES}/flash_attn/flash_attn_interface.py", line 15, in <module>',
    "    import flash_attn_2_cuda as flash_attn_gpu",
    f"ImportError: {_PACKAGES}/flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so: {_UNDEFINED}",
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
    if source.random() < FAILING:
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


def _read_and_explained(text: str, knowledge: Knowledge) -> float:
    started = time.process_time()
    explain(read_log(io.BytesIO(text.encode()), "generated", knowledge), knowledge)
    return time.process_time() - started


def _reported(pieces: list[bytes], size: int, knowledge: Knowledge) -> float:
    reading = read_log(GeneratedLog(pieces, size), "generated", knowledge)
    started = time.process_time()
    explain(reading, knowledge)
    return time.process_time() - started


class Used(NamedTuple):
    """What a whole process used."""

    mib: float
    """The most memory that it had at once."""
    ms: float
    """Its processor time."""


_COUNTED = """
import atexit, resource, sys, time
def told():
    ms = time.process_time() * 1000
    try:  # getrusage counts what the parent had, too
        with open("/proc/self/status") as stream:
            kib = next(int(line.split()[1]) for line in stream if line.startswith("VmHWM"))
    except OSError:
        kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.stderr.write(f"used {kib / 1024} {ms}")
atexit.register(told)
"""
"""A program that says last what it used."""

_NOTHING = "pass"
_LOADED = """
import fadoctor.interfaces.cli.app, fadoctor.judging.explain.explain
from fadoctor.knowledge.matrix.load import load_knowledge
load_knowledge()
"""
_COMMAND = """
from fadoctor.__main__ import main
sys.argv = ["fadoctor", "explain", "-", "--exit-zero"]
main()
"""


def used(program: str, folder: Path, log: Iterable[bytes] = ()) -> Used:
    """Return what a program used that read a log from its standard input."""
    argv = [sys.executable, "-c", _COUNTED + program]
    with tempfile.TemporaryFile() as text, tempfile.TemporaryFile() as said:
        text.writelines(log)
        text.seek(0)
        process = subprocess.run(argv, stdin=text, stdout=subprocess.DEVNULL, stderr=said,
                                 cwd=folder, env=environ(folder), check=False)  # fmt: skip
        said.seek(0)
        words = said.read().decode().rpartition("used ")[2].split()
    if process.returncode or len(words) != len(Used._fields):
        sys.exit(f"{program} failed: {' '.join(words)}")
    return Used(*map(float, words))


def _streamed(pieces: list[bytes], size: int) -> Iterable[bytes]:
    log = GeneratedLog(pieces, size)
    while piece := log.read(PIECE):
        yield piece


def _show_commands(pieces: list[bytes], megabytes: int) -> None:
    size = megabytes * 1_000_000
    start = pieces[0].split(b"\n", 1_000)[: 1_000 - len(TRACEBACK)]
    short = "\n".join((*LISTED, *TRACEBACK)).encode()
    long = b"\n".join((*start, *(line.encode() for line in TRACEBACK)))
    programs: dict[str, tuple[str, Iterable[bytes]]] = {
        "modules and knowledge": (_LOADED, ()),
        f"report of {len(short.splitlines())} lines": (_COMMAND, (short,)),
        f"log of {len(long.splitlines()):,} lines": (_COMMAND, (long,)),
        **{
            f"{kind}, {text.count(chr(10)) + 1:,} lines": (_COMMAND, (text.encode(),))
            for kind, text in kinds().items()
        },
        f"log of {megabytes // 4} MB": (_COMMAND, _streamed(pieces, size // 4)),
        f"log of {megabytes} MB": (_COMMAND, _streamed(pieces, size)),
    }
    with tempfile.TemporaryDirectory(prefix="fadoctor-") as name:
        install(Path(name))
        used(_COMMAND, Path(name), (short,))  # what is read from the disk is then at hand
        bare = used(_NOTHING, Path(name))
        print(f"whole process, python that does nothing: {bare.mib:.0f} MiB, {bare.ms:.0f} ms")
        for what, (program, log) in programs.items():
            one = used(program, Path(name), log)
            above = one.mib - bare.mib
            print(f"whole process, {what}: peak {one.mib:.0f} MiB ({one.mib * MB:.0f} MB), "
                  f"above that {above:.0f} MiB ({above * MB:.0f} MB); {one.ms:.0f} ms")  # fmt: skip
            if "lines" in what:
                is_met = one.ms <= WANTED_MS and one.mib * MB <= WANTED_MB
                said = "met" if is_met else "missed"
                print(f"  wanted: at most {WANTED_MS} ms and {WANTED_MB} MB: {said}")


def main() -> None:
    """Print the figures."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--megabytes", type=int, default=200)
    arguments.add_argument("--repeat", type=int, default=3)
    options = arguments.parse_args()
    knowledge = load_knowledge()
    size = options.megabytes * 1_000_000
    pieces = generated_pieces()
    explained = min(_explained(pieces, size, knowledge) for _ in range(options.repeat))
    plain = min(_plain(pieces, size) for _ in range(options.repeat))
    print(f"explain: {options.megabytes / explained:.0f} MB/s; plain read and count of lines: "
          f"{options.megabytes / plain:.0f} MB/s; ratio {explained / plain:.1f}")  # fmt: skip
    report = min(_reported(pieces, size // 4, knowledge) for _ in range(options.repeat))
    print(f"report on it, with the facts of the log: {report * 1000:.0f} ms")
    for kind, text in kinds().items():
        first = _read_and_explained(text, knowledge)
        again = min(_read_and_explained(text, knowledge) for _ in range(options.repeat))
        print(f"{kind}, {text.count(chr(10)) + 1:,} lines, in this process: first "
              f"{first * 1000:.0f} ms, then {again * 1000:.0f} ms")  # fmt: skip
    _show_commands(pieces, options.megabytes)


if __name__ == "__main__":
    main()
