"""The files of a uv project: kept before a change, and brought back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import ApplyError
from fadoctor.processes.own_files import own_folders
from fadoctor.repair.apply.project_files import (
    UV_PROJECT,
    keep_project,
    note_project,
    project_folder,
    restore_project,
)
from fadoctor.repair.apply.store import Store, write_safely

if TYPE_CHECKING:
    from pathlib import Path

BEFORE = '[project]\nname = "p"\nversion = "1"\ndependencies = []\n'
AFTER = '[project]\nname = "p"\nversion = "1"\ndependencies = ["kernels==0.12.3"]\n'


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return the store of an environment in a project."""
    prefix = tmp_path / ".venv"
    prefix.mkdir()
    found = Store(prefix)
    own_folders(prefix, found.folder)
    (tmp_path / "pyproject.toml").write_text(BEFORE)
    return found


def change(store: Store) -> None:
    """Do what `uv add` does."""
    (store.prefix.parent / "pyproject.toml").write_text(AFTER)
    (store.prefix.parent / "uv.lock").write_text("version = 1\n")


@pytest.mark.parametrize("noted", [True, False])
def test_what_a_step_wrote_is_taken_back(store: Store, *, noted: bool) -> None:
    """A step that was killed has noted nothing."""
    file = store.prefix.parent / "pyproject.toml"
    file.chmod(0o600)
    time = file.stat().st_mtime_ns
    keep_project(store, UV_PROJECT)
    change(store)
    if noted:
        note_project(store)
    assert restore_project(store) == ()
    assert file.read_text() == BEFORE
    assert (file.stat().st_mode & 0o777, file.stat().st_mtime_ns) == (0o600, time)
    assert sorted(path.name for path in file.parent.iterdir()) == [".venv", "pyproject.toml"]
    assert restore_project(store) == ()  # an undo can be repeated


def test_what_others_have_written_since_stays(store: Store) -> None:
    keep_project(store, UV_PROJECT)
    change(store)
    note_project(store)
    file = store.prefix.parent / "pyproject.toml"
    file.write_text(AFTER + "# mine\n")
    assert restore_project(store) == (str(file),)
    assert file.read_text().endswith("# mine\n")
    assert not (file.parent / "uv.lock").exists()


def test_of_a_link_nothing_is_kept(store: Store) -> None:
    (store.prefix.parent / "uv.lock").symlink_to("elsewhere.lock")
    with pytest.raises(ApplyError, match="is a link"):
        keep_project(store, UV_PROJECT)


def test_a_record_of_other_files_is_refused(store: Store) -> None:
    write_safely(store.project, {"before": {"../../.bashrc": None}})
    with pytest.raises(ApplyError, match="no project has"):
        restore_project(store)


def test_an_installer_has_no_project(store: Store) -> None:
    keep_project(store, "uv")
    change(store)
    assert project_folder("uv", store.prefix) is None
    assert restore_project(store) == ()
    assert (store.prefix.parent / "pyproject.toml").read_text() == AFTER
