"""Whatever a command has started, nothing of it is left when the command is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.processes.child._fadoctor_guard import carriers
from tests.cli.conftest import COMMAND
from tests.cli.fake_pip import broken_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]

_GONE_WITHIN_S = 10.0
"""Two seconds are promised; a machine that is busy with other tests gets more."""

_HANGS = "#!/bin/sh\nsetsid sleep 123 &\nsleep 123\n"
_SIGNALS = [
    "SIGKILL",
    "SIGQUIT",
    pytest.param("SIGTERM", marks=pytest.mark.long),
    pytest.param("SIGHUP", marks=pytest.mark.long),
]


class Started:
    """A command, and whoever carries its mark."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = os.urandom(16).hex()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()

    def program(self, name: str) -> None:
        """Put a program on the path that hangs, with a child that has left its group."""
        place = self.folder / "bin" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(_HANGS)
        place.chmod(0o755)

    def killed(self, number: int, waits_for: bytes, *argv: str, **env: str) -> int:
        """Start a command, wait until a child is seen, send a signal; return the status."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        environ = {**os.environ, "PATH": path, "TRIAL": self.mark,
                   "TMPDIR": str(self.temporary), **env}  # fmt: skip
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            [*COMMAND, *argv], stdin=quiet, stdout=quiet, stderr=quiet, env=environ,
            cwd=self.folder, start_new_session=True,
        ) as command:  # fmt: skip
            try:
                assert self.wait(lambda: self.sees(waits_for, command.pid), 60)
                command.send_signal(number)
                status = command.wait(60)
            finally:
                command.kill()
        return status

    def sees(self, words: bytes, parent: int) -> bool:
        for pid in self.left():
            try:
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if pid != parent and words in line:
                return True
        return False

    def left(self) -> list[int]:
        return carriers("TRIAL", self.mark)

    @staticmethod
    def wait(condition: object, limit_s: float) -> bool:
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if condition():  # type: ignore[operator]  # a callable
                return True
            time.sleep(0.02)
        return False

    def is_clean(self) -> bool:
        return self.wait(lambda: not self.left(), _GONE_WITHIN_S)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    found = Started(tmp_path)
    yield found
    for pid in found.left():
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("name", _SIGNALS)
def test_srun(started: Started, name: str) -> None:
    """It went on where fadoctor was killed or got SIGQUIT."""
    started.program("srun")
    number = getattr(signal, name)
    assert started.killed(number, b"123", "fleet", "--slurm", "--run") == -number
    assert started.is_clean()


@pytest.mark.parametrize("name", _SIGNALS)
def test_installer_of_rules(started: Started, name: str) -> None:
    """An index that never answers: pip, or uv, waited for it on and on."""
    number = getattr(signal, name)
    with socket.socket() as index:
        index.bind(("127.0.0.1", 0))
        index.listen()
        address = f"http://127.0.0.1:{index.getsockname()[1]}/simple"
        argv = ("rules", "update", "--dry-run")
        env = {"PIP_INDEX_URL": address, "UV_INDEX_URL": address}
        assert started.killed(number, b"fadoctor-rules", *argv, **env) == -number
        assert started.is_clean()
    if number != signal.SIGKILL:  # which leaves nobody to tidy up
        assert list(started.temporary.iterdir()) == []


@pytest.mark.sampled
@pytest.mark.parametrize("name", _SIGNALS)
def test_step_of_a_fix(started: Started, tmp_path: Path, name: str) -> None:
    broken_environment(tmp_path / "env", delay=0.5)
    number = getattr(signal, name)
    argv = ("fix", "--yes", "--no-smoke", "--python", str(tmp_path / "env"))
    assert started.killed(number, b"uninstall", *argv) == -number
    assert started.is_clean()


@pytest.mark.parametrize("name", ["SIGKILL", "SIGQUIT"])
def test_a_tool_that_hangs_while_facts_are_read(started: Started, name: str) -> None:
    started.program("nvidia-smi")
    number = getattr(signal, name)
    assert started.killed(number, b"123", "facts", "--no-cache") == -number
    assert started.is_clean()
