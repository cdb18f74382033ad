"""Feed mutated files to a reader of binaries: nothing but its one error may come out, in bounds.

Usage: python -m tools.fuzz_binaries MODULE:FUNCTION FOLDER [--runs N] [--seed N] [--unguided]

The files of FOLDER are the first inputs. An input that reaches lines of the reader that none before
it reached joins them. The function takes a path.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fadoctor.binary.errors import BadBinaryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

NUMBERS = (0, 1, 2, 7, 8, 15, 16, 63, 64, 255, 0x7FFF, 0xFFFF, 1 << 31, (1 << 32) - 1, 1 << 62,
           (1 << 63) - 1, 1 << 63, (1 << 64) - 1)  # fmt: skip
"""Sizes, counts and offsets at which arithmetic goes wrong."""
LONGEST = 1 << 16
_PACKAGE = str(Path("fadoctor", "binary"))


class Report(NamedTuple):
    """What came of many inputs."""

    runs: int
    read: int
    """Inputs that were read; the others were refused with BadBinaryError."""
    inputs: int
    """Inputs that reached something new, the first ones among them."""
    slowest_s: float


def fuzz(
    read: Callable[[Path], object],
    corpus: Sequence[bytes],
    runs: int,
    *,
    seed: int = 0,
    guided: bool = True,
) -> Report:
    """Read mutations of the corpus; an exception that is no BadBinaryError passes through."""
    chance = random.Random(seed)  # noqa: S311 -- for repetition, not for secrets
    pool, seen = list(corpus), set[tuple[str, int]]()
    accepted, slowest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "input")
        for number in range(-len(corpus), runs):
            data = corpus[number] if number < 0 else mutate(chance.choice(pool), chance, pool)
            file.write_bytes(data)
            lines = set[tuple[str, int]]()
            started = time.perf_counter()
            accepted += attempt(read, file, lines if guided else None)
            slowest = max(slowest, time.perf_counter() - started)
            if not lines <= seen:
                seen |= lines
                pool.append(data)
    return Report(runs + len(corpus), accepted, len(pool), slowest)


def attempt(read: Callable[[Path], object], file: Path, lines: set[tuple[str, int]] | None) -> bool:
    """Return whether a file is read; gather the lines of readers that run."""

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        name = frame.f_code.co_filename
        if _PACKAGE not in name:
            return None
        if event == "line" and lines is not None:
            lines.add((name, frame.f_lineno))
        return trace

    before = sys.gettrace()
    if lines is not None:
        sys.settrace(trace)
    try:
        read(file)
    except BadBinaryError:
        return False
    finally:
        sys.settrace(before)
    return True


def mutate(data: bytes, chance: random.Random, pool: Sequence[bytes]) -> bytes:
    """Return data after one to four random changes."""
    changed = bytearray(data or b"\0")
    for _ in range(chance.randint(1, 4)):
        at = place(changed, chance)
        match chance.randrange(8):
            case 0 | 1:
                changed[at] ^= 1 << chance.randrange(8)
            case 2 | 3 | 4:
                width = chance.choice((2, 4, 8))
                number = chance.choice(NUMBERS) + chance.choice((0, 0, -1, 1, 8))
                at -= at % width
                changed[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, "little")
            case 5:
                del changed[at:]
            case 6:
                size = chance.randrange(1, 257)
                source = chance.choice(pool)
                start = chance.randrange(len(source) or 1)
                changed[at : at + size] = source[start : start + size]
            case _:
                size = chance.randrange(1, 65)
                changed[at:at] = changed[at : at + size]
        changed = changed[:LONGEST] or bytearray(b"\0")
    return bytes(changed)


def place(data: bytearray, chance: random.Random) -> int:
    """Return where to change something: mostly where something stands."""
    at = chance.randrange(len(data))
    for _ in range(8):
        if data[at]:
            break
        at = chance.randrange(len(data))
    return at


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer and print its report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("reader", help="MODULE:FUNCTION")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unguided", action="store_true")
    options = parser.parse_args(arguments)
    module, _, function = options.reader.partition(":")
    read = getattr(importlib.import_module(module), function)
    corpus = [path.read_bytes() for path in sorted(options.corpus.iterdir()) if path.is_file()]
    found = fuzz(read, corpus, options.runs, seed=options.seed, guided=not options.unguided)
    sys.stdout.write(
        f"{found.runs} inputs: {found.read} read, {found.runs - found.read} refused, "
        f"{found.inputs} kept; slowest {found.slowest_s * 1000:.1f} ms\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
