"""Answers that are kept: valid while the same distributions and files lie there.

Each is one file of the cache, written beside its place and moved there: two processes that answer
the same at the same time do no harm. What cannot be read is not there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor import __version__
from fadoctor.model.typed import decode, encode
from fadoctor.processes.own_files import own_folders, read_own
from fadoctor.sources.import_names.model import Broken, ModuleEntry, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SIZE_LIMIT = 8 << 20
FOLDER_LIMIT = 192 << 20
"""Bytes of all files of the cache; the oldest go first."""
COUNT_LIMIT = 1_000
SCHEMA = 2


class NameVerdict(msgspec.Struct, frozen=True):
    """One answer and what it hangs on."""

    schema: int
    files: dict[str, tuple[int, int]]
    """Path -> size and time in nanoseconds, -1 for what is not there."""
    variables: dict[str, bool]
    """Environment variable -> whether it was set."""
    broken: tuple[Broken, ...]


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the cache; None where nobody knows a home, or it is nobody's."""
    base = environ.get("XDG_CACHE_HOME") or ""
    if not os.path.isabs(base):  # noqa: PTH117 -- a text that may be no path
        home = environ.get("HOME") or ""
        if not os.path.isabs(home):  # noqa: PTH117
            return None
        base = f"{home}/.cache"
    return Path(base, "fadoctor", "contracts")


def verdict_file(folder: Path, site: Site, entries: Mapping[str, ModuleEntry]) -> Path:
    """Return the file of the answer for a site."""
    asked = (
        __version__, SCHEMA, site.folders, sorted(site.installed.items()), site.python, site.system,
        site.hooked, sorted(entries.items()),
    )  # fmt: skip
    digest = hashlib.sha256(encode(asked)).hexdigest()
    return folder / f"verdict-{digest[:32]}.json"


def kept_answer(file: Path, site: Site) -> tuple[Broken, ...] | None:
    """Return what was found before, where nothing that it hangs on has changed."""
    try:
        verdict = decode(read_own(file, SIZE_LIMIT), NameVerdict)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
    is_set = set(site.variables)
    same = verdict.schema == SCHEMA and all(
        (name in is_set) == was for name, was in verdict.variables.items()
    )
    return verdict.broken if same and _unchanged(verdict.files) else None


def _unchanged(files: Mapping[str, tuple[int, int]]) -> bool:
    return all(look(path) == seen for path, seen in files.items())


def look(path: str) -> tuple[int, int]:
    """Return size and time of a file as the reader of sources tells them."""
    try:
        found = os.stat(path)  # noqa: PTH116 -- hundreds of files
    except (OSError, ValueError):
        return (-1, 0)
    kind = found.st_mode & 0o170000
    size = {0o100000: found.st_size, 0o040000: 0}.get(kind, -1)
    return (size, found.st_mtime_ns)


def keep_answer(file: Path, verdict: NameVerdict) -> None:
    """Keep an answer; where that is not possible, nothing is lost."""
    data = encode(verdict)
    if len(data) > SIZE_LIMIT:
        return
    with contextlib.suppress(OSError, ValueError):
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def made(folder: Path | None) -> Path | None:
    """Return the folder, made where it was not there; None where it cannot be written.

    None as well where it, or the one above, is a link or belongs to another user.
    """
    if folder is None:
        return None
    base = folder.parents[1]
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        own_folders(base, folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def prune(folder: Path) -> None:
    """Delete the oldest files where there are too many, or too large ones."""
    with contextlib.suppress(OSError):
        files = sorted(_files(folder), reverse=True)
        room = FOLDER_LIMIT
        for count, (_, size, path) in enumerate(files):
            room -= size
            if room < 0 or count >= COUNT_LIMIT:
                with contextlib.suppress(OSError):
                    os.unlink(path)  # noqa: PTH108


def _files(folder: Path) -> Iterable[tuple[int, int, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False) and entry.name.endswith(".json"):
                found = entry.stat(follow_symlinks=False)
                yield found.st_mtime_ns, found.st_size, entry.path
