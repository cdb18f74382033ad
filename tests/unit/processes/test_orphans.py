"""What a child leaves behind is ended; other processes are not touched."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from fadoctor.processes.command import Command
from fadoctor.processes.orphans import no_strays
from fadoctor.processes.run import run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl is Linux's")

LEAVE_A_STRAY = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
os.wait()
"""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_descendant_that_left_its_group_is_ended(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    with no_strays() as stuck:
        assert run(Command((sys.executable, "-c", LEAVE_A_STRAY, str(note)), 10)).ok
        for _ in range(3_000):
            if note.is_file() and note.read_text():
                break
            time.sleep(0.01)
        pid = int(note.read_text())
        assert is_alive(pid)
    assert not is_alive(pid)
    assert stuck == []


def test_children_from_before_are_left_alone() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        with no_strays():
            pass
        assert other.poll() is None
        other.kill()
