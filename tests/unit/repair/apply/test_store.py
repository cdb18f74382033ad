"""One lock for each environment, no traces, and files that are never half written."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from fadoctor.model.errors import ApplyError
from fadoctor.repair.apply.store import Store, interrupted_later, write_safely

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

_HOLD = """
import sys
from pathlib import Path
from fadoctor.repair.apply.store import Store
with Store(Path(sys.argv[1])).locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_one_is_refused_and_death_releases(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", _HOLD, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ApplyError, match="another fadoctor"), Store(tmp_path).locked():
            pass
        holder.kill()
    with Store(tmp_path).locked():
        pass


def test_nothing_is_left_where_nothing_was_done(tmp_path: Path) -> None:
    with Store(tmp_path).locked():
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_a_journal_keeps_the_folder(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.locked():
        write_safely(store.journal, {"a": 1})
    assert msgspec.json.decode(store.journal.read_bytes()) == {"a": 1}


def test_ctrl_c_while_the_lock_is_taken_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever made the lock did not know of it yet, and left it."""

    def interrupted(_: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("fadoctor.repair.apply.store._lock", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), Store(tmp_path).locked():
            pass
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_the_folder_is_removed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder was left half removed."""
    remove = shutil.rmtree

    def interrupted(folder: Path, *, ignore_errors: bool) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        remove(folder, ignore_errors=ignore_errors)

    monkeypatch.setattr("fadoctor.repair.apply.store.shutil.rmtree", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), Store(tmp_path).locked():
            pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


def held(folder: Path) -> None:
    with interrupted_later(), Store(folder).locked():
        pass


def interrupted_at(step: int, folder: Path) -> bool:
    """Interrupt a lock before one of its operations; return whether there are so many."""
    left = step

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        frame.f_trace_opcodes = frame.f_code.co_filename.endswith(("store.py", "contextlib.py"))
        if event == "opcode":
            left -= 1
            if left == 0:
                signal.raise_signal(signal.SIGINT)
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        held(folder)
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(former)
    return left <= 0


@pytest.mark.long
def test_ctrl_c_leaves_nothing_whenever_it_comes(tmp_path: Path) -> None:
    """It was left where Ctrl-C came between the end of the block and the clearing away."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        step = 1
        while interrupted_at(step, tmp_path):
            assert list(tmp_path.iterdir()) == [], step
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler, step
            step += 1
    finally:
        signal.signal(signal.SIGINT, before)
    assert step > 100


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_environment_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ApplyError, match="cannot be written to"), Store(tmp_path).locked():
        pass


def test_a_write_that_fails_leaves_the_old_text(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    write_safely(path, {"old": True})
    with pytest.raises(TypeError):
        write_safely(path, {"new": object()})
    assert msgspec.json.decode(path.read_bytes()) == {"old": True}


PARTS = ("", "snapshot", "kept", "lock", "journal.json", "manifest.json", "before.json",
         "changes.json", "undo.json")  # fmt: skip


@pytest.mark.skipif(os.name != "posix", reason="links of POSIX")
@pytest.mark.parametrize("part", PARTS)
def test_a_link_in_its_place_deletes_nothing(tmp_path: Path, part: str) -> None:
    """Behind a link, the files of a folder of the same names were deleted."""
    prefix, elsewhere = tmp_path / "env", tmp_path / "elsewhere"
    prefix.mkdir()
    (elsewhere / "snapshot").mkdir(parents=True)
    for name in ("snapshot/x", "y", "journal.json"):
        (elsewhere / name).write_text("mine")
    store = Store(prefix)
    if part:
        store.folder.mkdir()
    (store.folder / part).symlink_to(elsewhere)
    with pytest.raises(ApplyError, match=r"is a link.*nothing was changed"), store.locked():
        pass
    with pytest.raises(ApplyError, match="is a link"):
        store.refuse_foreign()
    assert {path.name for path in elsewhere.rglob("*")} == {"snapshot", "x", "y", "journal.json"}
    assert (store.folder / part).is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="owners of POSIX")
def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path).folder.mkdir()
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(ApplyError, match="belongs to another user"), Store(tmp_path).locked():
        pass
    assert Store(tmp_path).folder.exists()
