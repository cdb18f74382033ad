"""`fix --undo`, and the way back after a failure: what is said, what is asked, the exit code."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fadoctor.interfaces.cli.output import tell as tell_person
from fadoctor.interfaces.cli.support import EXIT_FINDINGS, environment_of
from fadoctor.interfaces.commands.environment_name import how_to_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.environment import Target
    from fadoctor.repair.apply.store import Store
    from fadoctor.repair.apply.undo import Undone, UndoOutlook
    from fadoctor.sources.examine.request import Request

LINES = 20
"""Of a list that is printed."""


def undo_for(request: Request, *, force: bool, yes: bool, dry_run: bool) -> int:
    """Take the last change of an environment back; ApplyError where that cannot be."""
    from fadoctor.model.errors import UsageError
    from fadoctor.repair.apply.undo import look, undo

    store = named_store(request.python) or store_of(_target(request))
    store.refuse_foreign()
    has_journal = store.journal.is_file()
    if dry_run and has_journal:
        _foretell(look(store, force=force), store, force=force)
        return 0
    with store.locked():  # also removes what a fix that was killed early has left
        if not has_journal:
            raise UsageError(f"there is nothing to undo in {store.prefix}")
        agree = (lambda outlook: _agrees(outlook, yes=yes)) if force else (lambda _: True)
        with _repeatable(store):
            undone = undo(store, force=force, agree=agree)
    if undone is None:
        say("nothing was changed")
        return EXIT_FINDINGS
    return tell(undone, store, force=force)


def way_back(store: Store, *, yes: bool) -> None:
    """Offer to take back what was begun, and do it."""
    from fadoctor.repair.apply.undo import undo

    if not store.journal.is_file():
        say("nothing had been changed")
        return
    if not (yes or agreed("Undo everything?", otherwise=True)):
        say("left as it is; `fadoctor fix --undo` undoes it")
        return
    with _repeatable(store):
        undone = undo(store)
    if undone is not None:
        tell(undone, store)


@contextmanager
def _repeatable(store: Store) -> Iterator[None]:
    """Say what to do after Ctrl-C on the way back."""
    try:
        yield
    except KeyboardInterrupt:
        if store.journal.is_file():
            say("undoing was interrupted: run fadoctor fix --undo again")
        raise


def tell(undone: Undone, store: Store, *, force: bool = False) -> int:
    """Say what an undo did; return the exit code."""
    if not undone.restored:
        say("nothing had been changed")
        return 0
    if undone.others and not force:
        if undone.is_proved:
            say(f"what the fix had changed in {store.prefix} is as it was before")
        say("others have changed since, and it was left as it is:")
        _list(undone.others)
    elif undone.is_proved:
        say(f"{store.prefix} is as it was before")
    if undone.aside:
        say("these were restored although they had been changed since; the changed files are in:")
        _list(undone.aside)
    if undone.spoiled:
        say(
            "these could not be restored: they were edited in place, or something else "
            "is in their way:"
        )
        _list(undone.spoiled)
        say("to restore them, reinstall the packages that they belong to")
    if undone.unlike:
        say(f"{store.prefix} is NOT as it was before: this differs from the snapshot:")
        _list(undone.unlike)
    if undone.is_proved:
        return 0
    say(
        f"the snapshot stays in {store.folder}: fadoctor fix --undo tries again; "
        "remove that folder to give the snapshot up"
    )
    return EXIT_FINDINGS


def named_store(named: str) -> Store | None:
    """Return the store of the folder or interpreter that was named, where it has a journal.

    Whatever was half done there, its interpreter need not run for an undo.
    """
    from fadoctor.repair.apply.store import Store

    path = Path(named).absolute()
    for prefix in (path, *path.parents[1:2]) if named else ():
        store = Store(prefix)
        if store.journal.is_file():
            return store
    return None


def store_of(target: Target) -> Store:
    """Return the store of a target."""
    from fadoctor.repair.apply.store import Store

    return Store(Path(target.roots["prefix"]))


def _target(request: Request) -> Target:
    """Return the target to undo in: one that may be run, as its journal says what is deleted."""
    from fadoctor.model.errors import UsageError

    if not request.is_real:
        raise UsageError("--undo needs a real environment: name it with --python")
    target = environment_of(request, [])[1].target
    if not target.may_run:
        raise UsageError(how_to_name(target, "--undo"))
    return target


def _foretell(outlook: UndoOutlook | None, store: Store, *, force: bool) -> None:
    """Say what an undo would do."""
    if outlook is None:
        say("nothing had been changed")
        return
    from fadoctor.report.words import counted

    paths = counted(len(outlook.decision.paths), "path")
    say(f"{paths} in {store.prefix} would be restored")
    if outlook.decision.others:
        say(
            "others have changed since, and it would be "
            + ("restored too, where possible:" if force else "left as it is:")
        )
        _list(outlook.decision.others)


def _agrees(outlook: UndoOutlook, *, yes: bool) -> bool:
    """Show what --force takes from others, and ask."""
    from fadoctor.model.errors import UsageError

    if not outlook.decision.others:
        return True
    say("others have changed since the fix:")
    _list(outlook.decision.others)
    say("--force restores these as well; new files outside of packages stay")
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on: use --undo --force --yes")
    return agreed("Restore all of these?", otherwise=False)


def agreed(question: str, *, otherwise: bool) -> bool:
    """Ask on the terminal; where there is none, the answer is no, or what was typed to be it."""
    if not sys.stdin.isatty():
        return otherwise
    say(f"{question} [{'Y/n' if otherwise else 'y/N'}]")
    answer = sys.stdin.readline().strip().lower()
    return otherwise if not answer else answer in ("y", "yes")


def _list(lines: Iterable[str]) -> None:
    every = list(lines)
    for line in every[:LINES]:
        say(f"  {line}")
    if len(every) > LINES:
        say(f"  and {len(every) - LINES} more")


def say(text: str) -> None:
    """Write a line for a person."""
    tell_person(text)
