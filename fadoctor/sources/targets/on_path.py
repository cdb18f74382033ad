"""The interpreters that a person gets by typing ``python``: where PATH leads, nothing run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.sources.probes.interpreter_files import is_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NAMES = ("python", "python3", "python.exe")
_MAX_FOLDERS = 200


def pythons_on_path(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield what is called ``python`` on PATH in its order, then ``python3``, links not followed.

    Relative folders of PATH do not count: the folder one stands in may hold a hostile ``python``.
    """
    folders = [Path(text) for text in environ.get("PATH", "").split(os.pathsep)[:_MAX_FOLDERS]]
    for name in _NAMES:
        for folder in folders:
            path = folder / name
            if folder.is_absolute() and is_file(path) and os.access(path, os.X_OK):
                yield path
