"""Bring chosen files of an environment back from its snapshot, and nothing else.

What somebody else has written meanwhile is never overwritten: it is set aside first.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from fadoctor.processes.own_files import own_folders
from fadoctor.repair.apply.ownership import is_compiled
from fadoctor.repair.apply.snapshot import SnapshotEntry, gone, present, same
from fadoctor.repair.apply.store import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.repair.apply.store import Store

_TEMPORARY = re.compile(r"\.fadoctor-\d{1,10}")


class Job(msgspec.Struct, frozen=True):
    """What is brought back."""

    before: Mapping[str, SnapshotEntry]
    """The snapshot's manifest."""
    after: Mapping[str, SnapshotEntry]
    """What the change left: only what still looks so may be thrown away."""
    paths: Collection[str]
    expendable: Collection[str] = frozenset()
    """Of them, those that may be thrown away however they look."""


class Restored(msgspec.Struct, frozen=True):
    """What came of it."""

    spoiled: tuple[str, ...] = ()
    """What could not be brought back, or was edited in place and so is not as before."""
    aside: tuple[str, ...] = ()
    """What was set aside, as paths below the environment."""


def restore(store: Store, job: Job) -> Restored:
    """Bring paths back. Can be repeated: what is right already is left alone."""
    here = {entry.path: entry for entry in present(store.prefix)}
    for path in [path for path in here if _TEMPORARY.fullmatch(PurePosixPath(path).name)]:
        (store.prefix / path).unlink()  # of an undo that was killed
        del here[path]
    work = _Work(store, job, here)
    for path in sorted(job.paths, reverse=True):  # what is in a folder before the folder
        work.clear(path)
    wanted = [job.before[path] for path in sorted(job.paths) if path in job.before]
    spoiled = [entry.path for entry in wanted if not work.bring_back(entry)]
    work.set_folder_times()
    return Restored(tuple(spoiled), tuple(work.aside))


class _Work:
    """One restoration."""

    def __init__(self, store: Store, job: Job, here: dict[str, SnapshotEntry]) -> None:
        self.store, self.job, self.here = store, job, here
        self.aside: list[str] = []
        self._real_folders: set[str] = set()

    def clear(self, path: str) -> None:
        """Remove what was not there before, or is of another kind by now."""
        found, wanted = self.here.get(path), self.job.before.get(path)
        if found is None:
            return
        is_folder = found.kind == "folder"
        if wanted is not None and is_folder is (wanted.kind == "folder"):
            return
        if is_folder:
            try:
                (self.store.prefix / path).rmdir()
            except OSError:  # somebody else's files are in it
                if wanted is not None:
                    self._set_aside(path)
        elif self._may_go(found):
            (self.store.prefix / path).unlink()
        else:
            self._set_aside(path)
        self.here.pop(path, None)

    def bring_back(self, entry: SnapshotEntry) -> bool:
        """Bring one path back; False where it is not as the manifest says."""
        place = self.store.prefix / entry.path
        if not self._has_folders(entry.path):
            return False
        if entry.kind == "folder":
            place.mkdir(exist_ok=True)
            if stat.S_IMODE(place.lstat().st_mode) != entry.mode:
                place.chmod(entry.mode)
            return True
        if entry.kind == "unkept":
            return same(self.here.get(entry.path, gone(entry.path)), entry)
        if not _is_back(self.store, entry):
            found = self.here.get(entry.path)
            if found is not None and not self._may_go(found):
                self._set_aside(entry.path)
            _replace(place, _maker(self.store, entry))
        return _finish(place, entry)

    def set_folder_times(self) -> None:
        """Give folders their times back where they hold what they held: the work changed these."""
        above = {parent for path in self.job.paths for parent in _above(path)}
        touched = {path for path in above.union(self.job.paths) if self._was_folder(path)}
        held: dict[str, set[str]] = {path: set() for path in touched}
        for path in self.job.before:
            parent, _, name = path.rpartition("/")
            if parent in held:
                held[parent].add(name)
        for path in sorted(touched, reverse=True):
            folder = self.store.prefix / path
            with suppress(OSError):
                if not folder.is_symlink() and set(os.listdir(folder)) == held[path]:  # noqa: PTH208
                    times = (folder.stat().st_atime_ns, self.job.before[path].mtime_ns)
                    os.utime(folder, ns=times)

    def _was_folder(self, path: str) -> bool:
        return path in self.job.before and self.job.before[path].kind == "folder"

    def _may_go(self, found: SnapshotEntry) -> bool:
        """Return whether something is what the change left, and may be thrown away."""
        left = self.job.after.get(found.path)
        known = left is not None and same(left, found)
        before = self.job.before.get(found.path)
        old = before is not None and same(before, found)
        return known or old or is_compiled(found.path) or found.path in self.job.expendable

    def _set_aside(self, path: str) -> None:
        """Move something out of the way, to where its owner finds it."""
        kept = self.store.kept / path
        number = 1
        while os.path.lexists(kept):
            kept = self.store.kept / f"{path}.{number}"
            number += 1
        own_folders(self.store.folder, kept.parent)
        shutil.move(self.store.prefix / path, kept)
        self.aside.append(f"{FOLDER}/{kept.relative_to(self.store.folder).as_posix()}")

    def _has_folders(self, path: str) -> bool:
        """Make the folders above a path where they are missing; False where one is no folder.

        A link there would lead out of the environment.
        """
        missing = [above for above in _above(path) if above not in self._real_folders]
        for above in reversed(missing):
            folder = self.store.prefix / above
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                return False
            folder.mkdir(exist_ok=True)
            self._real_folders.add(above)
        return True


def _above(path: str) -> list[str]:
    """Return the folders above a path, the nearest first."""
    return [parent.as_posix() for parent in Path(path).parents][:-1]


def _is_back(store: Store, entry: SnapshotEntry) -> bool:
    """Return whether a path is again, or still, what the snapshot holds; rights apart."""
    here, there = store.prefix / entry.path, store.snapshot / entry.path
    with suppress(OSError):
        if entry.kind == "link":
            return here.is_symlink() and os.fspath(here.readlink()) == entry.target
        if here.is_symlink():
            return False
        if entry.kind == "linked":
            return here.samefile(there)
        status = here.stat()
        is_same = (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime_ns)
        return is_same and here.read_bytes() == there.read_bytes()
    return False


def _maker(store: Store, entry: SnapshotEntry) -> Callable[[Path], object]:
    there = store.snapshot / entry.path
    if entry.kind == "link":
        return lambda temporary: temporary.symlink_to(entry.target)
    if entry.kind == "linked":
        return lambda temporary: _link_or_copy(there, temporary)
    return lambda temporary: shutil.copy2(there, temporary)


def _link_or_copy(there: Path, temporary: Path) -> None:
    try:
        os.link(there, temporary)
    except OSError:  # another disk was put there meanwhile
        shutil.copy2(there, temporary)


def _replace(here: Path, make: Callable[[Path], object]) -> None:
    """Put something in a file's place in one move."""
    temporary = here.with_name(f".fadoctor-{os.getpid()}")
    temporary.unlink(missing_ok=True)
    make(temporary)
    temporary.replace(here)


def _finish(here: Path, entry: SnapshotEntry) -> bool:
    """Give a file its rights back; False where its content is not what it was."""
    if entry.kind == "link":
        os.utime(here, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)
        return True
    status = here.stat()
    if stat.S_IMODE(status.st_mode) != entry.mode:
        here.chmod(entry.mode)
    return (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime_ns)
