"""Work is done in a thread; in line where there is none; again where memory was short."""

from __future__ import annotations

import sys
import threading
from typing import NoReturn

import pytest

from fadoctor.processes import beside as module
from fadoctor.processes.beside import beside, start_thread
from fadoctor.processes.command import Command
from fadoctor.processes.live import run_live
from fadoctor.processes.run import remember, run


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: threading.Thread) -> NoReturn:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)


def test_it_runs_beside() -> None:
    seen: list[str] = []
    go_on = threading.Event()

    def work() -> None:
        go_on.wait()
        seen.append(threading.current_thread().name)

    wait = beside(work, "other")
    assert seen == []
    go_on.set()
    wait()
    assert seen == ["other"]


@pytest.mark.usefixtures("no_threads")
def test_without_threads_it_is_done_at_once() -> None:
    seen: list[str] = []
    wait = beside(lambda: seen.append(threading.current_thread().name))
    assert seen == ["MainThread"]
    wait()
    assert len(seen) == 1
    assert start_thread(lambda: None) is None


def test_what_a_thread_has_no_memory_for_is_done_in_line() -> None:
    seen: list[str] = []

    def work() -> None:
        seen.append(threading.current_thread().name)
        if len(seen) == 1:
            raise MemoryError

    wait = beside(work, "other")
    wait()
    wait()
    assert seen == ["other", "MainThread"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_where_addresses_are_few_there_are_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource  # noqa: PLC0415 -- Unix only

    for limit, expected in ((1 << 30, True), (module.ROOM, False), (resource.RLIM_INFINITY, False)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, n=limit: (n, n))
        assert (start_thread(lambda: None) is None) is expected


@pytest.mark.usefixtures("no_threads")
@pytest.mark.skipif(sys.platform == "win32", reason="programs of Unix")
def test_a_child_gets_its_input_and_its_output_is_copied(capfd: pytest.CaptureFixture[str]) -> None:
    fed = run(Command(("wc", "-c"), 20.0, text=b"x" * 1_000_000))
    assert fed.stdout.strip() == "1000000"
    ended = run_live(("sh", "-c", "yes | head -c 300000; echo end >&2; exit 3"))
    assert (ended.code, len(ended.tail)) == (3, 300_004)
    out = capfd.readouterr()
    assert (len(out.out), out.err) == (300_000, "end\n")


def test_a_second_asker_asks_again_where_the_first_one_failed() -> None:
    calls: list[int] = []

    def fails_once(command: Command) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise MemoryError
        return command

    once = remember(fails_once)  # type: ignore[arg-type]  # what is returned does not matter
    command = Command(("x",), 1.0)
    with pytest.raises(MemoryError):
        once(command)
    assert once(command) is command  # type: ignore[comparison-overlap]
