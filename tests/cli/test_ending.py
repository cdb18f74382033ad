"""However fadoctor is ended, nothing that it has started goes on: no worker holds the GPU."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import COMMAND
from tests.cli.test_smoke import plant

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]

_GONE_WITHIN_S = 60.0
"""Two seconds are promised; by themselves they end after 600."""

_HANG = """
import os, subprocess, sys, time
code = "import time; time.sleep(600)"
child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])  # no sitecustomize again
open({pids!r}, "w").write("%d %d\\n" % (os.getpid(), child.pid))
time.sleep(600)
"""


@pytest.fixture
def hung(tmp_path: Path) -> Iterator[tuple[list[str], Path]]:
    """Give a smoke run whose worker hangs with a child of its own, and the file with their ids."""
    pids = tmp_path / "pids"
    script = tmp_path / "hang.py"
    script.write_text(_HANG.format(pids=str(pids)))
    env = plant(tmp_path / "env", attention=f"exec(open({str(script)!r}).read())")
    yield ["--python", env, "--device", "cpu", "--backend", "sdpa-flash"], pids
    for pid in pids.read_text().split() if pids.exists() else []:
        if not is_gone(int(pid)):
            os.kill(int(pid), signal.SIGKILL)


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended; one that nobody reaped has ended, too."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True
    return state in "ZX"


def wait_for(condition: object, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]  # a callable
            return True
        time.sleep(0.02)
    return False


def ids_in(pids: Path) -> list[int]:
    assert wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"), 60)
    return [int(pid) for pid in pids.read_text().split()]


def end(argv: list[str], pids: Path, number: int, folder: Path) -> int:
    """Run a command until its worker hangs, send a signal, return the status; all must be gone."""
    temporary = folder / "tmp"
    temporary.mkdir()
    child = subprocess.Popen(
        [*COMMAND, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, cwd=folder, env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    try:
        workers = ids_in(pids)
        child.send_signal(number)
        status = child.wait(timeout=60)
        assert wait_for(lambda: all(map(is_gone, workers)), _GONE_WITHIN_S)
    finally:
        child.kill()
        child.wait()
    if number != signal.SIGKILL:  # which leaves nobody to tidy up
        assert list(temporary.iterdir()) == []
    return status


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGKILL"])
def test_hung_worker_ends_with_us(hung: tuple[list[str], Path], tmp_path: Path, name: str) -> None:
    """The status is that of a process that died of the signal, as `timeout` and systemd expect."""
    options, pids = hung
    number = getattr(signal, name)
    assert end(["smoke", *options], pids, number, tmp_path) == -number


def test_sigterm_prints_what_is_known(hung: tuple[list[str], Path], tmp_path: Path) -> None:
    options, pids = hung
    kept = tmp_path / "smoke.json"
    argv = ["smoke", *options, "--format", "json", "--output", str(kept)]
    assert end(argv, pids, signal.SIGTERM, tmp_path) == -signal.SIGTERM
    report = json.loads(kept.read_text())
    assert "smoke: interrupted" in report["notes"]
    assert report["summary"]["not_run"] > 0


def test_hung_worker_ends_with_ctrl_c(hung: tuple[list[str], Path], tmp_path: Path) -> None:
    options, pids = hung
    assert end(["smoke", *options], pids, signal.SIGINT, tmp_path) == 130


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_hung_worker_of_check_ends_with_it(
    hung: tuple[list[str], Path], tmp_path: Path, name: str
) -> None:
    options, pids = hung
    number = getattr(signal, name)
    # no GPU is here: without `--smoke` nothing would be run
    assert end(["check", "--smoke", *options[:2]], pids, number, tmp_path) == -number


@pytest.mark.long
def test_timeout_leaves_no_worker(hung: tuple[list[str], Path], tmp_path: Path) -> None:
    """`timeout` sends the signal to its child and to its group: twice."""
    options, pids = hung
    argv = ["timeout", "8", *COMMAND, "smoke", *options]
    ended = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=tmp_path
    )
    assert ended.returncode == 124
    assert wait_for(lambda: all(map(is_gone, ids_in(pids))), _GONE_WITHIN_S)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_interpreter_that_hangs_before_its_first_line(tmp_path: Path, name: str) -> None:
    """A sitecustomize runs before our worker does; SIGTERM also while the environment is read."""
    pids = tmp_path / "pids"
    env = plant(tmp_path / "env")
    [site] = Path(env).glob("lib/python*/site-packages")
    text = _HANG.format(pids=str(pids)).replace("\n", "\n    ")
    only_worker = "any('_fadoctor_worker' in each for each in sys.orig_argv)"
    condition = "True" if name == "SIGTERM" else only_worker
    (site / "sitecustomize.py").write_text(f"import sys\nif {condition}:{text}\n")
    number = getattr(signal, name)
    argv = ["smoke", "--python", env, "--device", "cpu"]
    assert end(argv, pids, number, tmp_path) == -number


@pytest.mark.weekly
def test_signal_that_is_ignored_stays_so(hung: tuple[list[str], Path], tmp_path: Path) -> None:
    """Under nohup the end of the terminal ends nothing."""
    options, pids = hung
    argv = ["nohup", *COMMAND, "smoke", *options, "--dtype", "bf16", "--timeout", "3"]
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    ) as child:  # fmt: skip
        ids_in(pids)
        child.send_signal(signal.SIGHUP)
        assert child.wait(timeout=60) == 1
