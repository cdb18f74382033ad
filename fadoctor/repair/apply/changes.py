"""What a fix changed: recorded after each step, so that an undo takes back that and nothing else.

Counted are the folders with packages, and what distributions own outside of them (scripts, data).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.repair.apply.likeness import changed_versions, named_by, read_likeness
from fadoctor.repair.apply.ownership import (
    Claims,
    OwnedDistribution,
    claimed_outside,
    claims,
    folders_above,
    in_packages,
    installed,
    is_compiled,
    source_of,
    unequal,
)
from fadoctor.repair.apply.snapshot import SnapshotEntry, gone, present, read_manifest, same
from fadoctor.repair.apply.store import read_record, write_safely
from fadoctor.repair.apply.strangers import strangers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from fadoctor.repair.apply.ownership import Installed
    from fadoctor.repair.apply.store import Store

_OF_INSTALLERS = frozenset({".lock"})
"""What installers leave in an environment's folder, and no package owns: uv's lock."""


class Changes(msgspec.Struct, frozen=True):
    """What differs from the snapshot because of the fix, and how it left it."""

    step: int
    """Index of the last step that is counted."""
    entries: tuple[SnapshotEntry, ...]
    installed: dict[str, tuple[OwnedDistribution, ...]]
    """The distributions that it left there."""
    moved: tuple[str, ...] = ()
    """The distributions that it changed, or was to change; links followed."""
    named: tuple[str, ...] = ()
    """What these own by their lists, and did not before."""

    def by_path(self) -> dict[str, SnapshotEntry]:
        """Return the entries by path."""
        return {entry.path: entry for entry in self.entries}


def find_changes(
    store: Store, step: int, planned: Collection[str], *, whole: bool = False
) -> Changes:
    """Compare an environment, as a step left it, with its snapshot.

    `planned`: the distributions that the plan changes; `whole`: whether the step came to its end,
    so that what no planned one requires was changed by somebody else's installer.

    Outside of the folders with packages only what they own counts, and what others own that came or
    went; what any owns and is gone, too: an installer that is killed has removed scripts before it
    removes the list that names them.
    """
    before = read_manifest(store)
    here = {entry.path: entry for entry in present(store.prefix)}
    was, now = installed(store.snapshot), installed(store.prefix)
    names = unequal(was, now).union(planned)
    outside = claimed_outside(store.snapshot, store.prefix, names)
    outside |= claimed_outside(store.prefix, store.prefix, names) | _OF_INSTALLERS
    owned = claimed_outside(store.snapshot, store.prefix, was)
    outside |= {path for path in owned if path not in here}
    changed = {
        path
        for path in before.keys() | here.keys()
        if (in_packages(path) or path in outside) and differs(path, before, here)
    }
    changed |= {  # share/man/man1, which came or went with what is in it
        parent
        for path in changed
        for parent in _above(path)
        if (parent in before) is not (parent in here)
    }
    theirs = strangers(store, was, now, planned, whole=whole)
    if whole:
        changed -= _unfinished(store.prefix, now, changed.difference(before))
    entries = tuple(here.get(path, gone(path)) for path in sorted(changed))
    left = {name: each for name, each in now.items() if name not in theirs}
    left |= {name: was[name] for name in theirs if name in was}
    return Changes(step, entries, left, *_through_links(store, planned, theirs))


def _unfinished(prefix: Path, now: Installed, new: set[str]) -> set[str]:
    """Return what is new among packages, and in no list: another installer is still at work there.

    One that came to its end has left the lists of all that it wrote.
    """
    if not new:
        return set()
    owned = [claims(prefix, prefix, one) for several in now.values() for one in several]
    files: frozenset[str] = frozenset().union(*(each.files for each in owned))
    folders = {folder for each in owned for folder in each.folders}
    known = Claims(files, tuple(folders))
    above = folders_above(known)
    return {
        path
        for path in new
        if in_packages(path)
        and not (path in above or path in folders or _is_owned(path, files, folders))
    }


def _is_owned(path: str, files: Collection[str], folders: Collection[str]) -> bool:
    source = source_of(path)
    if is_compiled(path) and source == path:  # a folder of compiled files
        return True
    return source in files or any(above in folders for above in (source, *_above(source)))


def _through_links(
    store: Store, planned: Collection[str], theirs: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the distributions that changed, and what they own since, as an interpreter sees it."""
    before = read_likeness(store)
    moved = {*changed_versions(before, store.prefix), *planned}.difference(theirs)
    known = {path for files in before.files.values() for path in files}
    named = named_by(store.prefix, moved).difference(known)
    return tuple(sorted(moved)), tuple(sorted(named))


def differs(
    path: str, one: Mapping[str, SnapshotEntry], other: Mapping[str, SnapshotEntry]
) -> bool:
    """Return whether two states show something else in one place."""
    nothing = gone(path)
    return not same(one.get(path, nothing), other.get(path, nothing))


def write_changes(store: Store, changes: Changes) -> None:
    """Put the record on disk; only then it counts."""
    write_safely(store.changes, changes)


def read_changes(store: Store) -> Changes | None:
    """Return the record; None where there is none, ApplyError where it cannot be read."""
    return read_record(store.changes, Changes)


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]
