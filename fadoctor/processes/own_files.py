"""Files and folders that fadoctor alone makes: never through a link, never another user's.

Whoever can put a link where we keep something decides otherwise what we overwrite or delete.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SIZE_LIMIT = 256 << 20

_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class NotOurOwnError(OSError):
    """Something lies where we keep our own, and we did not make it. `strerror` is the sentence."""

    def __init__(self, path: Path, what: str) -> None:
        """Take the place and what is there."""
        super().__init__(errno.EPERM, f"{path} {what}: remove it, or look who put it there")
        self.path = path

    def __str__(self) -> str:
        """Return the sentence."""
        return str(self.strerror)


def refuse_foreign(path: Path, *, folder: bool) -> bool:
    """Return whether it is there; NotOurOwnError where it is a link, another kind, or a stranger's.

    NotADirectoryError where a folder above is none.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    _refuse(path, status, folder=folder)
    return True


def own_folder(path: Path) -> None:
    """Make a folder that only we may use, or look that it is one."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        refuse_foreign(path, folder=True)
        if os.name == "posix" and path.lstat().st_mode & 0o022:  # of an earlier umask
            path.chmod(0o700)


def own_folders(base: Path, path: Path) -> None:
    """Make the folders below `base`, which may be anybody's, down to `path`, each as our own."""
    for each in (*reversed(path.parents), path):
        if base in each.parents:
            own_folder(each)


def open_own(path: Path, flags: int) -> int:
    """Return a descriptor of a file of ours."""
    try:
        descriptor = os.open(path, flags | _NO_LINK | _BINARY, 0o600)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            refuse_foreign(path, folder=False)
        raise
    try:
        _refuse(path, os.fstat(descriptor), folder=False)
        if not _NO_LINK:
            refuse_foreign(path, folder=False)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def read_own(path: Path, limit: int = SIZE_LIMIT) -> bytes:
    """Return the content of a file of ours, up to a limit."""
    with os.fdopen(open_own(path, os.O_RDONLY), "rb") as file:
        return file.read(limit)


def write_own(path: Path, data: bytes) -> None:
    """Replace a file of ours so that a reader finds the old or the new, whatever happens."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    descriptor = open_own(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_folder(path.parent)


def _refuse(path: Path, status: os.stat_result, *, folder: bool) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise NotOurOwnError(path, "is a link, and fadoctor makes none there")
    is_right = stat.S_ISDIR(status.st_mode) if folder else stat.S_ISREG(status.st_mode)
    if not is_right:
        raise NotOurOwnError(path, f"is no {'folder' if folder else 'regular file'}")
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise NotOurOwnError(path, "belongs to another user")


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where folders can be synced."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
