"""Kill `fadoctor fix`, and `fix --undo`, with SIGKILL, and see that all can always be undone.

    python -m tests.cli.kill_trials [TRIALS] [TRIALS OF UNDO]

Each trial makes an environment with a slow pip, starts `fix --yes`, kills it after a random time,
says `fix --undo` and compares every file with what was there before; every second one counts the
time from when a journal is there, for a busy machine takes long to come so far. A trial of undo
lets the fix end, kills the undo when its journal says that it is bringing files back, and says
`--undo` again; a file that somebody wrote after the fix must still be there. The seed is fixed.
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
from tests.unit.repair.apply.trees import manifest
from tests.work import in_memory

SEED = 20_26
LONGEST_S = 4.0
"""A fix of this environment takes about three seconds."""

UNDO_S = 0.25
"""Bringing back MANY files takes about that long."""
MANY = 3_000

_QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
_NOTHING_TO_UNDO = 2


def fadoctor(*arguments: str) -> list[str]:
    """Return the command."""
    return [sys.executable, "-m", "fadoctor", *arguments]


def interruptible(*arguments: str) -> list[str]:
    """Return the command that Ctrl-C reaches, also where the tests themselves ignore it."""
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from fadoctor.interfaces.cli.app import main; main()"
    return [sys.executable, "-c", code, *arguments]


def trial(folder: Path, after_s: float, *, begun: bool = False) -> str:
    """Kill one fix after some seconds; return what undo said: restored, nothing, or a fault."""
    broken_environment(folder, delay=0.01)
    before = manifest(folder)
    argv = fadoctor("fix", "--yes", "--no-smoke", "--python", str(folder))
    with subprocess.Popen(argv, start_new_session=True, **_QUIET) as fix:  # type: ignore[call-overload] # two of its options
        while begun and fix.poll() is None and not (folder / ".fadoctor" / "journal.json").exists():
            time.sleep(0.01)
        time.sleep(after_s)
        os.kill(fix.pid, signal.SIGKILL)
    undo = subprocess.run(
        fadoctor("fix", "--undo", "--python", str(folder)),
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if manifest(folder) != before:
        changed = {path for path in before if manifest(folder).get(path) != before[path]}
        return f"NOT AS BEFORE after {after_s:.3f} s: {sorted(changed)[:5]} {undo.stderr}"
    if (folder / ".fadoctor").exists():
        return f"LEFT TRACES after {after_s:.3f} s: {undo.stderr}"
    if undo.returncode == 0:
        return "nothing changed yet" if "nothing had been" in undo.stderr else "restored"
    if undo.returncode == _NOTHING_TO_UNDO and "nothing to undo" in undo.stderr:
        return "not begun"
    return f"UNDO FAILED after {after_s:.3f} s: {undo.stderr}"


def undo_trial(folder: Path, after_s: float) -> str:
    """Kill an undo some time after it has begun to bring files back; return how that ended."""
    site = broken_environment(folder, parts=MANY)
    before = manifest(folder)
    fix = fadoctor("fix", "--yes", "--no-smoke", "--python", str(folder))
    subprocess.run(fix, check=True, capture_output=True, timeout=60)
    (folder / "train.py").write_text("later\n")
    fixed = manifest(folder)
    argv = fadoctor("fix", "--undo", "--python", str(folder))
    with subprocess.Popen(argv, start_new_session=True, **_QUIET) as undo:  # type: ignore[call-overload] # two of its options
        while undo.poll() is None and not _is_undoing(folder):
            time.sleep(0.0005)
        time.sleep(after_s)
        os.kill(undo.pid, signal.SIGKILL)
    begun, between = _is_undoing(folder), manifest(folder)
    again = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)
    after = manifest(folder)
    if after.pop("train.py", None) is None:
        return f"LOST a file of somebody else: {again.stderr}"
    if after != before:
        changed = {path for path in before.keys() | after if after.get(path) != before.get(path)}
        return f"NOT AS BEFORE after {after_s:.4f} s: {sorted(changed)[:5]} {again.stderr}"
    if not begun:
        return "undo had ended already"
    half = between not in (fixed, {**before, "train.py": between.get("train.py")})
    if again.returncode or (site / "xformers" / "part0.py").exists():
        return f"UNDO FAILED after {after_s:.4f} s: {again.stderr}"
    return "undo killed half-way, restored" if half else "undo killed in undoing, restored"


def _is_undoing(folder: Path) -> bool:
    try:
        return b'"undoing"' in (folder / ".fadoctor" / "journal.json").read_bytes()
    except FileNotFoundError:
        return False


def trials(count: int, undos: int = 0) -> dict[str, int]:
    """Return how many trials ended how."""
    chance = random.Random(SEED)  # noqa: S311 -- not for secrets
    found: dict[str, int] = {}
    for number in range(count + undos):
        with tempfile.TemporaryDirectory(dir=in_memory()) as name:
            folder = Path(name, "env").resolve()
            if number < count:
                answer = trial(folder, chance.uniform(0.1, LONGEST_S), begun=bool(number % 2))
            else:
                answer = undo_trial(folder, chance.uniform(0.0, UNDO_S))
        found[answer] = found.get(answer, 0) + 1
    return found


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]] or [50, 20]
    results = trials(*numbers)
    for answer, number in sorted(results.items()):
        print(f"{number:4} {answer}")
    raise SystemExit(any(answer.isupper() or answer[:4].isupper() for answer in results))
