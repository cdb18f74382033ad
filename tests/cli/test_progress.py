"""What is said while somebody waits: at a terminal, only where it takes long, and gone after."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import time
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING

import pytest

from fadoctor.interfaces.cli import progress
from fadoctor.interfaces.cli.terminal import spinner
from tests.cli.conftest import COMMAND
from tests.cli.test_smoke import plant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Say = Callable[[str], None]


class Terminal(io.StringIO):
    """A terminal that remembers everything."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


@contextmanager
def waiting(terminal: Terminal, *, quiet: bool = False, after_s: float = 0) -> Iterator[Say]:
    """Wait with the terminal as standard error, which pytest sets anew before each test."""
    with redirect_stderr(terminal), spinner("reading", quiet=quiet, after_s=after_s) as say:
        yield say


def wait_for(terminal: Terminal, text: str) -> None:
    for _ in range(3_000):
        if text in terminal.getvalue():
            return
        time.sleep(0.01)
    pytest.fail(f"{text!r} was never said: {terminal.getvalue()!r}")


def test_it_says_what_goes_on_and_leaves_nothing(terminal: Terminal) -> None:
    with waiting(terminal) as say:
        wait_for(terminal, "fadoctor: reading (0 s)")
        say("planning \x1b[31mred")
        wait_for(terminal, "fadoctor: planning ?[31mred")
    assert terminal.getvalue().endswith(progress._CLEAR)


def test_what_is_over_soon_is_not_spoken_of(terminal: Terminal) -> None:
    with waiting(terminal, after_s=600):
        pass
    assert terminal.getvalue() == ""


def test_an_error_ends_it_too(terminal: Terminal) -> None:
    def interrupted() -> None:
        with waiting(terminal):
            wait_for(terminal, "reading")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.getvalue().endswith(progress._CLEAR)


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet_and_dumb_terminals_hear_nothing(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, *, quiet: bool
) -> None:
    if not quiet:
        monkeypatch.setenv("TERM", "dumb")
    with waiting(terminal, quiet=quiet) as say:
        say("planning")
    assert terminal.getvalue() == ""


def test_a_terminal_that_goes_away_is_no_error(terminal: Terminal) -> None:
    with waiting(terminal):
        wait_for(terminal, "reading")
        terminal.close()


PTY_WAIT_S = 120


def smoke_at_a_terminal(folder: str, tmp_path: Path, *more: str) -> str:
    """Run `smoke` with a terminal as standard error; return what the terminal was told."""
    ours, theirs = pty.openpty()
    argv = [*COMMAND, "smoke", "--device", "cpu", "--python", folder, *more]
    env = {**os.environ, "TERM": "xterm"}
    with (tmp_path / "out").open("wb") as out:
        child = subprocess.Popen(argv, stdout=out, stderr=theirs, env=env, cwd=tmp_path)
    os.close(theirs)
    told = b""
    ends = time.monotonic() + PTY_WAIT_S
    while time.monotonic() < ends:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                told += os.read(ours, 65_536)
            except OSError:  # the other end is closed: it has ended
                break
    os.close(ours)
    child.wait(PTY_WAIT_S)
    return told.decode("utf-8", "replace")


@pytest.mark.long
def test_smoke_says_which_cell_it_is_at_but_only_at_a_terminal(tmp_path: Path) -> None:
    folder = plant(tmp_path / "env")
    torch = next((tmp_path / "env").rglob("torch/__init__.py"))
    # Slow enough for a spinner to speak of it.
    torch.write_text("import time\ntime.sleep(2)\n" + torch.read_text())
    told = smoke_at_a_terminal(folder, tmp_path)
    assert "fadoctor: importing torch" in told
    assert "\n" not in told.replace("\r\n", "")
    assert "fadoctor:" not in (tmp_path / "out").read_text()
    assert smoke_at_a_terminal(folder, tmp_path, "--quiet") == ""
