"""Nothing that we start outlives us, however we end; and nobody else's process is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fadoctor.processes.child._fadoctor_guard import NAME, carriers, end_carriers
from fadoctor.processes.command import Command
from fadoctor.processes.guard import GUARD
from fadoctor.processes.run import run

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


# A child, its own child, and one that has left the group and been orphaned; each says its id.
_FAMILY = """
import os, subprocess, sys, time
sleeper = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(100)"]
child = subprocess.Popen(sleeper)
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writer, str(os.getpid()).encode())
        time.sleep(100)
    os._exit(0)
os.wait()
stray = os.read(reader, 20).decode()
with open(sys.argv[1] + "~", "w") as file:
    file.write(f"{os.getpid()} {child.pid} {stray}")
os.rename(sys.argv[1] + "~", sys.argv[1])
time.sleep(100)
"""
_DOCTOR = """
import sys
from fadoctor.processes.command import Command
from fadoctor.processes.run import run
run(Command((sys.executable, "-I", "-S", "-c", sys.argv[1], sys.argv[2]), 100.0))
"""


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state in "ZX"


def ids_of(note: Path) -> list[int]:
    deadline = time.monotonic() + 60
    while not note.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return [int(word) for word in note.read_text().split()]


def are_gone(pids: list[int]) -> bool:
    """Return whether all are gone within a minute: the guard needs far less."""
    deadline = time.monotonic() + 60
    while not all(map(is_gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return all(map(is_gone, pids))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGTERM])
def test_nothing_is_left_of_a_family(tmp_path: Path, number: int) -> None:
    """One that had left its group went on for ever; with SIGQUIT the whole family did."""
    note = tmp_path / "ids"
    argv = [sys.executable, "-c", _DOCTOR, _FAMILY, str(note)]
    with subprocess.Popen(argv, start_new_session=True) as doctor:
        family = ids_of(note)
        assert not any(map(is_gone, family))
        doctor.send_signal(number)
        doctor.wait(60)
        assert are_gone(family)


def test_the_guard_goes_with_us_and_ends_nobody_at_a_usual_end(tmp_path: Path) -> None:
    """A program may leave something running on purpose."""
    code = (
        "import sys\n"
        "from fadoctor.processes.command import Command\n"
        "from fadoctor.processes.run import run\n"
        "from fadoctor.processes.guard import GUARD\n"
        "left = 'import os, sys, time\\n'\n"
        "left += 'if os.fork() == 0:\\n os.setsid(); print(os.getpid(), flush=True);'\n"
        "left += ' time.sleep(100)\\n'\n"
        "done = run(Command((sys.executable, '-I', '-S', '-c', left), 20.0))\n"
        "print(GUARD.pid, done.stdout)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    guard, left = (int(word) for word in said.stdout.split())
    assert are_gone([guard])
    assert not is_gone(left)
    os.kill(left, signal.SIGKILL)


def test_a_guard_that_was_killed_is_replaced() -> None:
    assert run(Command((sys.executable, "-c", ""), 20.0)).ok
    first = GUARD.pid
    assert first
    os.kill(first, signal.SIGKILL)
    while not is_gone(first):
        time.sleep(0.01)
    code = f"import os; print(os.environ[{NAME!r}])"
    mark = run(Command((sys.executable, "-c", code), 20.0)).stdout.strip()
    assert GUARD.pid not in (0, first)
    assert len(mark) == 32


def test_only_carriers_end() -> None:
    """A stranger with a group of the same number, or a mark that only begins alike, is left."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(100)"]
    mark = os.urandom(16).hex()
    spawned = [
        subprocess.Popen(sleeper, env={**os.environ, "MARK": value}, start_new_session=True)
        for value in (mark, mark + "0", mark[:-1])
    ]
    mine, longer, shorter = spawned
    try:
        deadline = time.monotonic() + 60
        while carriers("MARK", mark) != [mine.pid] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert end_carriers("MARK", mark, 10.0, 0.05)
        assert mine.wait(60) == -9
        assert longer.poll() is None
        assert shorter.poll() is None
    finally:
        for each in spawned:
            each.kill()
            each.wait()
