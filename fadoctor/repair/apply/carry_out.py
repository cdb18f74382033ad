"""Carry out a plan's commands one by one; every one can be taken back."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.environment import Environment
from fadoctor.model.errors import ApplyError
from fadoctor.model.fact import Known, fact_mapping, printable
from fadoctor.model.plan import Action, ActionKind
from fadoctor.processes.command import Command, Ending, Result, child_environment
from fadoctor.processes.run import NO_TRACES
from fadoctor.repair.apply.changes import find_changes, write_changes
from fadoctor.repair.apply.journal import Journal, JournalStage, read_journal, write_journal
from fadoctor.repair.apply.ownership import claims, installed
from fadoctor.repair.apply.project_files import keep_project, note_project, project_folder
from fadoctor.repair.apply.snapshot import discard, take
from fadoctor.repair.apply.step_process import NAME, begun, end_step, new_step

if TYPE_CHECKING:
    from fadoctor.model.plan import Plan
    from fadoctor.repair.apply.store import Store

INSTALL_LIMIT_S = 3_600.0
BUILD_LIMIT_S = 6 * 3_600.0
OUTPUT_LIMIT = 1 << 20
_REASON_LINES = 3
_SAID_LINES = 6
"""With those that go on with one: uv writes the cause below its error."""


class Workshop(msgspec.Struct, frozen=True):
    """What carrying out touches beside files: processes, probes, and a place for progress."""

    run: Callable[[Command, Callable[[int], None]], Result]
    examine: Callable[[], Environment]
    """Read the environment again."""
    say: Callable[[str], None]


def carry_out(plan: Plan, store: Store, workshop: Workshop) -> Environment:
    """Run a plan's commands and return the environment afterwards; the lock is the caller's.

    ApplyError, with the environment as the failed step left it, where something goes wrong; `undo`
    restores it then. KeyboardInterrupt passes after the running step was ended.
    """
    refuse_interrupted(store)
    environment = workshop.examine()
    journal = Journal(JournalStage.SNAPSHOT, plan, _freeze(environment))
    try:
        discard(store)
        write_journal(store, journal)
        workshop.say("taking a snapshot")
        take(store, _is_moving(journal, store), journal.planned())
        keep_project(store, plan.installer)
        journal = msgspec.structs.replace(journal, stage=JournalStage.READY)
        write_journal(store, journal)
    except OSError as error:
        raise ApplyError(f"no snapshot could be taken: {error.strerror or error}") from error
    steps = [action for action in plan.actions if action.kind.is_run]
    for number, action in enumerate(steps):
        workshop.say(f"step {number + 1} of {len(steps)}: {action.text}")
        _step(number, action, store, workshop, journal)
        _record(store, number, journal)
        environment = workshop.examine()
        _refuse_unchanged(action, plan, environment)
    write_journal(store, msgspec.structs.replace(journal, stage=JournalStage.DONE))
    return environment


def refuse_interrupted(store: Store) -> None:
    """Refuse to go on from a half-done change: a new snapshot would take it for the right state."""
    earlier = read_journal(store)
    if earlier is not None and earlier.stage not in (JournalStage.DONE, JournalStage.SNAPSHOT):
        raise ApplyError(
            f"an earlier change of {store.prefix} was interrupted: "
            "undo it first, with fadoctor fix --undo"
        )


def _step(number: int, action: Action, store: Store, workshop: Workshop, journal: Journal) -> None:
    """Run one command; the mark that it carries is in the journal before it does anything."""
    running = msgspec.structs.replace(journal, stage=JournalStage.RUNNING, step=number)
    step = new_step()

    def announce(pid: int) -> None:
        write_journal(store, msgspec.structs.replace(running, process=begun(step, pid)))

    # Not in the environment's folder, which may be a project's: its email.py would shadow pip's.
    # A tool of a project finds it by the folder that it runs in.
    limit = BUILD_LIMIT_S if action.kind is ActionKind.BUILD else INSTALL_LIMIT_S
    env = child_environment({**os.environ, **action.env, NAME: step.mark}, **NO_TRACES)
    cwd = str(project_folder(journal.plan.installer, store.prefix) or store.folder)
    command = Command(action.argv, limit, env=env, output_limit=OUTPUT_LIMIT, cwd=cwd)
    try:
        result = workshop.run(command, announce)
    except OSError as error:
        raise ApplyError(f"{action.text}: {error.strerror or error}") from error
    finally:
        end_step(step)  # nothing that it left may write to what is compared or brought back
    if not result.ok:
        raise ApplyError(f"{action.text}: {_reason(result)}")


def _record(store: Store, number: int, journal: Journal) -> None:
    """Record what the steps have changed so far; from here on the rest is somebody else's doing."""
    is_listed = "conda" not in journal.plan.installer  # whose lists are others
    try:
        note_project(store)
        write_changes(store, find_changes(store, number, journal.planned(), whole=is_listed))
    except OSError as error:
        raise ApplyError(f"what was changed cannot be recorded: {error.strerror}") from error


