"""The one door to files that a name from outside leads to: bounded, never waiting, fenced.

Whatever a person, a file or another program names is opened here. Only regular files are: a pipe
without a writer, a terminal or a device would keep a reader for ever. A *fence* is a folder that
no name, no ``..`` and no link leads out of, also where a folder becomes a link meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable

Name = str | os.PathLike[str]

_FLAGS = (
    os.O_RDONLY
    # What was a file a moment ago can be a pipe by now, or a terminal.
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FOLDER = getattr(os, "O_DIRECTORY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OWN = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")
"""How a shell names a pipe that it has opened for us: ``<(command)``."""

_OPENAT2 = 437
"""The number of the system call, the same on every machine that Linux was brought to since 2020."""
_BENEATH, _NO_MAGIC_LINKS, _NO_LINKS = 0x08, 0x02, 0x04
"""RESOLVE_* of linux/openat2.h."""


class OutsideError(OSError):
    """A name that leads out of its fence."""

    def __init__(self, name: Name) -> None:
        """Take the name, which the fence's owner may not be told more about."""
        super().__init__(errno.EACCES, "is outside of the folder that may be read", os.fspath(name))


class NotRegularError(OSError):
    """A name of something that is no regular file."""


def open_file(name: Name, fence: str = "", *, pipes: bool = False) -> int:
    """Return a descriptor of a regular file; OSError where a name leads to none.

    `pipes` also allows one that a shell opened for this process. ValueError for no path at all.
    """
    is_own = pipes and os.fspath(name).startswith(_OWN)
    if not fence and not is_own:
        # A driver may act on being opened: what is a device already is not.
        _require_regular(os.stat(name).st_mode)  # noqa: PTH116 -- some hundred times
    descriptor = _open_below(fence, name) if fence else os.open(name, _FLAGS)
    try:
        mode = os.fstat(descriptor).st_mode
        if is_own and stat.S_ISFIFO(mode):
            os.set_blocking(descriptor, True)
        else:
            _require_regular(mode)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_stream(name: Name, fence: str = "", *, pipes: bool = False) -> BinaryIO:
    """Return a regular file to read piece by piece; the reader bounds what is read."""
    return os.fdopen(open_file(name, fence, pipes=pipes), "rb")


def read_bytes(name: Name, limit: int, fence: str = "", *, pipes: bool = False) -> bytes:
    """Return the first `limit` bytes of a regular file; OSError or ValueError where it is none.

    Files below /proc and /sys are regular files of size 0.
    """
    with open_stream(name, fence, pipes=pipes) as file:
        return file.read(limit)


def read_file(path: Name, limit: int) -> str | None:
    """Return a regular file's text, at most `limit` bytes, what is no UTF-8 replaced; else None."""
    try:
        return read_bytes(path, limit).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return None


def _require_regular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise NotRegularError(errno.EISDIR, "is a folder; name the file in it")
    if not stat.S_ISREG(mode):
        raise NotRegularError(errno.ENXIO, "is not a regular file")


def _open_below(fence: str, name: Name) -> int:
    """Open a file below a folder; OutsideError wherever it may be otherwise, there or not.

    The true path has neither links nor dots: that none appears on the way is left to the system.
    """
    root, path = os.path.realpath(fence), os.path.realpath(name)
    inside = path.removeprefix(root.rstrip(os.sep) + os.sep)
    if inside == path and path != root:
        raise OutsideError(name)
    if path == root:
        raise NotRegularError(errno.EISDIR, "is a folder; name the file in it")
    if os.open not in os.supports_dir_fd:
        return os.open(path, _FLAGS)
    folder = os.open(root, os.O_RDONLY | _FOLDER | _FLAGS)
    try:
        return _opener()(folder, inside)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EXDEV):  # a link appeared meanwhile
            raise OutsideError(name) from error
        raise
    finally:
        os.close(folder)


def _opener() -> Callable[[int, str], int]:
    return _by_openat2 if sys.platform == "linux" else _by_steps


def _by_openat2(folder: int, path: str) -> int:
    """Open in one step what must lie below a folder; step by step on a kernel before 5.6."""
    import ctypes  # noqa: PLC0415 -- only where there is a fence

    class How(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64),
                    ("resolve", ctypes.c_uint64))  # fmt: skip

    how = How(_FLAGS, 0, _BENEATH | _NO_MAGIC_LINKS | _NO_LINKS)
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    size = ctypes.c_size_t(ctypes.sizeof(how))
    number, at = ctypes.c_long(_OPENAT2), ctypes.c_long(folder)
    found = int(call(number, at, ctypes.c_char_p(os.fsencode(path)), ctypes.byref(how), size))
    if found >= 0:
        return found
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG):  # a sandbox may refuse it
        return _by_steps(folder, path)
    raise OSError(code, os.strerror(code), path)


def _by_steps(folder: int, path: str) -> int:
    """Open folder after folder, none of which may be a link."""
    *folders, last = path.split(os.sep)  # noqa: PTH206 -- a str is at hand
    at = os.dup(folder)
    try:
        for each in folders:
            deeper = os.open(each, _FLAGS | _FOLDER | _NO_LINK, dir_fd=at)
            os.close(at)
            at = deeper
        return os.open(last, _FLAGS | _NO_LINK, dir_fd=at)
    finally:
        os.close(at)
