"""A snapshot is restored file for file, whatever was done to the environment meanwhile."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from fadoctor.model.errors import ApplyError
from fadoctor.repair.apply.restore import Job
from fadoctor.repair.apply.restore import restore as restore_job
from fadoctor.repair.apply.snapshot import SnapshotEntry, discard, present, read_manifest, take
from fadoctor.repair.apply.store import Store, write_safely
from tests.unit.repair.apply.trees import grow, manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Store:
    prefix = tmp_path / "env"
    prefix.mkdir()
    grow(prefix)
    return Store(prefix)


def restore(store: Store) -> tuple[str, ...]:
    """Bring everything back; nobody misses what is there."""
    before = read_manifest(store)
    every = before.keys() | {entry.path for entry in present(store.prefix)}
    return restore_job(store, Job(before, {}, every, every)).spoiled


def site(store: Store) -> Path:
    return store.prefix / "lib" / "site-packages"


def _upgrade(folder: Path) -> None:
    shutil.rmtree(folder / "torch")
    (folder / "torch").mkdir()
    (folder / "torch" / "version.py").write_text("__version__ = '2'\n")
    (folder / "torch" / "new.py").write_text("")


def _edit_in_place(folder: Path) -> None:
    with (folder / "paths.pth").open("a") as file:
        file.write("/elsewhere\n")
    with (folder / "torch-1.dist-info" / "RECORD").open("a") as file:
        file.write("torch/new.py,,\n")


def _swap_kinds(folder: Path) -> None:
    (folder / "torch" / "version.py").unlink()
    (folder / "torch" / "version.py").mkdir()
    (folder / "torch" / "version.py" / "x").write_text("")
    (folder / "paths.pth").unlink()
    (folder / "paths.pth").symlink_to("torch")


def _links(folder: Path) -> None:
    prefix = folder.parents[1]
    (prefix / "lib64").unlink()
    (prefix / "lib64").symlink_to("elsewhere")


def _rights(folder: Path) -> None:
    prefix = folder.parents[1]
    (prefix / "bin" / "tool").chmod(0o600)
    (prefix / "empty").chmod(0o700)
    (folder / "torch" / "version.py").chmod(0o400)  # linked: the snapshot's has these rights, too


def _delete_everything(folder: Path) -> None:
    for entry in folder.parents[1].iterdir():
        if entry.is_symlink() or entry.is_file():
            entry.unlink()
        elif entry.name != ".fadoctor":
            shutil.rmtree(entry)


CHANGES = (_upgrade, _edit_in_place, _swap_kinds, _links, _rights, _delete_everything)


@pytest.mark.parametrize("change", CHANGES)
def test_restored_file_for_file(store: Store, change: Callable[[Path], None]) -> None:
    before = manifest(store.prefix)
    take(store)
    change(site(store))
    assert manifest(store.prefix) != before
    assert restore(store) == ()
    assert manifest(store.prefix) == before


def test_taking_changes_nothing_and_restoring_nothing_is_a_no_op(store: Store) -> None:
    before = manifest(store.prefix)
    take(store)
    assert manifest(store.prefix) == before
    assert restore(store) == ()
    assert manifest(store.prefix) == before


def test_large_files_are_linked_and_edited_ones_are_copied(store: Store) -> None:
    take(store)
    kinds = {path: entry.kind for path, entry in read_manifest(store).items()}
    folder = "lib/site-packages"
    assert kinds[f"{folder}/torch/lib/libtorch.so"] == "linked"
    assert kinds[f"{folder}/paths.pth"] == "copied"
    assert kinds[f"{folder}/torch-1.dist-info/RECORD"] == "copied"
    assert kinds["bin/tool"] == "copied"
    here = site(store) / "torch" / "lib" / "libtorch.so"
    assert here.samefile(store.snapshot / folder / "torch" / "lib" / "libtorch.so")


def test_a_linked_file_that_was_edited_is_named(store: Store) -> None:
    """Nothing can bring it back: hiding that would be a lie."""
    take(store)
    with (site(store) / "torch" / "version.py").open("a") as file:
        file.write("# edited in place\n")
    assert restore(store) == ("lib/site-packages/torch/version.py",)


def test_a_small_file_of_a_package_that_moves_survives_being_cut_off(store: Store) -> None:
    before = manifest(store.prefix)
    take(store, lambda path: "/torch/" in path)
    os.truncate(site(store) / "torch" / "version.py", 0)
    assert restore(store) == ()
    assert manifest(store.prefix) == before


def test_what_only_the_project_has_does_not_stop_a_snapshot(store: Store) -> None:
    """A named pipe, a name that is no text, and a link that leads nowhere."""
    os.mkfifo(store.prefix / "pipe.txt")
    os.close(os.open(os.fsencode(store.prefix) + b"/\xff", os.O_CREAT | os.O_WRONLY))
    (store.prefix / "nowhere").symlink_to("/does/not/exist")
    take(store)
    _upgrade(site(store))
    before = read_manifest(store)
    paths = {path for path in before if path.startswith("lib/")}
    assert restore_job(store, Job(before, {}, paths, paths)).spoiled == ()
    assert (store.prefix / "pipe.txt").exists()


def test_where_links_are_impossible_files_are_copied(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    before = manifest(store.prefix)
    take(store)
    assert "linked" not in {entry.kind for entry in read_manifest(store).values()}
    _upgrade(site(store))
    assert restore(store) == ()
    assert manifest(store.prefix) == before


def test_without_a_manifest_nothing_is_touched(store: Store) -> None:
    """A snapshot that was cut off must not be restored: files would be missing from it."""
    take(store)
    store.manifest.unlink()
    before = manifest(store.prefix)
    with pytest.raises(ApplyError, match="cannot be read"):
        restore(store)
    assert manifest(store.prefix) == before


def test_discarding_leaves_the_environment_alone(store: Store) -> None:
    before = manifest(store.prefix)
    take(store)
    discard(store)
    assert manifest(store.prefix) == before
    assert not store.snapshot.exists()


def test_a_name_that_is_no_text_is_refused(store: Store) -> None:
    os.close(os.open(os.fsencode(site(store)) + b"/\xff", os.O_CREAT | os.O_WRONLY))
    with pytest.raises(ApplyError, match="rename it"):
        take(store)


@pytest.mark.parametrize("path", ["../outside", "/etc/x", "lib64/x", "lib/../../x"])
def test_a_manifest_reaches_nothing_outside(store: Store, path: str) -> None:
    """Somebody else may have written it; lib64 is a link in this tree."""
    take(store)
    entries = [*read_manifest(store).values(), SnapshotEntry(path, "copied", 0o600, 1, 1)]
    write_safely(store.manifest, entries)
    before = manifest(store.prefix)
    with pytest.raises(ApplyError, match="outside"):
        restore(store)
    assert manifest(store.prefix) == before
