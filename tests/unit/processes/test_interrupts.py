"""A Ctrl-C that the interpreter swallows is heard all the same, and ends everything."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from fadoctor.processes.command import Command, Ending
from fadoctor.processes.ending import Running
from fadoctor.processes.run import run

LOST_IN_A_CALLBACK = """
import signal, sys, time, weakref
from fadoctor.processes.interrupts import hear_every_interrupt

class Thing:
    pass

def callback(_):
    signal.raise_signal(signal.SIGINT)
    for _ in range(1000):
        pass

signal.signal(signal.SIGINT, signal.default_int_handler)
if "hear" in sys.argv:
    hear_every_interrupt()
thing = Thing()
seen = weakref.ref(thing, callback)
try:
    del thing
    time.sleep(60 if "hear" in sys.argv else 0.2)
    print("went on")
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.parametrize(("words", "said"), [((), "went on\n"), (("hear",), "heard\n")])
def test_an_interrupt_that_a_callback_swallows_comes_again(
    words: tuple[str, ...], said: str
) -> None:
    argv = (sys.executable, "-c", LOST_IN_A_CALLBACK, *words)
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == said
    assert ("Exception ignored" in ended.stderr) is not bool(words)


def test_other_lost_exceptions_are_printed_as_before() -> None:
    code = (
        "from fadoctor.processes.interrupts import hear_every_interrupt\n"
        "hear_every_interrupt()\n"
        "class Thing:\n    def __del__(self):\n        raise ValueError('mine')\nThing()\n"
    )
    argv = (sys.executable, "-c", code)
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    assert "Exception ignored" in ended.stderr
    assert "mine" in ended.stderr


def test_nothing_is_started_once_all_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running()
    monkeypatch.setattr("fadoctor.processes.run.RUNNING", running)
    running.close()
    ended = run(Command((sys.executable, "-c", ""), 60))
    assert ended.ending is Ending.NOT_STARTED
    assert ended.stderr == "fadoctor is being ended"


def test_a_child_on_its_way_is_noted_before_all_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    running = Running()
    monkeypatch.setattr("fadoctor.processes.run.RUNNING", running)
    monkeypatch.setattr("fadoctor.processes.ending.LAST_RESORT_S", 60.0)
    noted: list[int] = []
    popen, starting = subprocess.Popen, threading.Event()

    def slowly(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        starting.set()
        time.sleep(0.2)
        return popen(*arguments, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(subprocess, "Popen", slowly)
    # It stays until it is killed: on a busy machine one that ends by itself is gone too soon.
    stays = Command((sys.executable, "-c", "import time; time.sleep(600)"), 600)
    worker = threading.Thread(target=run, args=(stays,))
    worker.start()
    starting.wait(60)
    running.close()
    noted += running.groups
    running.end_groups()
    worker.join()
    assert len(noted) == 1


def test_a_child_without_a_group_of_its_own_is_ended() -> None:
    """As one is between its fork and its first line. In a process apart: it ends all children."""
    code = (
        "import subprocess, sys\n"
        "from fadoctor.processes.orphans import end_children\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "end_children()\n"
        "print(child.wait(60))"
    )
    argv = (sys.executable, "-c", code)
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "-9\n"
