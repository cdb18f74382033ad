"""A command runs as if nobody watched: streams, input, exit codes, signals, terminals."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from fadoctor.processes.live import COMMAND_NOT_FOUND, KEPT, run_live

if TYPE_CHECKING:
    from pathlib import Path

_RUNNER = (
    "import pathlib, sys; from fadoctor.processes.live import run_live;"
    "ended = run_live((sys.executable, '-u', '-c', sys.argv[2]));"
    "pathlib.Path(sys.argv[1]).write_bytes(ended.tail); sys.exit(ended.code)"
)

Argv = Callable[[str], list[str]]


@pytest.fixture
def tail(tmp_path: Path) -> Path:
    return tmp_path / "tail"


@pytest.fixture
def argv(tail: Path) -> Argv:
    """Return the command line that runs Python code under `run_live` and keeps its tail."""
    return lambda code: [sys.executable, "-c", _RUNNER, str(tail), code]


def test_streams_stay_apart_and_the_code_is_the_commands(argv: Argv, tail: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)"
    ended = subprocess.run(argv(code), capture_output=True, check=False, timeout=60)
    assert (ended.stdout, ended.stderr, ended.returncode) == (b"out\n", b"err\n", 7)
    assert sorted(tail.read_bytes().splitlines()) == [b"err", b"out"]


def test_lines_of_two_streams_are_not_torn(argv: Argv, tail: Path) -> None:
    """Unbuffered Python writes a line and its end apart."""
    code = (
        "import os, time\n"
        "for text in (b'one ', b'two ', b'three'):\n"
        "    os.write(1, text); time.sleep(0.02); os.write(2, b'err '); time.sleep(0.02)\n"
        "os.write(1, b'\\n')"
    )
    subprocess.run(argv(code), capture_output=True, check=True, timeout=60)
    assert tail.read_bytes() == b"one two three\nerr err err "


def test_standard_input_is_the_commands(argv: Argv) -> None:
    ended = subprocess.run(
        argv("print(input() * 2)"), input=b"ab\n", capture_output=True, check=False, timeout=60
    )
    assert ended.stdout == b"abab\n"


def test_death_by_a_signal_is_told_as_shells_do(argv: Argv) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    ended = subprocess.run(argv(code), capture_output=True, check=False, timeout=60)
    assert ended.returncode == 128 + signal.SIGKILL


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1]
)
def test_signals_are_passed_on(argv: Argv, number: signal.Signals) -> None:
    code = (
        "import signal, sys, time\n"
        f"signal.signal({number:d}, lambda *_: sys.exit(9))\n"
        "print('ready'); time.sleep(120)"
    )
    with subprocess.Popen(
        argv(code), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(number)
        assert child.wait(timeout=60) == 9


def test_a_signal_that_another_thread_gets_is_passed_on() -> None:
    """It does not interrupt the main thread, which waits for the command."""
    ours = (
        "import signal, sys, threading, time; from fadoctor.processes.live import run_live\n"
        "def send():\n"
        "    time.sleep(1); signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)\n"
        "signal.signal(signal.SIGUSR1, signal.SIG_IGN)\n"
        "threading.Thread(target=send, daemon=True).start()\n"
        "sys.exit(run_live((sys.executable, '-c', sys.argv[1])).code)"
    )
    code = (
        "import signal, sys, time; signal.signal(signal.SIGUSR1, lambda *_: sys.exit(9));"
        "time.sleep(40); sys.exit(3)"
    )
    ended = subprocess.run([sys.executable, "-c", ours, code], check=False, timeout=60)
    assert ended.returncode == 9


def test_a_grandchild_that_holds_the_pipe_is_not_waited_for(argv: Argv, tail: Path) -> None:
    """It lives longer than the deadline of this test."""
    code = "import subprocess; print(subprocess.Popen(['sleep', '600']).pid)"
    null = subprocess.DEVNULL
    ended = subprocess.run(argv(code), stdout=null, stderr=null, check=False, timeout=60)
    os.kill(int(tail.read_bytes()), signal.SIGKILL)
    assert ended.returncode == 0


def test_much_output_passes_and_only_its_end_is_kept(argv: Argv, tail: Path) -> None:
    code = f"import sys; sys.stdout.write('x' * {2 * KEPT} + 'end')"
    ended = subprocess.run(argv(code), capture_output=True, check=False, timeout=60)
    kept = tail.read_bytes()
    assert len(ended.stdout) == 2 * KEPT + 3
    assert kept.endswith(b"end")
    assert KEPT <= len(kept) < KEPT + (1 << 17)


def test_a_terminal_stays_a_terminal(argv: Argv) -> None:
    ours, theirs = pty.openpty()
    code = "import sys; print(sys.stdout.isatty(), sys.stderr.isatty())"
    try:
        subprocess.run(
            argv(code), stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
            check=False, timeout=60,
        )  # fmt: skip
        assert os.read(ours, 100) == b"True False\r\n"
    finally:
        os.close(theirs)
        os.close(ours)


def test_what_cannot_be_started_is_said() -> None:
    ended = run_live(("no-such-command-anywhere",))
    assert (ended.code, ended.tail) == (COMMAND_NOT_FOUND, b"")
    assert "No such file" in ended.problem


_LATE = (
    "(while [ ! -e {gate} ]; do sleep 0.05; done; "
    "echo late; echo $? > {code}; echo later >&2; echo $? >> {code}) & echo hi"
)


def test_background_child_goes_on_writing_after_the_end(argv: Argv, tmp_path: Path) -> None:
    """As under a shell: the command's end is ours, and what comes late is lost to nobody."""
    code, gate = tmp_path / "code", tmp_path / "gate"
    late = _LATE.format(code=code, gate=gate)
    command = [*argv(f"import os; os.execvp('sh', ['sh', '-c', {late!r}])")]
    out, err = (tmp_path / "out").open("w+b"), (tmp_path / "err").open("w+b")
    with out, err:
        ended = subprocess.run(command, stdout=out, stderr=err, check=False, timeout=60)
        assert ended.returncode == 0
        assert (tmp_path / "out").read_bytes() == b"hi\n"
        gate.touch()
        deadline = time.monotonic() + 60
        while (tmp_path / "err").read_bytes() == b"" and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.1)
    assert (tmp_path / "out").read_bytes() == b"hi\nlate\n"
    assert (tmp_path / "err").read_bytes() == b"later\n"
    assert code.read_text() == "0\n0\n"


