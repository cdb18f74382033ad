"""Time the page in the browser: the first answer with loading, and the slowest of the others.

Usage: python bench/page.py [PAGE]

PAGE is a folder that `python -m tools.page` built; without one, or without Chromium, nothing is
measured and it is said. Times are processor times of all of Chromium.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from bench.bars import Bars  # noqa: E402 -- the checkout that this file stands in

if TYPE_CHECKING:
    from collections.abc import Iterator

DRIVER = ROOT / "tests" / "tools" / "page_driver.py"
BARS_MS = {"first_s": 5000, "next_s": 500}
"""What the page promises: the first answer with loading, and each other one."""

NAMES = {"first_s": "the first answer, with loading", "next_s": "the slowest further answer"}
LIMIT_S = 500


def runs(chromium: str, page: Path, folder: Path) -> Iterator[dict[str, float]]:
    """Yield times of the page, seconds: each of a browser that has never seen it."""
    target = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), "playwright"]
    subprocess.run(pip, check=True, timeout=LIMIT_S)
    while True:
        with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as profile:
            done = subprocess.run(
                [sys.executable, str(DRIVER), chromium, str(page)],
                env={**os.environ, "PYTHONPATH": str(target), "TMPDIR": profile},
                check=True, capture_output=True, timeout=LIMIT_S,
            )  # fmt: skip
        yield json.loads(done.stdout)


def main(page: Path) -> int:
    """Print how both times stand to their bars; return the exit status."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None or not (page / "index.html").is_file():
        print("page: not measured, no Chromium or no built page")
        return 0
    bars = Bars()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source = runs(chromium, page, Path(folder))
        seen: list[dict[str, float]] = []
        for name, bar_ms in BARS_MS.items():
            taken = iter(range(len(seen)))

            def time_ms(name: str = name, taken: Iterator[int] = taken) -> float:
                at = next(taken, len(seen))
                if at == len(seen):
                    seen.append(next(source))
                return seen[at][name] * 1000

            least, told = bars.held(NAMES[name], time_ms, bar_ms)
            print(f"{NAMES[name]:32} {least:6.0f} ms of processor time, {told}")
    return bars.end()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "page"))
