"""The process group of a step is ended, and nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from fadoctor.repair.apply.process_table import end_group, started

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/1"), reason="needs a process table")  # noqa: PTH110

_SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]
_PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
if len(sys.argv) > 1:
    time.sleep(60)
"""


def _lives(pid: int) -> bool:
    return started(pid) != 0 and "Z" not in _state(pid)


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_ends_the_group() -> None:
    with subprocess.Popen(_SLEEPER, start_new_session=True) as child:
        assert end_group(child.pid, started(child.pid))
        assert child.wait(5) == -9


def test_ends_what_a_leader_left_behind() -> None:
    argv = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(
        argv, start_new_session=True, stdout=subprocess.PIPE, text=True
    ) as leader:
        since = started(leader.pid)
        assert leader.stdout is not None
        orphan = int(leader.stdout.readline())
        leader.wait(5)
        assert _lives(orphan)
        assert end_group(leader.pid, since)
        deadline = time.monotonic() + 5
        while _lives(orphan) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not _lives(orphan)


def test_a_number_that_came_again_is_left_alone() -> None:
    """The step is long gone, and its number belongs to a process that started later."""
    with subprocess.Popen(_SLEEPER, start_new_session=True) as child:
        assert end_group(child.pid, started(child.pid) - 1)
        assert _lives(child.pid)
        child.kill()


@pytest.mark.parametrize(("group", "since"), [(0, 0), (0, 5), (2**22 + 1, 7)])
def test_no_such_group(group: int, since: int) -> None:
    assert end_group(group, since)
