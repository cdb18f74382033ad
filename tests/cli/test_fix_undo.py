"""`fadoctor fix --undo` as a user types it: what others did stays, and what is said is enough."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli import beside_trials, half_written, link_trials
from tests.cli.fake_pip import broken_environment
from tests.cli.kill_trials import interruptible, trials
from tests.unit.repair.apply.trees import manifest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.fixture
def fixed(run: Run, tmp_path: Path) -> Path:
    """Return a project's folder that is an environment, repaired, with work done since."""
    folder = tmp_path / "project"
    broken_environment(folder)
    (folder / "train.py").write_text("first\n")
    result = run("fix", "--yes", "--no-smoke", "--python", str(folder))
    assert result.returncode == 0, result.stderr
    (folder / "new.py").write_text("second\n")
    (folder / "new.py").replace(folder / "train.py")
    (folder / "checkpoint.bin").write_text("weights")
    return folder


@pytest.mark.long
def test_what_others_did_is_said_and_stays(run: Run, fixed: Path) -> None:
    result = run("fix", "--undo", "--python", str(fixed))
    assert result.returncode == 0
    assert "left as it is" in result.stderr
    assert "train.py (changed)" in result.stderr
    assert "checkpoint.bin (new)" in result.stderr
    assert (fixed / "train.py").read_text() == "second\n"
    assert (fixed / "checkpoint.bin").exists()
    assert list(fixed.glob("lib/*/site-packages/xformers/old0.py"))


@pytest.mark.long
def test_an_undo_can_be_foretold(run: Run, fixed: Path) -> None:
    before = manifest(fixed)
    result = run("fix", "--undo", "--dry-run", "--python", str(fixed))
    assert result.returncode == 0
    assert "would be restored" in result.stderr
    assert "train.py (changed)" in result.stderr
    assert manifest(fixed) == before
    assert run("fix", "--undo", "--python", str(fixed)).returncode == 0


@pytest.mark.long
def test_force_shows_asks_and_loses_nothing(run: Run, fixed: Path) -> None:
    before = manifest(fixed)
    refused = run("fix", "--undo", "--force", "--python", str(fixed))
    assert refused.returncode == 2
    assert "train.py (changed)" in refused.stderr
    assert "--yes" in refused.stderr
    assert manifest(fixed) == before
    forced = run("fix", "--undo", "--force", "--yes", "--python", str(fixed))
    assert forced.returncode == 0, forced.stderr
    assert (fixed / "train.py").read_text() == "first\n"
    assert (fixed / ".fadoctor" / "kept" / "train.py").read_text() == "second\n"
    assert (fixed / "checkpoint.bin").exists()


@pytest.mark.long
def test_what_cannot_be_brought_back_is_named_and_an_exit_code(run: Run, fixed: Path) -> None:
    [kept] = fixed.glob(".fadoctor/snapshot/lib/*/site-packages/xformers/old3.py")
    os.truncate(kept, 1)
    result = run("fix", "--undo", "--python", str(fixed))
    assert result.returncode == 1
    assert "xformers/old3.py" in result.stderr


def test_a_lock_that_was_left_is_removed(run: Run, tmp_path: Path) -> None:
    """A fix that was killed before its journal leaves it; it then said so for ever."""
    broken_environment(tmp_path / "env")
    folder = tmp_path / "env" / ".fadoctor"
    folder.mkdir()
    (folder / "lock").touch()
    result = run("fix", "--undo", "--python", str(tmp_path / "env"))
    assert result.returncode == 2
    assert "nothing to undo" in result.stderr
    assert not folder.exists()


