"""Ask a script of ours one question: a process of its own, which has limits and runs nothing else.

What is hostile is parsed there: it ends that process, not us.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fadoctor.processes.command import Command, Result, last_json_object
from fadoctor.processes.run import run

if TYPE_CHECKING:
    from pathlib import Path

_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": "268435456",
    "MALLOC_TRIM_THRESHOLD_": "268435456",
    "MALLOC_TOP_PAD_": "16777216",
}
"""Has glibc keep what is freed: a tenth of the time went into getting the same pages again."""


def ask_script(
    script: Path, request: bytes, timeout_s: float, output_limit: int
) -> tuple[dict[str, object] | None, Result]:
    """Return the answer, and how the process ended; no answer where it is cut or none."""
    argv = (sys.executable, "-I", "-S", "-X", "utf8", str(script))
    env = {**os.environ, **_MEMORY}
    result = run(Command(argv, timeout_s, env=env, output_limit=output_limit, text=request))
    found = last_json_object(result.stdout) if result.ok and not result.truncated else None
    return found, result