def test_background_child_is_read_to_its_end_through_a_pipe(argv: Argv, tail: Path) -> None:
    """Who waits for the end of the pipe gets every byte, as from the command itself."""
    late = "(sleep 1; head -c 1000000 /dev/zero; echo end) & echo hi"
    command = argv(f"import os; os.execvp('sh', ['sh', '-c', {late!r}])")
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert ended.stdout == b"hi\n" + b"\0" * 1_000_000 + b"end\n"
    assert (ended.returncode, tail.read_bytes()) == (0, b"hi\n")


def test_slow_reader_loses_nothing(argv: Argv) -> None:
    """What the command has written before its end waits for a pager, however slow."""
    code = "import sys; sys.stdout.write('x' * 150_000)"
    with subprocess.Popen(argv(code), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        time.sleep(2)
        assert len(child.stdout.read()) == 150_000
        assert child.wait(timeout=60) == 0


def test_background_child_of_a_terminal_goes_on_writing(argv: Argv) -> None:
    ours, theirs = pty.openpty()
    late = "(sleep 1; echo late) & echo hi"
    command = argv(f"import os; os.execvp('sh', ['sh', '-c', {late!r}])")
    try:
        null = subprocess.DEVNULL
        subprocess.run(command, stdin=null, stdout=theirs, stderr=null, check=False, timeout=60)
        seen = b""
        while b"late" not in seen:
            seen += os.read(ours, 100)
        assert seen == b"hi\r\nlate\r\n"
    finally:
        os.close(theirs)
        os.close(ours)
