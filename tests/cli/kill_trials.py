"""Kill `fadoctor fix` with SIGKILL at random moments, and see that it can always be undone.

    python -m tests.cli.kill_trials [TRIALS]

Each trial makes an environment with a slow pip, starts `fix --yes`, kills it after a random time,
says `fix --undo` and compares every file with what was there before. The seed is fixed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.cli.fake_pip import broken_environment
from tests.unit.apply.trees import manifest

SEED = 20_26
LONGEST_S = 4.0
"""A fix of this environment takes about three seconds."""

_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
_NOTHING_TO_UNDO = 2


def fadoctor(*arguments: str) -> list[str]:
    """Return the command."""
    return [sys.executable, "-m", "fadoctor", *arguments]


def trial(folder: Path, after_s: float) -> str:
    """Kill one fix after some seconds; return what undo said: restored, nothing, or a fault."""
    broken_environment(folder, delay=0.01)
    before = manifest(folder)
    argv = fadoctor("fix", "--yes", "--no-smoke", "--python", str(folder))
    with subprocess.Popen(argv, start_new_session=True, **_QUIET) as fix:  # type: ignore[call-overload] # two of its options
        time.sleep(after_s)
        os.kill(fix.pid, signal.SIGKILL)
    undo = subprocess.run(
        fadoctor("fix", "--undo", "--python", str(folder)),
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if manifest(folder) != before:
        changed = {path for path in before if manifest(folder).get(path) != before[path]}
        return f"NOT AS BEFORE after {after_s:.3f} s: {sorted(changed)[:5]} {undo.stderr}"
    if undo.returncode == 0:
        return "nothing changed yet" if "nothing had been" in undo.stderr else "restored"
    if undo.returncode == _NOTHING_TO_UNDO and "nothing to undo" in undo.stderr:
        return "not begun"
    return f"UNDO FAILED after {after_s:.3f} s: {undo.stderr}"


def trials(count: int) -> dict[str, int]:
    """Return how many trials ended how."""
    chance = random.Random(SEED)  # noqa: S311 -- not for secrets
    found: dict[str, int] = {}
    for _ in range(count):
        with tempfile.TemporaryDirectory() as name:
            answer = trial(Path(name, "env").resolve(), chance.uniform(0.1, LONGEST_S))
        found[answer] = found.get(answer, 0) + 1
    return found


if __name__ == "__main__":
    results = trials(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
    for answer, number in sorted(results.items()):
        print(f"{number:4} {answer}")
    raise SystemExit(any(answer.isupper() or answer[:4].isupper() for answer in results))
