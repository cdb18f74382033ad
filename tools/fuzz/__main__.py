"""Feed mutated inputs to every reader of hostile data.

    python -m tools.fuzz --target elf --count 100000
    python -m tools.fuzz --seconds 10           all targets, and so long in all

An input that is read or refused in words is right. One that ends in another exception, takes more
than 2 s of processor time, or lets the process grow by more than 512 MiB, ends the run with code 1
and is left in a file; ``--first NUMBER --count 1`` makes it again where the run is not guided.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tools.fuzz.loop import FailedError, How, fuzz
from tools.fuzz.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEP = 200
"""Inputs between two looks at the clock."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer and print a line for each target."""
    options = _parser().parse_args(arguments)
    names = options.target or list(TARGETS)
    until = time.monotonic() + options.seconds if options.seconds else None
    for left, name in zip(range(len(names), 0, -1), names, strict=True):
        share = until and time.monotonic() + max(until - time.monotonic(), 0) / left
        try:
            _run(name, options, share)
        except FailedError as error:
            file = Path(tempfile.gettempdir(), f"fuzz-{name}.input")
            file.write_bytes(error.data)
            sys.stderr.write(f"{name}: {error}\n{len(error.data)} bytes in {file}\n")
            return 1
    return 0


def _run(name: str, options: argparse.Namespace, until: float | None) -> None:
    """Run one target, to its count or until a time."""
    target = TARGETS[name]
    corpus = [path.read_bytes() for path in options.corpus] or target.corpus()
    how = How(options.seed, options.first, options.guided, target.mutate)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        read = target.reader(Path(folder))
        if until is None:
            _say(name, str(fuzz(read, corpus, options.count, how)))
            return
        done, slowest = 0, 0.0
        while not done or time.monotonic() < until:
            found = fuzz(read, corpus, _STEP, how._replace(first=options.first + done))
            done, slowest = done + _STEP, max(slowest, found.slowest_s)
    _say(name, f"{done} inputs; slowest {slowest * 1000:.1f} ms")


def _say(name: str, text: str) -> None:
    sys.stdout.write(f"{name}: {text}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--target", action="append", choices=list(TARGETS), help="all without it")
    parser.add_argument("--count", type=int, default=10_000, help="mutations of each target")
    parser.add_argument("--seconds", type=float, help="instead of a count: for all targets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutation")
    parser.add_argument("--corpus", type=Path, nargs="+", default=[], help="files to begin with")
    parser.add_argument("--guided", action="store_true", help="keep what reaches new lines")
    return parser


if __name__ == "__main__":
    sys.exit(main())
