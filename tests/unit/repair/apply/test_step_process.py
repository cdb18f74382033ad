"""What is left of a step is ended by its mark, and nobody else, whatever its number is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from fadoctor.repair.apply.step_process import NAME, StepProcess, begun, end_step, new_step
from tests.unit.processes.test_guard import is_gone

pytestmark = pytest.mark.skipif(not Path("/proc/1").exists(), reason="needs a process table")

_SLEEPER = [sys.executable, "-c", "import time; time.sleep(60)"]
_LEAVER = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"],
                         start_new_session=True, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
print(child.pid, flush=True)
"""


def marked(step: StepProcess) -> dict[str, str]:
    return {**os.environ, NAME: step.mark}


def test_ends_the_step() -> None:
    step = new_step()
    with subprocess.Popen(_SLEEPER, start_new_session=True, env=marked(step)) as child:
        time.sleep(0.1)
        assert end_step(begun(step, child.pid))
        assert child.wait(60) == -9


def test_ends_what_left_the_group_of_a_step_that_is_gone() -> None:
    step = new_step()
    argv = [sys.executable, "-c", _LEAVER]
    done = subprocess.run(argv, env=marked(step), check=True, capture_output=True, text=True)
    orphan = int(done.stdout)
    assert not is_gone(orphan)
    assert end_step(step)
    assert is_gone(orphan)


@pytest.mark.parametrize("is_leader_gone", [False, True])
def test_a_number_that_came_again_is_left_alone(*, is_leader_gone: bool) -> None:
    """After a restart the journal's group was a stranger's, whose leader had ended: it was killed.

    Ticks since boot are no help: they begin anew, too.
    """
    argv = [sys.executable, "-c", _LEAVER.replace("start_new_session=True, ", "")]
    with subprocess.Popen(
        argv if is_leader_gone else _SLEEPER, start_new_session=True, stdout=subprocess.PIPE
    ) as leader:
        assert leader.stdout is not None
        stranger = int(leader.stdout.readline()) if is_leader_gone else leader.pid
        if is_leader_gone:
            leader.wait(60)
        step = msgspec.structs.replace(new_step(), pid=leader.pid, started=1)
        try:
            assert end_step(step)
            assert not is_gone(stranger)
        finally:
            os.kill(stranger, 9)


def test_nothing_of_an_earlier_start_of_the_machine_is_looked_for() -> None:
    step = new_step()
    with subprocess.Popen(_SLEEPER, start_new_session=True, env=marked(step)) as child:
        time.sleep(0.1)
        assert end_step(msgspec.structs.replace(step, boot="of another start"))
        assert child.poll() is None
        child.kill()


@pytest.mark.parametrize("mark", ["", "/usr/bin", "x" * 32, "A" * 32, "0" * 31])
def test_a_mark_that_is_none_ends_nobody(mark: str) -> None:
    """A journal that somebody wrote may name whatever the variables of others hold."""
    step = msgspec.structs.replace(new_step(), mark=mark)
    with subprocess.Popen(_SLEEPER, start_new_session=True, env=marked(step)) as child:
        time.sleep(0.1)
        assert end_step(step)
        assert child.poll() is None
        child.kill()
