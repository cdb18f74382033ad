"""Build the page, and the site around it.

Usage: python -m tools.page [--wheel FILE] [--only-page] [--site-dir FOLDER]

Writes build/page, then runs ``mkdocs build --strict``, whose hook copies it to the site. Needs npm
and node for Pyodide, pip for two wheels; what they have fetched is kept in build/page-parts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tools.page.bundle import PAGE, build, wheel_of_checkout

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """Build what is asked for; return an exit code."""
    parser = argparse.ArgumentParser(prog="tools.page", description=str(__doc__).splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="the wheel of fadoctor; built where not given")
    parser.add_argument("--only-page", action="store_true", help="without the site around it")
    parser.add_argument("--site-dir", type=Path, default=ROOT / "site")
    given = parser.parse_args(arguments)
    total = build(given.wheel or wheel_of_checkout(), ROOT / PAGE, sys.stderr.write)
    sys.stderr.write(f"{PAGE}: {total / 1e6:.2f} MB over the wire\n")
    if given.only_page:
        return 0
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(given.site_dir)]
    # The theme prints an advertisement for its successor (docs/dependencies.md).
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(argv, cwd=ROOT, env=env, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
