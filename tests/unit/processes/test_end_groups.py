"""Ending what fadoctor started, and no other child of the process."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from fadoctor.processes.command import Command, Ending, Result
from fadoctor.processes.ending import RUNNING
from fadoctor.processes.run import run

WAITS = "input()"


def test_groups_that_we_started_end_and_another_child_does_not() -> None:
    """In a notebook or a test, a child of the process may be the program's own."""
    results: list[Result] = []
    sleeper = (sys.executable, "-c", "import time; time.sleep(100)")

    def ours() -> None:
        results.append(run(Command(sleeper, 100.0)))

    before = set(RUNNING.groups)
    thread = threading.Thread(target=ours)
    with subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE) as other:
        thread.start()
        deadline = time.monotonic() + 60
        while set(RUNNING.groups) == before and time.monotonic() < deadline:
            time.sleep(0.01)
        assert set(RUNNING.groups) > before
        RUNNING.end_groups()
        thread.join(60)
        assert not thread.is_alive()
        assert results[0].ending is Ending.SIGNALLED
        assert other.poll() is None
        other.communicate(b"\n", timeout=60)
    assert other.returncode == 0
    # and others may follow
    assert run(Command((sys.executable, "-c", "pass"), 60.0)).ok
