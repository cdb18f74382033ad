"""Compare before it is said: whether what a fix had changed is again as it was."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fadoctor.repair.apply.likeness import changed_files, changed_versions, read_likeness
from fadoctor.repair.apply.ownership import is_compiled
from fadoctor.repair.apply.snapshot import look_again

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.repair.apply.changes import Changes
    from fadoctor.repair.apply.decision import Decision
    from fadoctor.repair.apply.snapshot import SnapshotEntry
    from fadoctor.repair.apply.store import Store


def unlike(
    store: Store, manifest: Mapping[str, SnapshotEntry], changes: Changes, decision: Decision
) -> tuple[str, ...]:
    """Return in lines what is not as before, though it should be; nothing where all is.

    What others have changed since, and is left as it is, does not count.
    """
    before, spared = read_likeness(store), decision.names
    versions = changed_versions(before, store.prefix, spared)
    lines = [line for name, line in versions.items() if name in changes.moved]
    lines += changed_files(before, store.prefix, changes.moved, spared)
    lines += _left_over(store, manifest, changes)
    lines += _not_back(store, manifest, decision)
    return tuple(dict.fromkeys(lines))


def come_since(store: Store, changes: Changes, decision: Decision) -> tuple[str, ...]:
    """Return a line for each distribution that somebody changed while an undo was at work."""
    spared = {*decision.names, *changes.moved}
    return tuple(changed_versions(read_likeness(store), store.prefix, spared).values())


def _left_over(
    store: Store, manifest: Mapping[str, SnapshotEntry], changes: Changes
) -> Iterator[str]:
    """Yield what the fix had written where no snapshot reaches."""
    for path in changes.named:
        if path not in manifest and not is_compiled(path) and _is_there(store, path):
            yield f"{path} (left over)"


def _not_back(
    store: Store, manifest: Mapping[str, SnapshotEntry], decision: Decision
) -> Iterator[str]:
    """Yield what was to be brought back, and does not look as the snapshot's list says."""
    for path in decision.paths:
        wanted = manifest.get(path)
        if is_compiled(path) or (wanted is not None and wanted.kind == "unkept"):
            continue
        found = look_again(store.prefix, path)
        if wanted is None:
            if found is not None and found.kind != "folder":
                yield f"{path} (left over)"
        elif found is None:
            yield f"{path} (gone)"
        elif found.look() != wanted.look():
            yield f"{path} (changed)"


def _is_there(store: Store, path: str) -> bool:
    return os.path.lexists(store.prefix / path) and not (store.prefix / path).is_dir()
