"""The journal: what has been begun in an environment, readable after a kill at any moment."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.plan import ActionKind, Plan
from fadoctor.repair.apply.step_process import StepProcess
from fadoctor.repair.apply.store import read_record, write_safely

if TYPE_CHECKING:
    from fadoctor.repair.apply.store import Store


class JournalStage(enum.Enum):
    """How far it came. Declared in the order in which they follow each other."""

    SNAPSHOT = "snapshot"
    """The snapshot is being taken: nothing has been changed."""
    READY = "ready"
    """The snapshot is whole: from here on an undo restores it."""
    RUNNING = "running"
    DONE = "done"
    UNDOING = "undoing"


class Journal(msgspec.Struct, frozen=True):
    """What is on disk."""

    stage: JournalStage
    plan: Plan
    freeze: tuple[str, ...]
    """Every distribution before, with its origin: for a person who restores by hand."""
    step: int = -1
    """Index of the action that runs or ran last."""
    process: StepProcess = StepProcess()
    """Of that step."""
    schema_version: int = 2

    def planned(self) -> frozenset[str]:
        """Return the distributions that the plan changes."""
        changed = {change.distribution for change in self.plan.changes}
        removed = (
            name
            for action in self.plan.actions
            if action.kind is ActionKind.UNINSTALL
            for name in action.requirements
        )
        return frozenset(changed.union(removed))


def write_journal(store: Store, journal: Journal) -> None:
    """Replace the journal on disk."""
    write_safely(store.journal, journal)


def read_journal(store: Store) -> Journal | None:
    """Return the journal, None where there is none; ApplyError for one that cannot be read."""
    return read_record(store.journal, Journal)
