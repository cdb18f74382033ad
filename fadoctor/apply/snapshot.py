"""A snapshot of an environment, by hard links, and its restoration file for file.

Installers replace files and do not write into them; the few that are edited in place are copied.
The manifest holds what every file looked like, so that one that was edited is noticed.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import msgspec

from fadoctor.apply.store import FOLDER, write_safely
from fadoctor.model.errors import ApplyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.apply.store import Store

COPIED_NAMES = frozenset(
    {"pyvenv.cfg", "easy-install.pth", "RECORD", "INSTALLER", "REQUESTED", "direct_url.json",
     "METADATA", "history"}
)  # fmt: skip
COPIED_ENDINGS = (".pth", ".egg-link", ".cfg", ".toml", ".ini", ".json", ".txt")
COPIED_FOLDERS = ("bin", "Scripts", "conda-meta")
COPY_LIMIT = 1 << 20
"""Bytes of a file that is copied; nothing that is edited in place is larger."""


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One file, folder or symbolic link of the environment."""

    path: str
    """Relative to the environment."""
    kind: str
    """``folder``, ``link``, ``linked`` (a hard link to the snapshot) or ``copied``."""
    mode: int
    size: int
    mtime_ns: int
    target: str = ""


def take(store: Store) -> None:
    """Take the snapshot; the manifest is written last, and only then it counts."""
    shutil.rmtree(store.snapshot, ignore_errors=True)
    store.manifest.unlink(missing_ok=True)
    store.snapshot.mkdir(parents=True)
    entries = []
    for found in walk(store.prefix):
        entry = _entry(store.prefix, found)
        entries.append(_keep(store, entry))
    write_safely(store.manifest, entries)


def walk(prefix: Path) -> Iterator[os.DirEntry[str]]:
    """Yield everything below an environment, folders before what is in them; our own apart."""
    folders = [os.fspath(prefix)]
    while folders:
        with os.scandir(folders.pop()) as found:
            for entry in sorted(found, key=lambda entry: entry.name):
                if entry.name == FOLDER and Path(entry.path).parent == prefix:
                    continue
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def _entry(prefix: Path, found: os.DirEntry[str]) -> Entry:
    status = found.stat(follow_symlinks=False)
    path = os.path.relpath(found.path, prefix)
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise ApplyError(f"{path!r} is no name that a journal can hold: rename it") from error
    if stat.S_ISLNK(status.st_mode):
        target = os.fspath(Path(found.path).readlink())
        return Entry(path, "link", status.st_mode, 0, status.st_mtime_ns, target)
    if stat.S_ISDIR(status.st_mode):
        return Entry(path, "folder", stat.S_IMODE(status.st_mode), 0, status.st_mtime_ns)
    kind = "copied" if _is_edited_in_place(path, status.st_size) else "linked"
    mode = stat.S_IMODE(status.st_mode)
    return Entry(path, kind, mode, status.st_size, status.st_mtime_ns)


def _is_edited_in_place(path: str, size: int) -> bool:
    parts = Path(path).parts
    return size <= COPY_LIMIT and (
        parts[-1] in COPIED_NAMES
        or parts[-1].endswith(COPIED_ENDINGS)
        or parts[0] in COPIED_FOLDERS
    )


def _keep(store: Store, entry: Entry) -> Entry:
    """Put a file into the snapshot; where it cannot be linked it is copied."""
    here, there = store.prefix / entry.path, store.snapshot / entry.path
    if entry.kind == "folder":
        there.mkdir()
    elif entry.kind == "linked":
        try:
            os.link(here, there, follow_symlinks=False)
        except OSError:
            shutil.copy2(here, there)
            return msgspec.structs.replace(entry, kind="copied")
    elif entry.kind == "copied":
        shutil.copy2(here, there)
    return entry


def read_manifest(store: Store) -> list[Entry]:
    """Return the manifest; ApplyError where there is none that can be read."""
    try:
        entries = msgspec.json.decode(store.manifest.read_bytes(), type=list[Entry])
    except (OSError, msgspec.DecodeError) as error:
        raise ApplyError(f"the snapshot in {store.folder} cannot be read: {error}") from error
    links = {entry.path for entry in entries if entry.kind == "link"}
    for entry in entries:
        path = PurePath(entry.path)
        above = {path_above.as_posix() for path_above in path.parents}
        if path.is_absolute() or ".." in path.parts or above & links:
            raise ApplyError(f"the snapshot in {store.folder} names a file outside: {entry.path!r}")
    return entries


def restore(store: Store) -> tuple[str, ...]:
    """Bring every file back; return those that were edited in place, and so are not as before.

    Can be repeated: what is right already is left alone.
    """
    entries = read_manifest(store)
    wanted = {entry.path: entry for entry in entries}
    _remove_others(store, wanted)
    spoiled = [entry.path for entry in entries if not _bring_back(store, entry)]
    for entry in reversed(entries):  # what was written into folders has changed their times
        if entry.kind == "folder":
            os.utime(store.prefix / entry.path, ns=(entry.mtime_ns, entry.mtime_ns))
    return tuple(spoiled)


def _remove_others(store: Store, wanted: dict[str, Entry]) -> None:
    """Remove what was not there before, and what is of another kind by now."""
    found = [(os.path.relpath(entry.path, store.prefix), entry) for entry in walk(store.prefix)]
    for path, entry in reversed(found):
        is_folder = entry.is_dir(follow_symlinks=False)
        expected = wanted.get(path)
        if expected is not None and is_folder is (expected.kind == "folder"):
            continue
        if is_folder:
            shutil.rmtree(entry.path)
        else:
            Path(entry.path).unlink()


def _bring_back(store: Store, entry: Entry) -> bool:
    """Bring one file back; False where the snapshot's own copy is not as the manifest says."""
    here, there = store.prefix / entry.path, store.snapshot / entry.path
    if entry.kind == "folder":
        here.mkdir(exist_ok=True)
        here.chmod(entry.mode)
        return True
    if entry.kind == "link":
        if not here.is_symlink() or os.fspath(here.readlink()) != entry.target:
            _replace(here, lambda temporary: temporary.symlink_to(entry.target))
            os.utime(here, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=False)
        return True
    if entry.kind == "linked":
        if not _same_file(here, there):
            _replace(here, lambda temporary: os.link(there, temporary))
    elif not _same_content(here, there, entry):
        _replace(here, lambda temporary: shutil.copy2(there, temporary))
    status = here.stat()
    return (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime_ns)


def _same_file(here: Path, there: Path) -> bool:
    with suppress(OSError):
        return not here.is_symlink() and here.samefile(there)
    return False


def _same_content(here: Path, there: Path, entry: Entry) -> bool:
    with suppress(OSError):
        status = here.lstat()
        same = (status.st_size, status.st_mtime_ns) == (entry.size, entry.mtime_ns)
        mode = stat.S_IMODE(status.st_mode) == entry.mode
        return same and mode and here.read_bytes() == there.read_bytes()
    return False


def _replace(here: Path, make: Callable[[Path], object]) -> None:
    """Put something in a file's place in one move."""
    temporary = here.with_name(f".fadoctor-{os.getpid()}")
    temporary.unlink(missing_ok=True)
    make(temporary)
    temporary.replace(here)


def discard(store: Store) -> None:
    """Delete snapshot and journal; the environment is left alone."""
    store.journal.unlink(missing_ok=True)
    store.manifest.unlink(missing_ok=True)
    shutil.rmtree(store.snapshot, ignore_errors=True)
