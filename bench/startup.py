"""Time whole commands, interleaved in one run, and print ratios.

Usage: python bench/startup.py [--runs N] [--python TARGET_PYTHON]

`check --no-smoke` is compared with ``python -m torch.utils.collect_env`` under the target's
interpreter (skipped with a reason where it has no torch) and with ``python -c pass``. What is timed
is a copy of the package as installers leave it: its modules are compiled, and the sources of the
rules, whose times a checkout compares with what was compiled, do not lie beside it. What it imports
is compiled too, once for all runs, and so is torch: some installers leave that to the first start,
and where PYTHONDONTWRITEBYTECODE is set every start would pay for it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def commands(python: str) -> dict[str, list[str]]:
    """Return name -> argv of everything that is timed."""
    fadoctor = [sys.executable, "-m", "fadoctor"]
    found = {
        "python -c pass": [python, "-c", "pass"],
        "import fadoctor": [sys.executable, "-c", "import fadoctor"],
        "import fadoctor.api": [sys.executable, "-c", "import fadoctor.api"],
        "import typer, msgspec": [sys.executable, "-c", "import typer, msgspec"],
        "fadoctor --version": [*fadoctor, "--version"],
        "check --no-smoke": [*fadoctor, "check", "--no-smoke", "--exit-zero", "--python", python],
        "check --no-smoke, json": [
            *fadoctor, "check", "--no-smoke", "--exit-zero", "--format", "json", "--python", python
        ],
    }  # fmt: skip
    if subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode:
        print(f"{python} has no torch: collect_env is left out")
    else:
        found["torch collect_env"] = [python, "-m", "torch.utils.collect_env"]
    return found


def install(folder: Path) -> None:
    """Put the package into a folder, as an installer does."""
    if not (ROOT / "fadoctor" / "compiled" / "knowledge.json").is_file():
        subprocess.run([sys.executable, "-m", "fadoctor", "rules", "list"], check=True, cwd=ROOT)
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "fadoctor", folder / "fadoctor", ignore=without)
    argv = [sys.executable, "-m", "compileall", "-q", "fadoctor"]
    subprocess.run(argv, check=True, cwd=folder, env=environ(folder))


def environ(folder: Path) -> dict[str, str]:
    """Return the environment of what is timed: it keeps all that it compiles, in this folder."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "modules")}


def time_once(argv: list[str], folder: Path) -> float:
    """Return the wall time of one run, seconds; a command that fails ends the benchmark."""
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, capture_output=True, cwd=folder,
                   env=environ(folder))  # fmt: skip
    return time.perf_counter() - started


def added(module: str, folder: Path) -> int:
    """Return how many modules an import adds to those of a bare start."""
    code = (
        f"import sys; before = len(sys.modules); import {module}; print(len(sys.modules) - before)"
    )
    argv = [sys.executable, "-c", code]
    return int(subprocess.run(argv, check=True, capture_output=True, cwd=folder).stdout)


def main() -> None:
    """Print the median of each command, and how it stands to the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--python", default=sys.executable, type=os.path.abspath)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fadoctor-") as name:
        install(Path(name))
        compare(commands(options.python), Path(name), options.runs)


def compare(timed: dict[str, list[str]], folder: Path, runs: int) -> None:
    """Time the commands by turns, and print what came of it."""
    times: dict[str, list[float]] = {name: [] for name in timed}
    for run in range(runs + 1):
        for name, argv in timed.items():
            elapsed = time_once(argv, folder)
            if run:  # the first round only warms the caches
                times[name].append(elapsed)
    bare = times["python -c pass"]
    for name, values in times.items():
        ratio = statistics.median(v / b for v, b in zip(values, bare, strict=True))
        print(f"{name:24} {statistics.median(values) * 1000:8.0f} ms  {ratio:6.1f} x bare python")
    for name in ("fadoctor", "fadoctor.api"):
        print(f"import {name} loads {added(name, folder)} modules beside those of a bare start")
    if "torch collect_env" in times:
        pairs = zip(times["torch collect_env"], times["check --no-smoke"], strict=True)
        ratio = statistics.median(env / check for env, check in pairs)
        print(f"collect_env / check --no-smoke = {ratio:.1f} (wanted: at least 10)")


if __name__ == "__main__":
    main()
