"""The lines that a plan writes into manifests, and what these come to. Imports late."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.model.plan import Plan
    from fadoctor.model.rule import Knowledge
    from fadoctor.repair.resolution.lines import Lines
    from fadoctor.repair.resolution.rewritten import NewTexts, Rewritten
    from fadoctor.sources.examine.request import Request
    from fadoctor.sources.manifests.source import Source

_TRIAL_LIMIT = 8
"""Packages of a plan that are tried one by one: each trial judges all files once more."""


class Written(NamedTuple):
    """The lines that a plan writes, and what they come to; None where nothing is written."""

    lines: Lines
    found: Rewritten | None
    unread: str = ""
    """Why the new texts cannot be read, "" where they can."""

    @property
    def is_worse(self) -> bool:
        """Whether the new texts have an error of their own."""
        return bool(self.unread) or (self.found is not None and bool(self.found.worse))

    def next_start(self, environment: Environment) -> Environment:
        """Return what the next plan starts from, where the new texts decide more than the old."""
        from fadoctor.repair.resolution.rewritten import with_what_comes

        if self.found is None or not self.found.worse:
            return environment
        return with_what_comes(environment, self.found.environment)

    def given(self, as_read: Environment) -> Environment:
        """Return the environment that the files describe by then."""
        return as_read if self.found is None else self.found.given


class Writing:
    """What plans are written into, and held against."""

    def __init__(
        self, request: Request, knowledge: Knowledge, as_read: Environment, environment: Environment
    ) -> None:
        """Take what was asked, and the environment: as it was read, and as it comes today."""
        self.request, self.knowledge = request, knowledge
        self.as_read, self.environment = as_read, environment

    @cached_property
    def _errors_before(self) -> frozenset[str]:
        from fadoctor.repair.resolution.rewritten import errors_before

        return errors_before(self.as_read, self.knowledge)

    def lines_for(self, plan: Plan) -> Written:
        """Return the lines of a plan: all that it moves, where the fewest would have an error."""
        few = self._written(plan, whole=False)
        return self._written(plan, whole=True) if few.is_worse else few

    def again(
        self, plan: Plan, written: Written, plans: Callable[[Environment], Plan]
    ) -> Iterator[tuple[Plan, Written]]:
        """Yield what else may do where the lines of a plan have an error of their own.

        First with a second plan for the new texts, then the parts of the plan that repair
        something and make nothing worse. `plans` makes a plan for an environment.
        """
        if written.found is not None:
            yield self._continued(plan, written, plans(written.found.environment))
        yield from self._parts(plan)

    def beside(self, plan: Plan, written: Written) -> Iterator[str]:
        """Yield what nobody chose (extras, groups, systems) and the new texts give an error."""
        from fadoctor.model.errors import InputError
        from fadoctor.repair.resolution.other_lists import other_choices, other_systems
        from fadoctor.repair.resolution.rewritten import worse_beside
        from fadoctor.sources.manifests.read import read_source

        if written.found is None:
            return
        files, new = self.request.requirements, self._new(written.lines, plan)
        opened = self.opener()
        manifests = [read_source(opened(name)) for name in files]
        tried = [
            (told, self.as_read, self.opener(extras, groups))
            for told, extras, groups in other_choices(manifests)
        ]
        systems = other_systems(manifests, self.as_read)
        tried += [(f"on {system}", there, opened) for system, there in systems]
        for told, there, opener in tried:
            try:
                worse = worse_beside(there, self.knowledge, files, new, opener)
            except InputError:
                continue
            if worse:
                yield f"{told}: the changed files have an error there: {worse[0].message}"

    def _written(self, plan: Plan, *, whole: bool) -> Written:
        from fadoctor.repair.resolution.lines import lines_of

        names, opened = self.request.requirements, self.opener()
        lines = lines_of(plan, self.environment, names, opened, whole=whole)
        return self._judged(lines, plan)

    def _continued(self, plan: Plan, written: Written, more: Plan) -> tuple[Plan, Written]:
        from fadoctor.repair.resolution.continued import both_lines, both_plans
        from fadoctor.repair.resolution.lines import lines_of

        assert written.found is not None  # noqa: S101 -- of lines that were judged
        opened = self.opener()
        texts = {each.source.name: each.text for each in written.lines.rewrites}

        def reopened(name: str) -> Source:
            source = opened(name)
            text = texts.get(source.name, source.text)
            return msgspec.structs.replace(source, text=text, instead=texts)

        names = self.request.requirements
        second = lines_of(more, written.found.environment, names, reopened)
        lines, both = both_lines(written.lines, second), both_plans(plan, more)
        return both, self._judged(lines, both)

    def _parts(self, plan: Plan) -> Iterator[tuple[Plan, Written]]:
        from fadoctor.repair.resolution.continued import part_of, with_errors_left
        from fadoctor.repair.resolution.wanted import wanted_of

        names = [name for name, _, _ in wanted_of(plan)]
        if not 1 < len(names) <= _TRIAL_LIMIT:
            return
        trials = [frozenset(names) - {name} for name in names] if len(names) > 2 else []
        for kept in (*trials, *(frozenset((name,)) for name in names)):
            part = part_of(plan, kept)
            written = self._written(part, whole=False)
            if written.found is not None and written.found.repaired:
                yield with_errors_left(part, written.found.left), written

    def opener(
        self, extras: tuple[str, ...] | None = None, groups: tuple[str, ...] | None = None
    ) -> Callable[[str], Source]:
        """Return what reads a file as it was examined: within the fence, for the same groups.

        `extras`, `groups`: others than those that were examined.
        """
        from fadoctor.sources.manifests.chosen import choice_of
        from fadoctor.sources.manifests.source import open_source

        choice = choice_of(
            self.request.extras if extras is None else extras,
            self.request.groups if groups is None else groups,
        )
        return partial(open_source, choice=choice, fence=self.request.fence)

    def _judged(self, lines: Lines, plan: Plan) -> Written:
        """Judge the files as they would be written, and locks as their tools write them then."""
        from fadoctor.model.errors import InputError
        from fadoctor.repair.resolution.rewritten import judge_rewritten

        if not lines.rewrites:
            return Written(lines, None)
        new = self._new(lines, plan)
        files = self.request.requirements
        try:
            found = judge_rewritten(self.as_read, self.knowledge, files, new, self.opener())
        except InputError as error:
            return Written(lines, None, str(error))
        return Written(lines, found)

    def _new(self, lines: Lines, plan: Plan) -> NewTexts:
        from fadoctor.repair.resolution.rewritten import NewTexts

        moved = {each.distribution: each.after for each in plan.changes}
        is_whole = all(each.diff or each.command for each in lines.edits)
        left = frozenset(plan.proof.errors) if is_whole else None
        return NewTexts(lines.rewrites, moved, left, self._errors_before)


def refused(plan: Plan, written: Written) -> Plan:
    """Return a plan that writes no file, because what it would write has errors of its own."""
    from fadoctor.model.plan import Edit
    from fadoctor.repair.plan.planner import outcome_of

    worse = written.found.worse if written.found is not None else ()
    stays = (rule for action in plan.actions if action.argv for rule in action.findings)
    found = tuple(dict.fromkeys((*(each.rule_id for each in worse), *stays)))
    proof = msgspec.structs.replace(plan.proof, errors=tuple(sorted({*plan.proof.errors, *found})))
    why = f"the new text cannot be read: {written.unread}"
    if worse:
        why = f"the new text would have an error of its own: {worse[0].message}"
    files = (each.file for each in plan.edits if each.diff)
    unwritten = (Edit(file, text=f"{file}: not changed: {why}") for file in files)
    return msgspec.structs.replace(
        plan,
        proof=proof,
        edits=(*unwritten, *(each for each in plan.edits if not each.diff)),
        outcome=outcome_of(plan.actions, proof, plan.conflicts),
    )
