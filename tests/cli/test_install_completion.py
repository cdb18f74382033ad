"""`fadoctor --install-completion`, typed at a terminal; and the first TAB of the next shell."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest
from typer import _completion_shared as shared

from fadoctor.interfaces.cli.completion import answer_first_tab
from tests.cli.conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 120
READY = {
    "bash": "echo ready-$((1+1))",
    "zsh": "echo ready-$((1+1))",
    "fish": "echo ready-(math 1+1)",
}
_CONTROL = re.compile(
    r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9])|[\x00-\x08\x0b-\x1f]"
)

_OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execvp(sys.argv[1], sys.argv[1:])"
)
"""Makes what it has as standard input the terminal of the shell, as a login does."""


class Terminal:
    """A shell at a terminal: types lines, and waits for what they bring."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._seen = b""

    def types(self, text: str, until: str) -> str:
        """Type, and return what was seen from then on as soon as it holds a text."""
        self._seen = b""
        os.write(self._descriptor, text.encode())
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            if until in self.text():
                return self.text()
            if select.select([self._descriptor], [], [], 0.1)[0]:
                try:
                    self._seen += os.read(self._descriptor, 65_536)
                except OSError:  # the shell has ended
                    break
        pytest.fail(f"{until!r} never came: {self.text()!r}")

    def text(self) -> str:
        return _CONTROL.sub("", self._seen.decode("utf-8", "replace"))


@contextmanager
def shell_in(shell: str, home: Path) -> Iterator[Terminal]:
    """Start a shell that reads its files from a home."""
    env = {
        "HOME": str(home), "PATH": f"{home / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "TERM": "xterm", "LC_ALL": "C.UTF-8",
    }  # fmt: skip
    descriptor, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", _OWN_TERMINAL, shell, "-i"],
        stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=home, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        terminal = Terminal(descriptor)
        terminal.types(f"{READY[shell]}\r", "ready-2")
        yield terminal
    finally:
        os.close(descriptor)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait(PATIENCE_S)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with the program on its PATH, as people call it."""
    folder = tmp_path / "a home"
    program = folder / "bin" / "fadoctor"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    program.chmod(0o755)
    # Else fish reads all manual pages of the machine first.
    (folder / ".local" / "share" / "fish" / "generated_completions").mkdir(parents=True)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("shell", READY)
def test_it_is_installed_and_the_next_shell_completes_at_the_first_tab(
    shell: str, home: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    files = {"bash": ".bashrc", "zsh": ".zshrc"}
    if shell in files:
        (home / files[shell]).write_text("OWN=kept\n")
    with shell_in(shell, home) as terminal:
        said = terminal.types("fadoctor --install-completion\r", "restart the terminal")
        assert f"{shell} completion installed in" in said
    with shell_in(shell, home) as terminal:
        terminal.types("fadoctor rules show gpu-too-old-f\t", "gpu-too-old-fa2")
    if shell in files:
        written = (home / files[shell]).read_text()
        assert "OWN=kept" in written
        with shell_in(shell, home) as terminal:
            terminal.types("fadoctor --install-completion\r", "restart the terminal")
        again = (home / files[shell]).read_text()
        assert [line for line in again.splitlines() if line] == [
            line for line in written.splitlines() if line
        ]


def test_the_script_for_zsh_answers_while_it_is_loaded() -> None:
    answer_first_tab()
    answer_first_tab()
    names = {"prog_name": "fadoctor", "complete_var": "_FADOCTOR_COMPLETE", "shell": "zsh"}
    script = shared.get_completion_script(**names)
    assert script.count('"${funcstack[1]}" == _fadoctor') == 1
    assert script.count("compdef _fadoctor_completion fadoctor") == 1
