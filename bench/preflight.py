"""Time `check --requirements uv.lock` of 300 packages against `check` of an installed environment.

Usage: python bench/preflight.py [--runs N] [--python TARGET_PYTHON] [--packages N]

Both run in turns; printed are medians, their difference and their ratio. The lock is made here.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402 -- the checkout that this file stands in

LIMIT_MS = 250
"""What a lock may cost over an installed environment."""

STACK = {
    "torch": ("2.8.0", ("triton", "other-1", "other-2")),
    "triton": ("3.4.0", ()),
    "transformers": ("4.57.1", ("other-3", "numpy")),
    "numpy": ("2.2.0", ()),
    "accelerate": ("1.10.0", ("torch", "numpy")),
}
HASH = "sha256:" + 64 * "a"


def lock(packages: int) -> str:
    """Return a lock with the stack among so many packages, each with files as real ones have."""
    others = {f"other-{i}": ("1.0", (f"other-{i + 7}",)) for i in range(packages - len(STACK))}
    found = {**STACK, **others}
    text = 'version = 1\nrevision = 3\nrequires-python = ">=3.10"\n'
    for name, (version, needs) in found.items():
        text += f'\n[[package]]\nname = "{name}"\nversion = "{version}"\n'
        text += 'source = { registry = "https://index.example.org/simple" }\ndependencies = [\n'
        text += "".join(f'    {{ name = "{need}" }},\n' for need in needs if need in found)
        text += "]\nwheels = [\n"
        for number in range(20):
            file = f"{name.replace('-', '_')}-{version}-cp3{number}-cp3{number}-linux_x86_64.whl"
            url = f"https://files.example.org/packages/aa/bb/{64 * 'c'}/{file}"
            text += f'    {{ url = "{url}", hash = "{HASH}", size = 1 }},\n'
        text += "]\n"
    wanted = "".join(f'    {{ name = "{name}" }},\n' for name in found)
    root = '\n[[package]]\nname = "train"\nversion = "0.1.0"\nsource = { virtual = "." }\n'
    return text + root + f"dependencies = [\n{wanted}]\n"


def time_once(argv: list[str]) -> float:
    """Return the wall time of one run, seconds; a command that fails ends the benchmark."""
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True, cwd=ROOT)
    return time.perf_counter() - started


def main() -> int:
    """Print both medians, and whether the lock costs more than it may."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--packages", type=int, default=300)
    options = parser.parse_args()
    check = [sys.executable, "-m", "fadoctor", "check", "--no-smoke", "--exit-zero"]
    check += ["--python", options.python, "--gpu", "A100", "--driver", "580.65.06"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "uv.lock"
        file.write_text(lock(options.packages), encoding="utf-8")
        print(f"a lock of {options.packages} packages, {file.stat().st_size / 1e6:.1f} MB")
        timed = {"installed": check, "uv.lock": [*check, "--requirements", str(file)]}
        bars = Bars(time.perf_counter)
        times: dict[str, list[float]] = {name: [] for name in timed}
        for run in range(options.runs + 1):
            bars.measure()
            for name, argv in timed.items():
                elapsed = time_once(argv)
                if run:  # the first round only warms the caches
                    times[name].append(elapsed)
    here, there = (statistics.median(times[name]) * 1000 for name in timed)
    print(f"installed {here:.0f} ms, uv.lock {there:.0f} ms: ratio {there / here:.2f}")
    more = there - here
    print(f"difference {more:.0f} ms, {bars.told('uv.lock', more, LIMIT_MS)}")
    return bars.end()


if __name__ == "__main__":
    sys.exit(main())
