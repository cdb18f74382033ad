"""What is said while somebody waits: at a terminal, only where it takes long, and gone after."""

from __future__ import annotations

import io
import time
from contextlib import contextmanager, redirect_stderr
from typing import TYPE_CHECKING

import pytest

from fadoctor.cli import progress
from fadoctor.cli.terminal import spinner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
