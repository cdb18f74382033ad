"""The files by which a project says what is installed: kept before a change, and brought back."""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import ApplyError
from fadoctor.repair.apply.store import read_record, write_safely

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.repair.apply.store import Store

UV_PROJECT = "uv-project"
NAMES = {UV_PROJECT: ("pyproject.toml", "uv.lock")}
"""Tool -> what its command writes beside the environment."""
_EVERY = frozenset(name for names in NAMES.values() for name in names)
SIZE_LIMIT = 64 << 20


class _Kept(msgspec.Struct, frozen=True):
    """One file as it was."""

    content: bytes
    mode: int
    mtime_ns: int


class ProjectFiles(msgspec.Struct, frozen=True):
    """What is on disk: the files before, and how a step has left them."""

    before: dict[str, _Kept | None]
    after: dict[str, str] = {}
    """Name -> digest of its content, "" where it is not there; nothing before a step has ended."""


def project_folder(installer: str, prefix: Path) -> Path | None:
    """Return the folder of the project whose tool runs the commands; None for an installer."""
    return prefix.parent if installer in NAMES else None


def keep_project(store: Store, installer: str) -> None:
    """Keep the files of a project; OSError or ApplyError where one cannot be kept."""
    folder = project_folder(installer, store.prefix)
    if folder is None:
        store.project.unlink(missing_ok=True)
        return
    before = {name: _kept(folder / name) for name in NAMES[installer]}
    write_safely(store.project, ProjectFiles(before))


def note_project(store: Store) -> None:
    """Note how a step has left the files: what differs later is somebody else's doing."""
    found = _read(store)
    if found is not None:
        after = {name: _digest(store.prefix.parent / name) for name in found.before}
        write_safely(store.project, msgspec.structs.replace(found, after=after))


def restore_project(store: Store) -> tuple[str, ...]:
    """Bring the files back; return those that others have changed since, which stay as they are."""
    found = _read(store)
    return () if found is None else tuple(_restored(found, store.prefix.parent))


def _restored(found: ProjectFiles, folder: Path) -> Iterator[str]:
    for name, kept in found.before.items():
        path = folder / name
        now, was = _digest(path), "" if kept is None else hashlib.sha256(kept.content).hexdigest()
        if now == was:
            continue
        if found.after and now != found.after.get(name):
            yield str(path)
        elif kept is None:
            path.unlink()
        else:
            _write(path, kept)


def _read(store: Store) -> ProjectFiles | None:
    found = read_record(store.project, ProjectFiles)
    if found is not None and not found.before.keys() <= _EVERY:
        raise ApplyError(f"{store.project} names files that no project has")
    return found


def _kept(path: Path) -> _Kept | None:
    if path.is_symlink():
        raise ApplyError(f"{path} is a link: nothing was changed. Run the commands yourself")
    try:
        looks = path.stat()
    except FileNotFoundError:
        return None
    if looks.st_size > SIZE_LIMIT:
        raise ApplyError(f"{path} is too large to be kept: nothing was changed")
    return _Kept(path.read_bytes(), looks.st_mode & 0o7777, looks.st_mtime_ns)


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return ""


def _write(path: Path, kept: _Kept) -> None:
    """Replace a file in one step, with the rights and the time that it had."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(kept.content)
        Path(name).chmod(kept.mode)
        os.utime(name, ns=(kept.mtime_ns, kept.mtime_ns))
        Path(name).replace(path)
    except OSError:
        with suppress(OSError):
            Path(name).unlink()
        raise