def _is_moving(journal: Journal, store: Store) -> Callable[[str], bool]:
    """Return whether a path belongs to a distribution that the plan changes."""
    there, prefix = installed(store.prefix), store.prefix
    owned = [
        claims(prefix, prefix, one) for name in journal.planned() for one in there.get(name, ())
    ]
    return lambda path: any(each.own(path) for each in owned)


def _reason(result: Result) -> str:
    """Return the installer's own words, the last ones, in one line."""
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    heads = [
        number for number, line in enumerate(lines) if line.lower().startswith(("error", "fatal"))
    ]
    errors = [
        line.strip()
        for number in heads[-_REASON_LINES:]
        for line in (lines[number], *takewhile(_is_indented, lines[number + 1 :]))
    ]
    said = " ".join((errors or lines[-_REASON_LINES:])[:_SAID_LINES])
    if result.ending is not Ending.EXITED or not said:
        return printable(": ".join(part for part in (result.describe(), said) if part), 600)
    return printable(f"exited with status {result.code}: {said}", 600)


def _is_indented(line: str) -> bool:
    """Return whether a line goes on with what the one before it has said: uv's causes."""
    return line[:1].isspace()


def _refuse_unchanged(action: Action, plan: Plan, environment: Environment) -> None:
    """Refuse to go on where a step ended well and did not do what it was for."""
    there = fact_mapping(environment.fact("packages.installed"))
    if action.kind is ActionKind.UNINSTALL:
        left = [name for name in action.requirements if name in there]
        if left:
            raise ApplyError(f"{action.text}: {', '.join(left)} is still there")
        return
    wanted = {change.distribution: change.after for change in plan.changes}
    for requirement in action.requirements:
        name = requirement.partition(" @ ")[0].partition("==")[0].strip()
        after = wanted.get(name, "")
        if name in wanted and name not in there:
            raise ApplyError(f"{action.text}: {name} is not there afterwards")
        if version_part(after, "base") and not _same(there.get(name, ""), after):
            raise ApplyError(f"{action.text}: {name} is {there.get(name)} afterwards, not {after}")


def _same(one: str, other: str) -> bool:
    return version_part(one, "base") == version_part(other, "base")


def _freeze(environment: Environment) -> tuple[str, ...]:
    """Return every distribution, with the address that it came from where that is recorded."""
    there = fact_mapping(environment.fact("packages.installed"))
    origins = {}
    for name, found in environment.facts.items():
        package, _, noun = name.partition(".")
        if noun == "direct_url" and isinstance(found, Known):
            distribution = environment.fact(f"{package}.distribution")
            if isinstance(distribution, Known):
                origins[str(distribution.value)] = str(found.value)
    return tuple(
        f"{name} @ {origins[name]}" if name in origins else f"{name}=={version}"
        for name, version in sorted(there.items())
    )
