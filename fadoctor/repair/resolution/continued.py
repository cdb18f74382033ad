"""Two plans for the same files as one, and a part of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.plan import Change, Edit
from fadoctor.repair.plan.planner import outcome_of
from fadoctor.repair.resolution.lines import Lines, Rewrite, diff_of
from fadoctor.repair.resolution.wanted import name_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fadoctor.model.plan import Action, Plan


def both_lines(first: Lines, second: Lines) -> Lines:
    """Return the lines of a plan and of another one that was made for its texts.

    What a file becomes is held against what it is on the disk.
    """
    on_disk = {each.source.name: each.source for each in first.rewrites}
    texts = {each.source.name: each for each in first.rewrites}
    for each in second.rewrites:
        source = on_disk.get(each.source.name, each.source)
        texts[each.source.name] = Rewrite(source, each.text)
    rewrites = tuple(texts.values())
    diffs = (Edit(each.source.name, diff=diff_of(each)) for each in rewrites)
    told = (each for each in (*first.edits, *second.edits) if not each.diff)
    notes = dict.fromkeys((*first.notes, *second.notes))
    edits = tuple(dict.fromkeys((*diffs, *told)))
    return Lines(edits, rewrites, tuple(notes), first.held or second.held)


def both_plans(first: Plan, second: Plan) -> Plan:
    """Return a plan with what another one does after it."""
    moved = {each.distribution: each for each in first.changes}
    for each in second.changes:
        before = moved.get(each.distribution, each).before
        moved[each.distribution] = Change(each.distribution, before, each.after)
    again = {name_of(text) for action in second.actions for text in action.requirements}
    kept = frozenset(name_of(t) for a in first.actions for t in a.requirements) - again
    actions = (*_of_names(first, kept), *second.actions)
    conflicts = tuple(dict.fromkeys((*first.conflicts, *second.conflicts)))
    return msgspec.structs.replace(
        second,
        actions=actions,
        changes=tuple(each for each in moved.values() if each.before != each.after),
        conflicts=conflicts,
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
        outcome=outcome_of(actions, second.proof, conflicts),
    )


def part_of(plan: Plan, kept: Collection[str]) -> Plan:
    """Return a plan that moves these packages only."""
    actions = tuple(_of_names(plan, kept))
    changes = tuple(each for each in plan.changes if each.distribution in kept)
    return msgspec.structs.replace(plan, actions=actions, changes=changes)


def with_errors_left(plan: Plan, left: Collection[str]) -> Plan:
    """Return a plan that says which rules still find an error afterwards."""
    proof = msgspec.structs.replace(plan.proof, errors=tuple(sorted({*plan.proof.errors, *left})))
    outcome = outcome_of(plan.actions, proof, plan.conflicts)
    return msgspec.structs.replace(plan, proof=proof, outcome=outcome)


def _of_names(plan: Plan, kept: Collection[str]) -> Iterator[Action]:
    """Yield the actions of a plan, without what they do to other packages."""
    for action in plan.actions:
        stays = tuple(each for each in action.requirements if name_of(each) in kept)
        gone = {*action.requirements} - {*stays}
        if stays or not action.requirements:
            argv = tuple(each for each in action.argv if each not in gone)
            yield msgspec.structs.replace(action, requirements=stays, argv=argv)
