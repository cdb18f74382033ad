"""What fadoctor keeps is made and opened without following links, and only where it is its own."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from fadoctor.processes.own_files import (
    NotOurOwnError,
    open_own,
    own_folder,
    own_folders,
    read_own,
    refuse_foreign,
    write_own,
)

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links and owners of POSIX")


def test_a_folder_is_ours_alone(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        own_folders(tmp_path, tmp_path / "a" / "b")
        own_folders(tmp_path, tmp_path / "a" / "b")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_folder_that_others_could_write_to_is_closed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o777)
    own_folder(tmp_path / "a")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


@pytest.mark.parametrize("target", ["elsewhere", "missing", "file", "."])
def test_a_link_is_no_folder_of_ours(tmp_path: Path, target: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / target)
    with pytest.raises(NotOurOwnError, match=r"is a link.*remove it"):
        own_folder(tmp_path / "link")
    with pytest.raises(NotOurOwnError):
        own_folders(tmp_path, tmp_path / "link" / "below")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_writing_replaces_a_link_and_leaves_what_it_names(tmp_path: Path) -> None:
    """A link where the temporary file is made led to somebody's file, which was overwritten."""
    (tmp_path / "mine").write_text("precious")
    (tmp_path / f".state.json.{os.getpid()}").symlink_to("mine")
    write_own(tmp_path / "state.json", b"{}")
    assert (tmp_path / "mine").read_text() == "precious"
    assert read_own(tmp_path / "state.json") == b"{}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "state.json"]


def test_reading_follows_no_link_and_waits_for_no_pipe(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "link").symlink_to("mine")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "pipe", "folder"):
        with pytest.raises(NotOurOwnError):
            read_own(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        read_own(tmp_path / "none")
    assert read_own(tmp_path / "mine", 3) == b"pre"


def test_a_lock_behind_a_link_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(NotOurOwnError):
        open_own(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    assert not (tmp_path / "elsewhere").exists()


def test_what_belongs_to_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    assert not refuse_foreign(tmp_path / "none", folder=True)
    assert refuse_foreign(tmp_path / "file", folder=False)
    monkeypatch.setattr("os.geteuid", lambda: (tmp_path / "file").stat().st_uid + 1)
    with pytest.raises(NotOurOwnError, match="belongs to another user"):
        read_own(tmp_path / "file")
    with pytest.raises(NotOurOwnError, match="belongs to another user"):
        own_folder(tmp_path)