@pytest.mark.long
def test_an_environment_that_was_only_found_is_told_how_to_be_named(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "a project"
    folder.mkdir()
    broken_environment(folder / ".venv")
    before = manifest(folder / ".venv")
    fixed = run("fix", "--yes", "--no-smoke", "--python", ".venv", cwd=folder)
    assert fixed.returncode == 0, fixed.stderr
    scrubbed = {"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "FADOCTOR_PYTHON": ""}
    result = run("fix", "--undo", cwd=folder, env=scrubbed)
    assert result.returncode == 2
    command = shlex.split(result.stderr.partition("To name it: ")[2])
    assert command == ["fadoctor", "fix", "--undo", "--python", ".venv"]
    assert run(*command[1:], cwd=folder).returncode == 0
    assert manifest(folder / ".venv") == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--dry-run", "--yes"), "exclude each other"),
        (("--force", "--dry-run"), "--force needs --undo"),
        ((), "--dry-run shows the plan, --yes carries it out"),
    ],
)
def test_options_that_say_two_things(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = run("fix", *arguments, "--python", str(tmp_path))
    assert (result.returncode, result.stdout) == (2, "")
    assert words in result.stderr


@pytest.mark.long
def test_ctrl_c_under_the_lock_before_anything_was_written(tmp_path: Path) -> None:
    """It said that there is nothing to undo, and left with 1."""
    folder = (tmp_path / "env").resolve()
    broken_environment(folder)
    before = manifest(folder)
    argv = interruptible("fix", "--yes", "--no-smoke", "--python", str(folder))
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=pipe, text=True) as fix:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (folder / ".fadoctor" / "lock").exists():
            time.sleep(0.001)
        os.kill(fix.pid, signal.SIGINT)
        _, said = fix.communicate(timeout=60)
    assert fix.returncode == 130, said
    assert manifest(folder) == before
    assert not (folder / ".fadoctor").exists()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("count", [1, pytest.param(3, marks=pytest.mark.weekly)])
def test_an_undo_that_was_killed_can_be_undone(count: int) -> None:
    found = trials(0, count)
    assert all("restored" in answer or "ended" in answer for answer in found), found


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.usefixtures("uv_on_path")
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.weekly)])
@pytest.mark.parametrize("installer", ["pip", pytest.param("uv", marks=pytest.mark.weekly)])
def test_stopped_in_the_middle_of_writing_it_can_be_undone(installer: str, count: int) -> None:
    """The tree that lies there then equals neither end: that is a condition of each trial."""
    found = half_written.trials(count, installer)
    assert not half_written.faults(found), found
    assert sum(times for answer, times in found.items() if "half written" in answer) == count, found


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the layout of POSIX")
@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("lib", "refused"),
        ("site, other disk", "refused"),
        ("package that changes", "refused"),
        (".fadoctor", "refused"),
        ("every file a link", "restored"),
        pytest.param("whole environment", "restored", marks=pytest.mark.long),
        pytest.param("site to dist-packages", "restored", marks=pytest.mark.long),
        pytest.param("every file a hard link", "restored", marks=pytest.mark.long),
        pytest.param("environment on the other disk", "restored", marks=pytest.mark.long),
    ],
)
def test_a_link_is_refused_or_all_is_restored(name: str, answer: str) -> None:
    assert link_trials.trial(name) == answer


@pytest.mark.long
@pytest.mark.thinned
@pytest.mark.parametrize(
    "way", ["upgrade, half-way at undo", "new, half-way at undo", "new, whole before undo"]
)
def test_what_another_pip_writes_meanwhile_is_whole_in_the_end(way: str) -> None:
    """Regression: files of a package that was half installed went with the undo."""
    assert beside_trials.all_trials((way,)) == {way: []}


ODD = (
    "a b",
    "it's",
    'say "x"',
    "a\nb",
    "$(touch x)",
    "-x",
    "a;b",
    "%41",
    "a\\b",
    "a\tb",
    "*",
    "\u202e",
)


@pytest.mark.long
@pytest.mark.thinned
@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_an_environment_of_any_name_is_restored(run: Run, tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    broken_environment(folder)
    before = manifest(folder)
    fixed = run("fix", "--yes", "--no-smoke", "--python", str(folder))
    assert fixed.returncode == 0, fixed.stderr
    assert manifest(folder) != before
    undone = run("fix", "--undo", "--python", str(folder))
    assert "is as it was before" in undone.stderr
    assert manifest(folder) == before


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", [b"caf\xe9", b"\xff\xfe x"])
def test_one_that_no_journal_can_name_is_refused(run: Run, tmp_path: Path, name: bytes) -> None:
    """Regression: it ended by an internal error."""
    folder = tmp_path / os.fsdecode(name)
    broken_environment(folder)
    before = manifest(folder)
    for arguments in (("--yes", "--no-smoke"), ("--undo",)):
        refused = run("fix", *arguments, "--python", str(folder))
        assert refused.returncode == 2
        assert "Traceback" not in refused.stderr
        assert manifest(folder) == before
    assert "not UTF-8" in run("fix", "--yes", "--python", str(folder)).stderr
