"""What fadoctor answers about everything that the tests hold, kept as digests.

    python -m tools.answers compare            # what has changed since it was recorded
    python -m tools.answers record             # keep the answers of this checkout
    python -m tools.answers show FOLDER        # write each answer as a file, to be compared by diff

A change that only moves code changes no answer: record before it, compare after it. What differs
on purpose has a line in tests/answers/differences.txt: a pattern over names, and the reason.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.asked import answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "tests" / "answers" / "recorded.txt"
DIFFERENCES = ROOT / "tests" / "answers" / "differences.txt"

_DIGITS = 12
_SCRUBBED = (
    "CONDA_PREFIX", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "FADOCTOR_PYTHON", "VIRTUAL_ENV",
)  # fmt: skip
"""Variables that would change what is read."""


def digest(answer: str) -> str:
    """Return a short digest of an answer."""
    return hashlib.sha256(answer.replace(str(ROOT), ".").encode()).hexdigest()[:_DIGITS]


def read_recorded(text: str) -> dict[str, str]:
    """Return name -> digest of recorded answers."""
    lines = (line.rpartition(" ") for line in text.splitlines() if line)
    return {name: found for name, _, found in lines}


def read_differences(text: str) -> dict[str, str]:
    """Return pattern -> reason; ValueError for a pattern without a reason."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = line.partition("  ")
        if not reason.strip():
            raise ValueError(f"{pattern}: two spaces and the reason are missing")
        found[pattern] = reason.strip()
    return found


def unexpected(
    before: Mapping[str, str], now: Mapping[str, str], allowed: Iterable[str]
) -> list[str]:
    """Return the names of answers that changed, came or went, and that no pattern allows."""
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    patterns = tuple(allowed)
    return [name for name in changed if not any(fnmatch.fnmatchcase(name, p) for p in patterns)]


def _compare() -> int:
    before = read_recorded(RECORDED.read_text("utf-8"))
    now = {name: digest(answer) for name, answer in answers(ROOT)}
    differing = unexpected(before, now, read_differences(DIFFERENCES.read_text("utf-8")))
    for name in differing:
        state = "is new" if name not in before else "is gone" if name not in now else "differs"
        sys.stdout.write(f"{name}: {state}\n")
    sys.stdout.write(f"{len(now)} answers, {len(differing)} differ\n")
    return 1 if differing else 0


def _record() -> int:
    lines = [f"{name} {digest(answer)}\n" for name, answer in answers(ROOT)]
    RECORDED.write_text("".join(sorted(lines)), encoding="utf-8")
    return 0


def _show(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, answer in answers(ROOT):
        (folder / f"{name.replace('/', '+')}.json").write_text(answer, encoding="utf-8")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="tools.answers", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["compare", "record", "show"])
    parser.add_argument("folder", nargs="?", default="answers", type=Path)
    options = parser.parse_args(arguments)
    for name in _SCRUBBED:
        os.environ.pop(name, None)
    if options.command == "show":
        return _show(options.folder.resolve())
    return _record() if options.command == "record" else _compare()


if __name__ == "__main__":
    sys.exit(main())
