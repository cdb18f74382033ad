"""Time `check` beside an empty cache of the Hub, and beside one of many kernels and models.

Usage: python bench/hub.py [--runs N] [--kernels N] [--models N]

The runs take turns; printed is the least that one took and the difference, and what the probe of
the cache takes alone in this process. The caches are made here, as kernels lays them out. Ends
with 1 where the difference of `check` is more than it may be. Nothing else should run beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fadoctor.sources.hub.cache import find_cache, read_cache

ROOT = Path(__file__).resolve().parents[1]
LIMIT_MS = 15
"""What 200 kernels in the cache may cost."""
BUILD = "torch-stable-abi210-cu130-x86_64-linux"


def fill(hub: Path, kernels: int, models: int) -> None:
    """Lay out a cache: each kernel with a branch that is named, and a version that is not."""
    metadata = json.dumps(
        {"id": "k", "name": "k", "version": 1, "license": "MIT", "python-depends": [],
         "backend": {"type": "cuda", "archs": ["8.0", "9.0", "10.0"]}}
    )  # fmt: skip
    for index in range(kernels):
        owner = "kernels-community" if index % 2 else "moonlab"
        folder = hub / f"kernels--{owner}--kernel{index}"
        (folder / "refs").mkdir(parents=True)
        for commit in ("ab" * 20, "cd" * 20):
            build = folder / "snapshots" / commit / "build" / BUILD
            build.mkdir(parents=True)
            (build / "__init__.py").touch()
            (build / "metadata.json").write_text(metadata)
        (folder / "refs" / "main").write_text("ab" * 20)
    for index in range(models):
        (hub / f"models--ada--model{index}" / "refs").mkdir(parents=True)


def time_once(home: Path) -> float:
    """Return the processor time of one `check`, seconds; other work on the machine counts less."""
    argv = [sys.executable, "-m", "fadoctor", "check", "--no-smoke", "--exit-zero"]
    argv += ["--python", sys.executable, "--gpu", "A100", "--driver", "580.65.06"]
    environ = {**os.environ, "HF_HOME": str(home)}
    for name in ("KERNELS_CACHE", "HF_HUB_CACHE", "HF_KERNELS_CACHE"):
        environ.pop(name, None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True, cwd=ROOT,
                   env=environ)  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def probed(home: Path, runs: int) -> float:
    """Return the median time of looking for the cache and reading it, seconds."""
    times = []
    for _ in range(runs * 3):
        started = time.process_time()
        folder = find_cache({"HF_HOME": str(home)})
        if folder is not None and folder.is_dir():
            read_cache(folder)
        times.append(time.process_time() - started)
    return statistics.median(times)


def main() -> None:
    """Print the times, and whether the full cache costs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--models", type=int, default=2_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = {name: Path(folder) / name for name in ("none", "full")}
        fill(homes["full"] / "hub", options.kernels, options.models)
        times: dict[str, list[float]] = {name: [] for name in homes}
        for run in range(options.runs + 1):
            for name, home in homes.items():
                elapsed = time_once(home)
                if run:  # the first round only warms the caches
                    times[name].append(elapsed)
        none, full = (min(times[name]) * 1000 for name in homes)
        print(f"a cache of {options.kernels} kernels and {options.models} models")
        print(f"check: no cache {none:.0f} ms, full {full:.0f} ms: {full - none:+.1f} ms")
        alone = {name: probed(home, options.runs) * 1000 for name, home in homes.items()}
        print(f"reading alone: no cache {alone['none']:.3f} ms, full {alone['full']:.2f} ms")
    if full - none > LIMIT_MS:
        raise SystemExit(f"more than the {LIMIT_MS} ms that it may cost")


if __name__ == "__main__":
    main()
