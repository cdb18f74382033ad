"""Time the checks of native extensions, beside `import torch` and cuobjdump.

Usage: python bench/binaries.py [--python TARGET_PYTHON] [--extension FILE]... [--cuobjdump PATH]

Each row is a process of its own, the quickest of N; cold ones read from the disk, as far as the
system drops their pages when it is asked to. Memory is the peak of a process that makes all checks.
An extension defaults to one of torch's own. Run it with .pyc files present.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402 -- the checkout that this file stands in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

EXTENSION_BAR_MS, WARM_BAR_MS, COLD_BAR_MS = 25.0, 400.0, 1000.0
MEMORY_BAR_MIB = 100.0

_DESCRIBE = """
import importlib.util, json, sys
torch = importlib.util.find_spec("torch")
print(json.dumps([sys.executable, torch.submodule_search_locations[0],
                  [path for path in sys.path if path]]))
"""
# What `check` does for extensions, modules included; with "torch", all that --thorough reads too.
# With "one", what an extension costs on top of torch's own, which check reads in any case.
_CHECK = """
import json, sys, time
from pathlib import Path
import msgspec
started = time.perf_counter()
from fadoctor.binary.coverage import summarise
from fadoctor.binary.fatbin import read_fatbins
from fadoctor.binary.predict import Predictor
from fadoctor.binary.interpreter_process import LoaderTarget
executable, torch, path = json.loads(sys.argv[1])
extensions = sys.argv[3:]
with Predictor(LoaderTarget(executable, torch, tuple(path))) as predictor:
    if sys.argv[2] == "one":
        predictor.predict(str(next(Path(torch).glob("_C.*.so"))))
        started = time.perf_counter()
    for extension in extensions:
        predictor.predict(extension)
    if sys.argv[2] == "torch":
        predictor.check_torch()
code = Path(torch, "lib", "libtorch_cuda.so")
for file in [*extensions, *([code] if sys.argv[2] == "torch" and code.is_file() else [])]:
    summarise(read_fatbins(file))
print(time.perf_counter() - started)
"""
# The peak of a child's memory, in KiB
_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


class Row(NamedTuple):
    """One line of the table."""

    name: str
    measure: Callable[[], float]
    bar_ms: float = 0.0
    """What is wanted; 0 for what is only shown beside."""


def wall(argv: list[str]) -> float:
    """Return the wall time of a process in s; one that fails ends the benchmark."""
    started = time.perf_counter()
    subprocess.run(argv, check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - started


def told(argv: list[str]) -> float:
    """Return the time that a process prints."""
    return float(subprocess.run(argv, check=True, capture_output=True, cwd=ROOT).stdout)


def forget(files: Iterable[Path]) -> None:
    """Ask the system to drop the pages of some files."""
    for path in files:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def rows(described: str, extensions: list[str], python: str, cuobjdump: str) -> list[Row]:
    """Return what is measured. A row more is a line more."""
    check = [sys.executable, "-c", _CHECK, described]
    lib = Path(json.loads(described)[1]) / "lib"
    files = [*lib.glob("*.so*"), *map(Path, extensions)]

    def cold() -> float:
        forget(files)
        return told([*check, "torch", *extensions])

    found = [
        Row("import torch", lambda: wall([python, "-c", "import torch"])),
        Row("one extension", lambda: told([*check, "one", *extensions[:1]]), EXTENSION_BAR_MS),
        Row("every extension given", lambda: told([*check, "all", *extensions])),
        Row("with all of torch", lambda: told([*check, "torch", *extensions]), WARM_BAR_MS),
        Row("with all of torch, cold", cold, COLD_BAR_MS),
    ]
    code = lib / "libtorch_cuda.so"
    if cuobjdump and code.is_file():
        name = f"cuobjdump -lelf, {code.stat().st_size / 1e6:.0f} MB"
        found.append(Row(name, lambda: wall([cuobjdump, "-lelf", str(code)])))
    return found


def main() -> int:
    """Print what the checks cost, and whether the bars are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--extension", action="append", default=[])
    parser.add_argument("--cuobjdump", default="")
    options = parser.parse_args()
    done = subprocess.run([options.python, "-c", _DESCRIBE], check=False, capture_output=True)
    if done.returncode:
        print(f"{options.python} has no torch: nothing to measure")
        return 0
    described = done.stdout.decode()
    lib = Path(json.loads(described)[1]) / "lib"
    extensions = options.extension or [str(lib / "libtorch_python.so")]
    importing = 0.0
    bars = Bars(time.perf_counter)
    for row in rows(described, extensions, options.python, options.cuobjdump):
        elapsed = min(row.measure() for _ in range(options.runs)) * 1000
        importing = importing or elapsed
        bars.measure()
        bar = f"  {bars.told(row.name, elapsed, row.bar_ms)}" if row.bar_ms else ""
        print(f"{row.name:36} {elapsed:8.1f} ms  {elapsed / importing:6.3f} of import torch{bar}")
    check = [sys.executable, "-c", _CHECK, described, "torch", *extensions]
    peak = told([sys.executable, "-c", _PEAK, *check]) / 1024
    bar = f"bar {MEMORY_BAR_MIB:.0f} MiB: {'met' if peak <= MEMORY_BAR_MIB else 'MISSED'}"
    print(f"{'peak memory with all of torch':36} {peak:8.1f} MiB  {bar}")
    return bars.end()


if __name__ == "__main__":
    sys.exit(main())
