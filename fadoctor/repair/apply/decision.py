"""Decide what an undo brings back: what the fix changed. The rest is somebody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.repair.apply.changes import differs
from fadoctor.repair.apply.others import describe_distributions, describe_files
from fadoctor.repair.apply.ownership import (
    Claims,
    claims,
    folders_above,
    in_packages,
    installed,
    is_compiled,
    source_of,
    unequal,
)
from fadoctor.repair.apply.snapshot import present, read_manifest
from fadoctor.repair.apply.store import read_needed, write_safely

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.repair.apply.changes import Changes
    from fadoctor.repair.apply.ownership import Installed
    from fadoctor.repair.apply.snapshot import SnapshotEntry
    from fadoctor.repair.apply.store import Store


class Decision(msgspec.Struct, frozen=True):
    """What is brought back and what is left; written down, so that a killed undo can go on."""

    paths: tuple[str, ...]
    expendable: tuple[str, ...]
    """Of the paths, those that nobody misses however they look."""
    others: tuple[str, ...]
    """What others have changed since, a line each."""
    names: tuple[str, ...] = ()
    """The distributions of others among them that are left as they are."""


def decide(store: Store, changes: Changes, *, force: bool) -> Decision:
    """Return what is brought back; with `force` what others changed, too, where that is possible.

    Outside of the folders with packages nothing that is new is ever removed.
    """
    scene = _Scene(store, changes)
    mine = {path for path in scene.left if scene.is_mine(path)}
    mine |= set(scene.compiled_of(mine))
    differing = scene.differing()
    foreign = {path for path in differing - mine if not is_compiled(path)}
    others = describe_distributions(scene.names, changes.installed, scene.installed)
    others += describe_files(foreign, scene.protected, scene.before, scene.here)
    if force:
        mine |= {path for path in differing if in_packages(path) or path in scene.before}
        mine |= {path for path in differing if scene.protected.own(path)}
    expendable = {path for path in mine if scene.protected.own(path)} if force else set()
    left = () if force else scene.names
    return Decision(tuple(sorted(mine)), tuple(sorted(expendable)), tuple(others), left)


def write_decision(store: Store, decision: Decision) -> None:
    """Put the decision on disk."""
    write_safely(store.decision, decision)


def read_decision(store: Store) -> Decision:
    """Return what an undo that was interrupted had decided; ApplyError where it is gone."""
    return read_needed(store.decision, Decision)


class _Scene:
    """Three states of an environment: before the fix, as the fix left it, and at present."""

    def __init__(self, store: Store, changes: Changes) -> None:
        self.store = store
        self.before = read_manifest(store)
        self.left = changes.by_path()
        self.here: dict[str, SnapshotEntry] = {entry.path: entry for entry in present(store.prefix)}
        was, self.installed = installed(store.snapshot), installed(store.prefix)
        self.names = tuple(sorted(unequal(changes.installed, self.installed)))
        self.protected = self._claims(self.names, was)
        """What belongs to distributions that somebody has changed since the fix."""
        self.moved = self._claims(sorted(unequal(was, changes.installed)), was)
        """What belongs to distributions that the fix changed."""
        self._around = folders_above(self.protected)

    def is_mine(self, path: str) -> bool:
        """Return whether something that the fix changed is brought back.

        Not where the whole distribution is another one by now: half of each would be neither.
        """
        if self.protected.own(path) or path in self._around:
            return False
        untouched = not differs(path, self.left, self.here)
        is_folder = self.left[path].kind == "folder"
        return (
            untouched
            or is_folder
            or path not in self.here
            or is_compiled(path)
            or self.moved.own(path)
        )

    def compiled_of(self, mine: set[str]) -> Iterator[str]:
        """Yield the compiled files of sources that are brought back, and their folders."""
        for path in self.here.keys() | self.before.keys():
            if not is_compiled(path) or path in mine:
                continue
            source = source_of(path)
            if source in mine and differs(path, self.before, self.here):
                yield path
                folder = path.rpartition("/")[0]
                if folder not in self.before:
                    yield folder

    def differing(self) -> set[str]:
        """Return every path that is not as before the fix."""
        paths = self.before.keys() | self.here.keys()
        return {path for path in paths if differs(path, self.before, self.here)}

    def _claims(self, names: Iterable[str], was: Installed) -> Claims:
        """Return what distributions of these names owned before or own at present."""
        prefix = self.store.prefix
        found: list[Claims] = []
        for name in names:
            found += [claims(self.store.snapshot, prefix, one) for one in was.get(name, ())]
            found += [claims(prefix, prefix, one) for one in self.installed.get(name, ())]
        files: frozenset[str] = frozenset().union(*(each.files for each in found))
        return Claims(files, tuple(folder for each in found for folder in each.folders))
