"""Time the checks of native extensions, beside `import torch`.

Usage: python bench/binaries.py [--runs N] [--python TARGET_PYTHON] [--extension FILE]...

Minima of repeated runs, for whole processes and within one; memory is the peak of a process that
makes all checks. Extensions default to one of torch's own. Run it with .pyc files present.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if TYPE_CHECKING:
    from collections.abc import Callable

_DESCRIBE = """
import importlib.util, json, sys
torch = importlib.util.find_spec("torch")
print(json.dumps([sys.executable, torch.submodule_search_locations[0],
                  [path for path in sys.path if path]]))
"""
# One check in a process of its own: what `check` pays on top, modules included.
_CHECK = """
import json, sys, time
import msgspec
started = time.perf_counter()
from fadoctor.binary.predict import Predictor
from fadoctor.binary.start import Target
executable, torch, path = json.loads(sys.argv[1])
with Predictor(Target(executable, torch, tuple(path))) as predictor:
    for extension in sys.argv[3:]:
        predictor.predict(extension)
    if sys.argv[2] == "torch":
        predictor.check_torch()
print(time.perf_counter() - started)
"""
# The peak of a child's memory, in KiB
_PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def best(action: Callable[[], float], runs: int) -> float:
    """Return the least of the times that an action returns, in ms."""
    return min(action() for _ in range(runs)) * 1000


def wall(argv: list[str]) -> float:
    """Return the wall time of a process in s; one that fails ends the benchmark."""
    started = time.perf_counter()
    subprocess.run(argv, check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - started


def told(argv: list[str]) -> float:
    """Return the time that a process prints."""
    return float(subprocess.run(argv, check=True, capture_output=True, cwd=ROOT).stdout)


def measures(described: str, extensions: list[str], python: str) -> dict[str, Callable[[], float]]:
    """Return name -> one measurement. A row more is a line more."""
    check = [sys.executable, "-c", _CHECK, described]
    first = extensions[:1]
    return {
        "import torch": lambda: wall([python, "-c", "import torch"]),
        "one extension, modules included": lambda: told([*check, "extension", *first]),
        "every extension given": lambda: told([*check, "extension", *extensions]),
        "one extension and torch's own symbols": lambda: told([*check, "torch", *first]),
        "one extension, whole process": lambda: wall([*check, "extension", *first]),
    }


def main() -> None:
    """Print what the checks cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--extension", action="append", default=[])
    options = parser.parse_args()
    done = subprocess.run([options.python, "-c", _DESCRIBE], check=False, capture_output=True)
    if done.returncode:
        print(f"{options.python} has no torch: nothing to measure")
        return
    described = done.stdout.decode()
    lib = Path(json.loads(described)[1]) / "lib"
    extensions = options.extension or [str(lib / "libtorch_python.so")]
    rows = {
        name: best(one, options.runs)
        for name, one in measures(described, extensions, options.python).items()
    }
    for name, elapsed in rows.items():
        print(
            f"{name:40} {elapsed:8.1f} ms  1/{rows['import torch'] / elapsed:.0f} of import torch"
        )
    check = [sys.executable, "-c", _CHECK, described, "torch", *extensions]
    peak = int(told([sys.executable, "-c", _PEAK, *check]))
    print(f"{'all of it, peak memory':40} {peak / 1024:8.1f} MiB (wanted: below 100)")


if __name__ == "__main__":
    main()
