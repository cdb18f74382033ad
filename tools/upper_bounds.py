"""Say whether the reasons for upper bounds in pyproject.toml still hold.

`python -m tools.upper_bounds`, once a release: the newest release of each bounded package is
resolved, and nothing is installed. Exit 1 where a reason is gone. It needs uv and a package index.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

REASONS = {"typer": "pydantic"}
"""A package of which newer releases than are allowed bring another one, and the latter."""

_PIN = re.compile(r"(?m)^([A-Za-z0-9][\w.-]*)==(\S+)")


def resolved(package: str) -> dict[str, str]:
    """Return the newest release of a package and all that it requires, by name."""
    if shutil.which("uv") is None:
        sys.exit("upper_bounds: uv is not on PATH")
    argv = ("uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "-")
    done = subprocess.run(argv, input=package, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"upper_bounds: {done.stderr.strip()}")
    return dict(_PIN.findall(done.stdout))


def gone(resolve: Callable[[str], dict[str, str]]) -> list[str]:
    """Return a sentence for each reason that no longer holds."""
    found = []
    for package, brought in REASONS.items():
        pins = resolve(package)
        if brought not in pins:
            version = pins.get(package, "?")
            found.append(f"{package} {version} does not require {brought}: lift the upper bound")
    return found


def main() -> None:
    """Print the reasons that are gone, or that all hold."""
    found = gone(resolved)
    sys.stdout.write("\n".join(found or ["every upper bound has its reason"]) + "\n")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
