"""Keep a release of rules in the user's data folder: put one there, and go back.

A release is a folder that is complete before it gets its name; which one is in use says a pointer
that is replaced whole. A command that starts meanwhile sees the one or the other.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.fetched import (
    COMPILED_FILES,
    RELEASE_FILE,
    FetchedRelease,
    Pointer,
    read_pointer,
    read_release,
)
from fadoctor.knowledge.matrix.load import write_compiled
from fadoctor.knowledge.updates import ReleaseError
from fadoctor.processes.own_files import own_folders, refuse_foreign, write_own

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from fadoctor.knowledge.matrix.compile import Compiled


_ABANDONED_S = 86_400.0
"""How old the workplace of an update is that nobody works in any more, seconds."""


def unpack(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write the files of a release below a folder; return the folder of rules."""
    rules = folder / "rules"
    for name, data in files.items():
        path = rules / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return rules


def workplace(pointer: Path | None) -> AbstractContextManager[str]:
    """Return a temporary folder on the disk of the releases, so that one can be moved there.

    Without a pointer it is anywhere.
    """
    if pointer is None:
        return tempfile.TemporaryDirectory(prefix="fadoctor-rules-")
    try:
        base = pointer.parents[2]
        base.mkdir(parents=True, exist_ok=True)
        own_folders(base, pointer.parent)
        return tempfile.TemporaryDirectory(prefix=".new-", dir=pointer.parent)
    except OSError as error:
        raise ReleaseError(f"{pointer.parent}: cannot be written to: {error.strerror}") from error


def put(
    pointer: Path, made: Path, release: FetchedRelease, compiled: Compiled | None = None
) -> None:
    """Write the compiled form of what was unpacked to `made`, and use it from now on."""
    try:
        write_compiled(made / "rules", made, compiled)
        sizes = {name: (made / name).stat().st_size for name in COMPILED_FILES}
        known = msgspec.structs.replace(release, sizes=sizes)
        (made / RELEASE_FILE).write_bytes(msgspec.json.encode(known))
        name = f"{release.version}-{release.sha256[:12]}"
        in_use = read_pointer(pointer)
        before = in_use.folder if in_use is not None else ""
        if before == name:  # the same once more, because it was damaged
            before = in_use.before if in_use is not None else ""
        _move(made, pointer.parent / name)
        _point(pointer, Pointer(name, before))
    except OSError as error:
        raise ReleaseError(f"{pointer.parent}: cannot be written to: {error.strerror}") from error
    _remove_others(pointer, {name, before})


def undo(pointer: Path) -> FetchedRelease | None:
    """Go back to what was used before; return what is left behind, None where it is damaged."""
    try:
        for folder in pointer.parents[1::-1]:
            refuse_foreign(folder, folder=True)
    except OSError as error:
        raise ReleaseError(f"{pointer}: cannot be changed: {error.strerror}") from error
    if not pointer.exists():
        raise ReleaseError("there is nothing to undo: no rules were fetched")
    named = read_pointer(pointer)
    left = read_release(pointer.parent / named.folder) if named is not None else None
    before = named.before if named is not None else ""
    if before and read_release(pointer.parent / before) is None:
        before = ""
    try:
        if before:
            _point(pointer, Pointer(before))
        else:
            pointer.unlink()
    except OSError as error:
        raise ReleaseError(f"{pointer}: cannot be changed: {error.strerror}") from error
    _remove_others(pointer, {before})
    return left


def _move(made: Path, to: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".old-", dir=to.parent) as rest:
        if to.exists():
            to.rename(Path(rest, "old"))
        made.rename(to)


def _point(pointer: Path, to: Pointer) -> None:
    write_own(pointer, msgspec.json.encode(to))


def _remove_others(pointer: Path, kept: set[str]) -> None:
    """Remove releases that neither are in use nor were before; what cannot be removed stays.

    So are workplaces of updates that were killed; another update may be at work in a fresh one.
    """
    for folder in _folders(pointer):
        if folder.name not in kept and (folder.name[0] != "." or _is_abandoned(folder)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        return folder.stat().st_mtime < time.time() - _ABANDONED_S
    except OSError:
        return False


def _folders(pointer: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from [path for path in pointer.parent.iterdir() if path.is_dir()]
