"""Mutate sources and trees of sources, and follow them: bounded, and nothing raises.

    python tools/fuzz_contracts.py [COUNT] [SEED]

Every tenth is a tree of two packages that is followed; the others are lowered alone. Printed are
the count, what was no Python, and the slowest in milliseconds. Ends with a traceback, and the seed
that makes it again, where something raises that should not.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path
from random import Random
from typing import Any

from fadoctor.sources.import_names.child import _fadoctor_contracts as script
from fadoctor.sources.import_names.child._fadoctor_lower import lower

SEED = """
import os, sys
from typing import TYPE_CHECKING
from .part import *
_import_structure = {"part": ["Trainer", "Other"]}
try:
    from provider import Here
except (ImportError, AttributeError) as error:
    Here = None
def is_x_available(minimum: str = "1.0") -> bool:
    '''Text.'''
    return importlib.util.find_spec("x") is not None
if TYPE_CHECKING or is_x_available():
    import provider.sub as p
class Thing(Here, metaclass=Meta):
    x: int = [y for y in z if y]
    async def f(self, *, a=1): return (yield)
with open(f"{a}-{b!r:>{c}}") as (q, *w): del q
sys.modules[__name__] = _LazyModule(__name__, __file__, _import_structure)
"""


def mutated(random_: Random) -> bytes:
    """Return a source in which something was cut, doubled, moved or overwritten."""
    data = bytearray(SEED.encode())
    for _ in range(random_.choice([1, 1, 1, 2, 6])):
        at, size = random_.randrange(len(data)), random_.randint(1, 40)
        piece = bytes(data[at : at + size])
        kind = random_.randrange(5)
        if kind == 0:
            del data[at : at + size]
        elif kind == 1:
            data[at:at] = piece * random_.randint(1, 30)
        elif kind == 2:
            data[at : at + 1] = bytes([random_.randrange(256)])
        elif kind == 3:
            data[at:at] = random_.choice([b"(", b'"""', b"\n", b"\\", b"\t", b"'", b"\0", b"\r"])
        else:
            other = random_.randrange(len(data) or 1)
            data[other:other] = piece
        data = data or bytearray(b"x")
    return bytes(data)


def follow_tree(folder: Path, random_: Random) -> dict[str, Any]:
    """Return what is told of two packages of mutated files."""
    for name in ("asker", "provider"):
        (folder / name).mkdir(exist_ok=True)
        for part in ("__init__", "part", "sub"):
            (folder / name / f"{part}.py").write_bytes(mutated(random_))
    return script.follow(
        {
            "folders": [str(folder)], "installed": {"asker": "1", "provider": "2"},
            "table": {n: {"distribution": [n], "role": "entry"} for n in ("asker", "provider")},
            "entries": [{"module": n, "next": [f"{n}:Thing"]} for n in ("asker", "provider")],
            "python": [3, 12, 1], "system": "linux", "hooked": False, "variables": [],
            "cache": "", "keys": {}, "records": {}, "shipped": "",
        }
    )  # fmt: skip


def main(arguments: list[str]) -> int:
    """Run it."""
    count, first = int((arguments or ["100000"])[0]), int((arguments[1:] or ["0"])[0])
    refused, slowest = 0, 0.0
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(script.RECURSION)
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            random_ = Random(seed)  # noqa: S311 -- mutations are no secrets
            began = time.perf_counter()
            try:
                if seed % 10:
                    lower(mutated(random_))
                else:
                    follow_tree(Path(folder), random_)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                refused += 1
            except BaseException:
                sys.stderr.write(f"seed {seed}\n")
                raise
            slowest = max(slowest, time.perf_counter() - began)
    sys.stdout.write(f"{count} done, {refused} no Python, slowest {1000 * slowest:.0f} ms\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
