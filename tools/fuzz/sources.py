"""Sources of packages, lowered alone, or followed as a tree of two packages."""

from __future__ import annotations

import random
import sys
import warnings
from typing import TYPE_CHECKING, Any

from fadoctor.sources.import_names.child import _fadoctor_contracts as script
from fadoctor.sources.import_names.child._fadoctor_lower import lower
from tools.fuzz.mutation import mutate_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tools.fuzz.loop import Read

_TREES = 10
"""One of so many inputs is the first file of a tree."""

SOURCE = b"""
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


def contracts_corpus() -> list[bytes]:
    """Return the one source that has a bit of everything."""
    return [SOURCE]


def contracts_reader(folder: Path) -> Read:
    """Return what lowers a source, and now and then follows a tree of such."""
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(script.RECURSION)
    count = 0

    def read(data: bytes) -> bool:
        nonlocal count
        count += 1
        chance = random.Random(data)  # noqa: S311 -- mutations are no secrets
        try:
            if count % _TREES:
                lower(data)
            else:
                follow_tree(folder, lambda: mutate_text(data, chance, [SOURCE]))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False  # the process that runs this answers these in words
        return True

    return read


def follow_tree(folder: Path, source: Callable[[], bytes]) -> dict[str, Any]:
    """Return what is told of two packages of such files."""
    for name in ("asker", "provider"):
        (folder / name).mkdir(exist_ok=True)
        for part in ("__init__", "part", "sub"):
            (folder / name / f"{part}.py").write_bytes(source())
    return script.follow(
        {
            "folders": [str(folder)], "installed": {"asker": "1", "provider": "2"},
            "table": {n: {"distribution": [n], "role": "entry"} for n in ("asker", "provider")},
            "entries": [{"module": n, "next": [f"{n}:Thing"]} for n in ("asker", "provider")],
            "python": [3, 12, 1], "system": "linux", "hooked": False, "variables": [],
            "cache": "", "keys": {}, "records": {}, "shipped": "",
        }
    )  # fmt: skip
