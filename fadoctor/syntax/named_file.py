"""The bytes of a file that somebody names: regular files only, none larger than meant."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fadoctor.model.errors import InputError
from fadoctor.model.files import open_file

if TYPE_CHECKING:
    from pathlib import Path


def read_named(
    name: str, path: str | Path, limit: int, fence: str = "", *, pipes: bool = False
) -> tuple[bytes, tuple[int, int]]:
    """Return content and identity (device, inode) of a file of at most `limit` bytes.

    `name`: as errors show it. InputError where it cannot be read, lies outside of the `fence`, is
    too large, or is something else: devices and pipes are not even opened.
    """
    try:
        with os.fdopen(open_file(path, fence, pipes=pipes), "rb") as file:
            status = os.fstat(file.fileno())
            data = b"" if status.st_size > limit else file.read(limit + 1)
    except OSError as error:
        raise InputError(name, error.strerror or "cannot be read") from error
    except ValueError as error:  # a NUL in the name
        raise InputError(name, "not a path") from error
    if max(status.st_size, len(data)) > limit:
        raise InputError(name, f"larger than {limit >> 20} MiB")
    return data, (status.st_dev, status.st_ino)
