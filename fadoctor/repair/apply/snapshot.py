"""A snapshot of an environment, by hard links.

Installers replace files and do not write into them; the few that are edited in place are copied,
and so are the small ones of the packages that are about to change. The manifest holds what every
file looked like, so that one that was edited is noticed.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import ApplyError
from fadoctor.model.typed import decode
from fadoctor.processes.own_files import own_folders
from fadoctor.repair.apply.likeness import observe, write_likeness
from fadoctor.repair.apply.ownership import in_packages
from fadoctor.repair.apply.store import FOLDER, read_safely, write_safely

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from fadoctor.repair.apply.store import Store

COPIED_NAMES = frozenset(
    {"pyvenv.cfg", "easy-install.pth", "RECORD", "INSTALLER", "REQUESTED", "direct_url.json",
     "METADATA", "history"}
)  # fmt: skip
COPIED_ENDINGS = (".pth", ".egg-link", ".cfg", ".toml", ".ini", ".json", ".txt")
COPIED_FOLDERS = ("bin", "Scripts", "conda-meta")
COPY_LIMIT = 1 << 20
"""Bytes of a file that is copied; nothing that is edited in place is larger."""
MOVED_COPY_LIMIT = 1 << 16
"""Bytes up to which the files of packages that are about to change are copied, too."""


class SnapshotEntry(msgspec.Struct, frozen=True, array_like=True):
    """One file, folder or symbolic link of the environment."""

    path: str
    """Relative to the environment."""
    kind: str
    """``folder``, ``link``, ``file``, ``gone``; in the manifest a file is ``linked`` (a hard link
    to the snapshot), ``copied``, or ``unkept``: not in the snapshot."""
    mode: int
    size: int
    mtime_ns: int
    target: str = ""
    inode: int = 0

    @property
    def is_file(self) -> bool:
        """Whether it is neither a folder nor a link, nor gone."""
        return self.kind not in ("folder", "link", "gone")

    def look(self) -> tuple[object, ...]:
        """Return what two copies of the same thing have in common."""
        if self.kind == "link":
            return ("link", self.target)
        if self.kind == "folder":
            return ("folder", self.mode)
        return ("file", self.mode, self.size, self.mtime_ns)


def gone(path: str) -> SnapshotEntry:
    """Return the entry of something that is not there."""
    return SnapshotEntry(path, "gone", 0, 0, 0)


def same(one: SnapshotEntry, other: SnapshotEntry) -> bool:
    """Return whether two entries show the same thing; folders are the same with other content."""
    if one.is_file and other.is_file:
        return _stamp(one) == _stamp(other)
    if one.kind != other.kind:
        return False
    return one.target == other.target if one.kind == "link" else one.mode == other.mode


def _stamp(entry: SnapshotEntry) -> tuple[int, ...]:
    return (entry.mode, entry.size, entry.mtime_ns, entry.inode)


def take(
    store: Store,
    is_moving: Callable[[str], bool] = lambda _: False,
    planned: Collection[str] = (),
) -> None:
    """Take the snapshot; the manifest is written last, and only then it counts.

    `is_moving` says of a path whether it belongs to a package that is about to change, `planned`
    which those are: how they look is noted, too. Outside of the folders with packages what cannot
    be linked or read is noted, and not kept.
    """
    shutil.rmtree(store.snapshot, ignore_errors=True)
    store.manifest.unlink(missing_ok=True)
    own_folders(store.prefix, store.snapshot)
    write_likeness(store, observe(store.prefix, planned))
    entries = [_keep(store, entry, is_moving) for entry in present(store.prefix)]
    write_safely(store.manifest, entries)


def present(prefix: Path) -> Iterator[SnapshotEntry]:
    """Yield everything below an environment, folders before what is in them; our own apart."""
    for found in _walk(prefix):
        entry = _entry(prefix, found)
        if entry is not None:
            yield entry


def _walk(prefix: Path) -> Iterator[os.DirEntry[str]]:
    folders = [os.fspath(prefix)]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            if folder == os.fspath(prefix) or in_packages(os.path.relpath(folder, prefix) + "/x"):
                raise
            continue  # somebody else's, in a folder that is a project's as well
        for entry in entries:
            if entry.name == FOLDER and Path(entry.path).parent == prefix:
                continue
            yield entry
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)


def look_again(prefix: Path, path: str) -> SnapshotEntry | None:
    """Return how one path looks now; None where it is gone."""
    return _entry(prefix, prefix / path)


def _entry(prefix: Path, found: os.DirEntry[str] | Path) -> SnapshotEntry | None:
    """Return the entry; None for what no journal can hold and no installer has written."""
    place = os.fspath(found)
    path = os.path.relpath(place, prefix).replace(os.sep, "/")
    try:
        status = found.stat(follow_symlinks=False)
        target = os.fspath(Path(place).readlink()) if found.is_symlink() else ""
        (path + target).encode()
    except FileNotFoundError:
        return None
    except UnicodeEncodeError as error:
        if not in_packages(path):
            return None
        raise ApplyError(
            f"{path!r} is not a name that the journal can record: rename it"
        ) from error
    if stat.S_ISLNK(status.st_mode):
        return SnapshotEntry(path, "link", status.st_mode, 0, status.st_mtime_ns, target)
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return SnapshotEntry(path, "folder", mode, 0, status.st_mtime_ns)
    kind = "file" if stat.S_ISREG(status.st_mode) else "unkept"
    return SnapshotEntry(path, kind, mode, status.st_size, status.st_mtime_ns, "", status.st_ino)


def _keep(store: Store, entry: SnapshotEntry, is_moving: Callable[[str], bool]) -> SnapshotEntry:
    """Put a file into the snapshot; where it cannot be linked it is copied."""
    here, there = store.prefix / entry.path, store.snapshot / entry.path
    if entry.kind == "folder":
        there.mkdir()
    if entry.kind != "file":
        return entry
    is_small = entry.size <= MOVED_COPY_LIMIT
    copied = msgspec.structs.replace(entry, kind="copied")
    try:
        if _is_edited_in_place(entry) or (is_small and is_moving(entry.path)):
            shutil.copy2(here, there)
            return copied
        try:
            os.link(here, there, follow_symlinks=False)
        except OSError:
            if entry.size > COPY_LIMIT and not in_packages(entry.path):
                return msgspec.structs.replace(entry, kind="unkept")
            shutil.copy2(here, there)
            return copied
    except OSError:
        if in_packages(entry.path):
            raise
        there.unlink(missing_ok=True)
        return msgspec.structs.replace(entry, kind="unkept")
    return msgspec.structs.replace(entry, kind="linked")


def _is_edited_in_place(entry: SnapshotEntry) -> bool:
    parts = Path(entry.path).parts
    return entry.size <= COPY_LIMIT and (
        parts[-1] in COPIED_NAMES
        or parts[-1].endswith(COPIED_ENDINGS)
        or parts[0] in COPIED_FOLDERS
    )


def read_manifest(store: Store) -> dict[str, SnapshotEntry]:
    """Return the manifest by path; ApplyError where there is none that can be read."""
    try:
        entries = decode(read_safely(store.manifest), list[SnapshotEntry])
    except (OSError, msgspec.DecodeError) as error:
        raise ApplyError(f"the snapshot in {store.folder} cannot be read: {error}") from error
    links = {entry.path for entry in entries if entry.kind == "link"}
    for entry in entries:
        path = PurePath(entry.path)
        above = {path_above.as_posix() for path_above in path.parents}
        if path.is_absolute() or ".." in path.parts or above & links:
            raise ApplyError(f"the snapshot in {store.folder} names a file outside: {entry.path!r}")
    return {entry.path: entry for entry in entries}


def discard(store: Store) -> None:
    """Delete snapshot and journal; the environment is left alone."""
    told = (store.changes, store.decision, store.manifest, store.likeness, store.project)
    for file in (store.journal, *told):
        file.unlink(missing_ok=True)
    shutil.rmtree(store.snapshot, ignore_errors=True)
