"""The command ``rules update``: newer rules without a newer fadoctor, and the way back."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fadoctor.interfaces.cli.output import write
from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable

if TYPE_CHECKING:
    from fadoctor.interfaces.commands.rules_update import Update
    from fadoctor.knowledge.updates.archive import Release

_CHECKOUT = (
    "this fadoctor runs from a checkout, where the files below rules/ are what counts; "
    "--dry-run looks at a release without using it"
)


def update(
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Take this wheel instead of asking an index: for machines without a network.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Fetch and check, and change nothing.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Go back to the rules that were in use before.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Fetch newer rules with pip or uv from your package index, check them, and use them.

    The package holds data only; no code in it runs. It is used if it is newer, fits this
    fadoctor, and all its cases pass.
    """
    from fadoctor.knowledge.matrix.load import is_checkout
    from fadoctor.processes.ending import ends_by_signals

    if undo and (from_ or dry_run):
        raise UsageError("--undo takes no other option")
    if is_checkout() and not dry_run:
        raise UsageError(_CHECKOUT)
    with ends_by_signals():
        text = _undone() if undo else _updated(from_, dry_run=dry_run, quiet=quiet)
    write(text, None)


def _undone() -> str:
    from fadoctor.interfaces.commands.rules_update import go_back

    left, used = go_back()
    return f"{left.capitalize()} are no longer used. In use now: {used}.\n"


def _updated(from_: Path | None, *, dry_run: bool, quiet: bool) -> str:
    from datetime import datetime, timezone

    from fadoctor.interfaces.cli.terminal import spinner
    from fadoctor.interfaces.commands.rules_update import take

    with spinner("fetching rules", quiet=quiet) as say:
        release, source = _release(from_)
        say("checking rules and running their cases")
        today = datetime.now(timezone.utc).date().isoformat()
        found = take(release, source, today, dry_run=dry_run, named=from_ is not None)
    return f"{_said(found, dry_run=dry_run)}\n"


def _release(from_: Path | None) -> tuple[Release, str]:
    """Return the release, and where it came from in words."""
    if from_ is not None:
        from fadoctor.knowledge.updates.archive import read_wheel

        return read_wheel(from_), f"the file {printable(from_.name, 80)}"
    from fadoctor.knowledge.updates.fetch import fetch
    from fadoctor.processes.run import run

    with tempfile.TemporaryDirectory(prefix="fadoctor-rules-") as folder:
        release, by = fetch(Path(folder), os.environ, run)
    return release, f"the index that {by} is set to"


def _said(found: Update, *, dry_run: bool) -> str:
    if found.judged is None:
        return f"Nothing newer: {found.version} was found. In use: {found.before}."
    checked = (
        f"Checked: {found.judged.rules} rules, {found.judged.tables} tables, "
        f"all {found.judged.cases} cases pass.\n"
        f"  sha256 {found.sha256}"
    )
    if dry_run:
        then = "They are newer and would be used" if found.newer else "They are not newer"
        return (
            f"Rules {found.version} fit this fadoctor. {checked}\n"
            f"{then}. Nothing was changed. In use: {found.before}."
        )
    return (
        f"Rules {found.version} are in use now. {checked}\n"
        f"Before: {found.before}. To go back: fadoctor rules update --undo"
    )
