"""The bytes of a file that somebody names: regular files only, none larger than meant."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from fadoctor.model.errors import InputError


def read_named(name: str, path: str | Path, limit: int) -> tuple[bytes, tuple[int, int]]:
    """Return content and identity (device, inode) of a file of at most `limit` bytes.

    `name`: as errors show it. InputError where it cannot be read, is too large, or is something
    else: devices and pipes are not even opened.
    """
    try:
        return _read(name, Path(path), limit)
    except OSError as error:
        raise InputError(name, error.strerror or "cannot be read") from error
    except ValueError as error:  # a NUL in the name
        raise InputError(name, "not a path") from error


def _read(name: str, path: Path, limit: int) -> tuple[bytes, tuple[int, int]]:
    _refuse_special(name, path.stat(), limit)
    # Not blocking: what was a file a moment ago can be a pipe by now.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _refuse_special(name, status, limit)
        data = file.read(limit + 1)
    if len(data) > limit:
        raise InputError(name, f"larger than {limit >> 20} MiB")
    return data, (status.st_dev, status.st_ino)


def _refuse_special(name: str, status: os.stat_result, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InputError(name, "is a folder; name the file in it")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(name, "is not a regular file")
    if status.st_size > limit:
        raise InputError(name, f"larger than {limit >> 20} MiB")
