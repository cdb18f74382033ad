"""What an environment holds, links followed: two moments of it are compared before it is said.

It looks where an interpreter looks, and not where a snapshot looks: what a snapshot misses, it
finds.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.repair.apply.ownership import claims, installed, is_compiled
from fadoctor.repair.apply.store import read_needed, write_safely

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fadoctor.repair.apply.ownership import Claims, Installed
    from fadoctor.repair.apply.store import Store

_CHUNK = 1 << 20


class Look(msgspec.Struct, frozen=True, array_like=True):
    """How one file looks, links followed."""

    kind: str
    """``file``, ``folder``, ``other``, or ``gone``."""
    mode: int = 0
    size: int = 0
    mtime_ns: int = 0
    digest: str = ""
    """Of its content; empty where that was not asked for."""


class Likeness(msgspec.Struct, frozen=True):
    """What is installed, and how every file looks that a RECORD names."""

    versions: dict[str, tuple[str, ...]]
    files: dict[str, dict[str, Look]]
    """Of each distribution, by path relative to the environment."""


def observe(prefix: Path, digested: Collection[str]) -> Likeness:
    """Look at an environment; the files of the distributions that are `digested` are read."""
    found = installed(prefix, follow=True)
    files = {
        name: {
            path: look_at(prefix / path, digest=name in digested)
            for path in sorted(named_by(prefix, (name,), found))
        }
        for name in found
    }
    return Likeness(_versions(found), files)


def versions_of(prefix: Path) -> dict[str, tuple[str, ...]]:
    """Return the versions of what is installed, by name."""
    return _versions(installed(prefix, follow=True))


def named_by(prefix: Path, names: Collection[str], found: Installed | None = None) -> set[str]:
    """Return the paths that belong to distributions of these names, links followed."""
    there = installed(prefix, follow=True) if found is None else found
    owned = (claims(prefix, prefix, one) for name in names for one in there.get(name, ()))
    return {path for each in owned for path in _files(prefix, each)}


def look_at(path: Path, *, digest: bool) -> Look:
    """Look at one path, links followed."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return Look("gone")
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return Look("folder", mode)
    if not stat.S_ISREG(status.st_mode):
        return Look("other", mode)
    content = _digest(path) if digest else ""
    return Look("file", mode, status.st_size, status.st_mtime_ns, content)


def changed_versions(
    before: Likeness, prefix: Path, spared: Collection[str] = ()
) -> dict[str, str]:
    """Return the distributions that are not what they were, each with a line that says it."""
    here = versions_of(prefix)
    pairs = {
        name: (before.versions.get(name, ()), here.get(name, ()))
        for name in sorted(before.versions.keys() | here.keys())
        if name not in spared
    }
    return {name: _changed(name, *pair) for name, pair in pairs.items() if pair[0] != pair[1]}


def changed_files(
    before: Likeness, prefix: Path, names: Collection[str], spared: Collection[str]
) -> Iterator[str]:
    """Yield a line for each file of distributions that does not look as before.

    What Python compiles by itself, and what belongs to those that are `spared`, has none.
    """
    theirs = named_by(prefix, spared).union(*(before.files.get(name, ()) for name in spared))
    for name in sorted(set(names).difference(spared)):
        for path, old in sorted(before.files.get(name, {}).items()):
            if is_compiled(path) or path in theirs:
                continue
            new = look_at(prefix / path, digest=bool(old.digest))
            if new != old:
                yield f"{path} ({'gone' if new.kind == 'gone' else 'changed'})"


def write_likeness(store: Store, likeness: Likeness) -> None:
    """Put it on disk."""
    write_safely(store.likeness, likeness)


def read_likeness(store: Store) -> Likeness:
    """Return it; ApplyError where it cannot be read, and nothing can be compared."""
    return read_needed(store.likeness, Likeness)


def _changed(name: str, was: tuple[str, ...], now: tuple[str, ...]) -> str:
    if not now:
        return f"{name} {' and '.join(was)} is not installed"
    return f"{name} is {' and '.join(now)}" + (f", not {' and '.join(was)}" if was else " (new)")


def _versions(found: Installed) -> dict[str, tuple[str, ...]]:
    return {name: tuple(sorted(one.version for one in each)) for name, each in found.items()}


def _files(prefix: Path, owned: Claims) -> Iterator[str]:
    yield from owned.files
    for folder in owned.folders:
        for top, _, names in os.walk(prefix / folder):
            yield from (Path(top, name).relative_to(prefix).as_posix() for name in names)


def _digest(path: Path) -> str:
    found = hashlib.blake2b(digest_size=20)
    with suppress(OSError), path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
        return found.hexdigest()
    return "unreadable"
