"""Write `tests/lock.txt`: exactly what the tests and linters run with, for pip alone.

`python -m tools.lock` takes the newest of everything that pyproject.toml allows, for Python 3.10 to
3.14 on every platform; it needs uv and a package index. Users' dependencies stay ranges.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "tests" / "lock.txt"

LOWEST_PYTHON = "3.10"

_COMPILE = (
    "uv", "pip", "compile", "--quiet", "--universal", "--upgrade", "--python-version",
    LOWEST_PYTHON, "--extra", "dev", "--generate-hashes", "--no-annotate", "--no-header",
    "--no-strip-extras",
    "--no-emit-index-url", "--no-emit-find-links", "--no-emit-package", "fadoctor",
    "pyproject.toml",
)  # fmt: skip
_HEADER = "# Written by `python -m tools.lock`: what the tests and linters run with.\n"
_ADDRESS = re.compile(r"\b(?:https?|file)://|(?m:^-)")


def main() -> None:
    """Resolve and write; what names an index is refused: it would hold on one machine only."""
    if shutil.which(_COMPILE[0]) is None:
        sys.exit("lock: uv is not on PATH; .venv/bin has it after the README's test command")
    done = subprocess.run(_COMPILE, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"lock: {done.stderr.strip()}")
    if _ADDRESS.search(done.stdout):
        sys.exit("lock: the answer names an address or has options")
    LOCK.write_text(_HEADER + done.stdout, encoding="utf-8")


if __name__ == "__main__":
    main()
