"""Time the reader of fatbins on real files beside NVIDIA's cuobjdump, and print ratios.

Usage: python bench/fatbin.py FILE... [--cuobjdump PATH] [--runs N]

Each file is read in a process of its own: from the disk (the system is asked to drop its pages
first), then again, the quickest of N. Memory is that of the process, without and with the file.
cuobjdump lists the same images with -lelf and -lptx.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

WANTED_MS_PER_GB, WANTED_MEMORY_MB = 30, 100


def measure(file: str, runs: int) -> dict[str, Any]:
    """Return what reading one file costs this process."""
    from fadoctor.binary.coverage import summarise  # noqa: PLC0415 -- counted below
    from fadoctor.binary.fatbin import read_fatbins  # noqa: PLC0415

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Path(file).open("rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    times = []
    for _ in range(runs + 1):
        started = time.perf_counter()
        found = read_fatbins(file)
        times.append(time.perf_counter() - started)
    started = time.perf_counter()
    summarise(found)
    return {
        "summary_ms": (time.perf_counter() - started) * 1000,
        "cold_ms": times[0] * 1000,
        "warm_ms": min(times[1:]) * 1000,
        "containers": len(found.containers),
        "images": sum(len(container.images) for container in found.containers),
        "base_mb": before / 1024,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def time_cuobjdump(tool: str, file: str) -> float:
    """Return the seconds that cuobjdump takes for both lists."""
    started = time.perf_counter()
    for option in ("-lelf", "-lptx"):
        subprocess.run([tool, option, file], capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> int:
    """Print a line for each file; fail where a bound is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--cuobjdump", default="")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.files[0], options.runs)))
        return 0
    missed = 0
    print(
        "file MB | containers images | disk ms, again ms, summary ms | MB before, peak | cuobjdump"
    )
    for file in options.files:
        argv = [sys.executable, __file__, "--child", "--runs", str(options.runs), file]
        done = subprocess.run(argv, check=True, capture_output=True, text=True)
        cost = json.loads(done.stdout)
        size = Path(file).stat().st_size / 1e6
        line = (
            f"{Path(file).name} {size:.0f} | {cost['containers']} {cost['images']} | "
            f"{cost['cold_ms']:.1f} {cost['warm_ms']:.1f} {cost['summary_ms']:.1f} | "
            f"{cost['base_mb']:.0f} {cost['peak_mb']:.0f}"
        )
        if options.cuobjdump:
            theirs = time_cuobjdump(options.cuobjdump, file)
            line += f" | {theirs:.2f} s = {theirs * 1000 / cost['warm_ms']:,.0f} x"
        print(line)
        allowed = WANTED_MS_PER_GB * max(size / 1000, 1)
        missed += cost["warm_ms"] > allowed or cost["peak_mb"] > WANTED_MEMORY_MB
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
