"""Where records come from: files, folders, standard input. What cannot be read is said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fadoctor.fleet.streams import Intake
from fadoctor.model.errors import InputError
from fadoctor.model.files import open_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fadoctor.fleet.gathered import Gathered

STDIN = "-"
_DEEPEST = 3
_BUFFER = 1 << 20


def read_all(names: Sequence[str], stdin: BinaryIO, gathered: Gathered) -> None:
    """Read everything that is named; InputError where something named is not there."""
    intake = Intake(gathered)
    for name in names:
        path = Path(name)
        if name == STDIN:
            intake.read(stdin, "standard input")
        elif path.is_dir():
            for file in sorted(_files(path, _DEEPEST)):
                _read_file(file, intake, gathered)
        elif path.exists():
            _read_file(path, intake, gathered)
        else:
            raise InputError(name, "does not exist")
    intake.finish()


def _files(folder: Path, deep: int) -> Iterator[Path]:
    """Yield the files of a folder, without hidden ones and those that are still written."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name.endswith(".part"):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    yield from _files(Path(entry.path), deep - 1) if deep else ()
                elif entry.is_file():
                    yield Path(entry.path)
    except OSError as error:
        raise InputError(str(folder), error.strerror or "cannot be read") from error


def _read_file(path: Path, intake: Intake, gathered: Gathered) -> None:
    before = intake.found
    try:
        with os.fdopen(open_file(path, pipes=True), "rb", _BUFFER) as stream:
            intake.read(stream, str(path), path.stem)
            size = os.fstat(stream.fileno()).st_size
    except OSError as error:
        gathered.damaged(str(path), error.strerror or "cannot be read", path.stem)
        return
    if intake.found == before:
        problem = "it contains no fadoctor output" if size else "it is empty"
        gathered.damaged(str(path), problem, path.stem)
