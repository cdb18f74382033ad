"""Time the default set of a smoke run against what it cannot be faster than.

Usage: python bench/smoke.py [--runs N] [--python TARGET_PYTHON]

Compared, interleaved in one run: `import torch` under the target's interpreter; `fadoctor smoke` of
the default set on the CPU, one worker for all dtypes; the same cells with one command per dtype.
Minima count, since another process can only make a run slower. Exit 1 where the default set costs
more than one `import torch` and twice 1.5 s.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402 -- the checkout that this file stands in

DTYPES = ("bf16", "fp16", "fp32")
BUDGET_S = 1.5


def smoke(python: str, *arguments: str) -> list[str]:
    """Return the argv of a smoke run on the CPU."""
    options = ["--python", python, "--device", "cpu", "--quiet", *arguments]
    return [sys.executable, "-m", "fadoctor", "smoke", *options]


def time_once(*commands: list[str]) -> float:
    """Return the wall time of commands one after another, seconds; one that fails ends it all."""
    started = time.perf_counter()
    for argv in commands:
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return time.perf_counter() - started


def main() -> int:
    """Print the minimum of each, and how the default set stands to the others."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    python = options.python
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        print(f"{python} has no torch: nothing to time")
        return 0
    timed = {
        "import torch": [[python, "-c", "import torch"]],
        "default set, one worker": [smoke(python)],
        "one command per dtype": [smoke(python, "--dtype", dtype) for dtype in DTYPES],
    }
    best = dict.fromkeys(timed, float("inf"))
    bars = Bars(time.perf_counter)
    for _ in range(options.runs):
        bars.measure()
        for name, commands in timed.items():
            best[name] = min(best[name], time_once(*commands))
    alone, together, apart = best.values()
    for name, seconds in best.items():
        print(f"{name:24} {seconds:6.2f} s  {seconds / alone:5.2f} x import torch")
    more = together - alone
    told = bars.told("default set", more * 1000, BUDGET_S * 1000)
    print(f"above import torch: {more:.2f} s; {told}")
    print(f"one command per dtype / default set = {apart / together:.2f}")
    return bars.end()


if __name__ == "__main__":
    sys.exit(main())
