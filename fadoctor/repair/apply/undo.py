"""Take the last change of an environment back: what it touched, and nothing that others made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.errors import ApplyError
from fadoctor.repair.apply.changes import Changes, find_changes, read_changes, write_changes
from fadoctor.repair.apply.decision import Decision, decide, read_decision, write_decision
from fadoctor.repair.apply.journal import Journal, JournalStage, read_journal, write_journal
from fadoctor.repair.apply.project_files import restore_project
from fadoctor.repair.apply.proof import come_since, unlike
from fadoctor.repair.apply.restore import Job, Restored, restore
from fadoctor.repair.apply.snapshot import discard, read_manifest
from fadoctor.repair.apply.step_process import end_step

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.repair.apply.store import Store


class UndoOutlook(msgspec.Struct, frozen=True):
    """What an undo would do."""

    journal: Journal
    changes: Changes
    decision: Decision


class Undone(msgspec.Struct, frozen=True):
    """What an undo did."""

    restored: bool
    """False where nothing had been changed."""
    others: tuple[str, ...] = ()
    """What others have changed since, and was left as it is; with force, brought back, too."""
    spoiled: tuple[str, ...] = ()
    """Files that are not as before: edited in place, or in the way of something else."""
    aside: tuple[str, ...] = ()
    """What others had changed in packages that were brought back: where it is kept."""
    unlike: tuple[str, ...] = ()
    """What is not as before, in lines; then the snapshot is kept."""

    @property
    def is_proved(self) -> bool:
        """Whether all that the fix had changed was compared, and is as it was before."""
        return not (self.spoiled or self.unlike)


def look(store: Store, *, force: bool = False) -> UndoOutlook | None:
    """Return what an undo would do; None where nothing had been changed. Changes nothing.

    ApplyError where there is nothing to undo, or no record of what was changed.
    """
    journal = read_journal(store)
    if journal is None:
        raise ApplyError(f"there is nothing to undo in {store.prefix}")
    if journal.stage is JournalStage.SNAPSHOT:
        return None
    changes = read_changes(store)
    if journal.stage is JournalStage.UNDOING and changes is not None:
        return UndoOutlook(journal, changes, read_decision(store))
    killed = journal.stage in (JournalStage.READY, JournalStage.RUNNING)
    if (killed and (changes is None or changes.step < journal.step)) or (force and not changes):
        # It was killed within a step: what differs in the folders with packages is its doing.
        changes = find_changes(store, journal.step, journal.planned())
    if changes is None:
        raise ApplyError(
            f"{store.changes} is gone, so the changes of the fix are unknown: "
            "fadoctor fix --undo --force restores everything that differs"
        )
    return UndoOutlook(journal, changes, decide(store, changes, force=force))


def undo(
    store: Store, *, force: bool = False, agree: Callable[[UndoOutlook], bool] = lambda _: True
) -> Undone | None:
    """Take the last change back; the lock is the caller's. ApplyError where there is none.

    A step that still runs is ended first. Can be interrupted and repeated. `agree` is asked before
    anything is changed; where it says no, None is returned.
    """
    journal = read_journal(store)
    if journal is not None and not end_step(journal.process):
        raise ApplyError("a step of the interrupted change is still running and does not end")
    try:
        outlook = look(store, force=force)
        if outlook is None:
            discard(store)
            return Undone(restored=False)
        if not agree(outlook):
            return None
        return _carry_back(store, outlook)
    except OSError as error:
        raise ApplyError(
            f"not everything could be restored: {error}; the snapshot is kept; run "
            "fadoctor fix --undo again"
        ) from error


def _carry_back(store: Store, outlook: UndoOutlook) -> Undone:
    """Write down what is decided, then do it: a second undo does the same, not half of it.

    The snapshot is let go only where what is there was compared with it.
    """
    changes, decision = outlook.changes, outlook.decision
    if outlook.journal.stage is not JournalStage.UNDOING:
        write_changes(store, changes)
        write_decision(store, decision)
        write_journal(store, msgspec.structs.replace(outlook.journal, stage=JournalStage.UNDOING))
    before = read_manifest(store)
    job = Job(before, changes.by_path(), frozenset(decision.paths), frozenset(decision.expendable))
    restored = restore(store, job)
    found = unlike(store, before, changes, decision)
    lines = tuple(line for line in found if not _is_in(restored, line))
    others = (*decision.others, *come_since(store, changes, decision), *restore_project(store))
    undone = Undone(True, others, restored.spoiled, restored.aside, lines)
    if undone.is_proved:
        discard(store)
    return undone


def _is_in(restored: Restored, line: str) -> bool:
    return line.rpartition(" (")[0] in restored.spoiled
