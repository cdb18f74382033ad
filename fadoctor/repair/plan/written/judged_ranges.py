"""Commands for a person to run name releases that were judged, and no range without an end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.engine.fixes import command
from fadoctor.model.fix import StepKind
from fadoctor.model.packages import PLANNED
from fadoctor.repair.plan.choices.compatible_newest import Company
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.released import accepts

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.model.finding import Finding
    from fadoctor.model.fix import Fix, Step
    from fadoctor.repair.plan.search.problem import Problem

# xformers>=0.0.27.post2, and not >=2.4,<3
_OPEN = re.compile(r">=?\s*[0-9][^<=~,]*")


class JudgedRanges:
    """The ranges of one plan, beside what is there afterwards."""

    def __init__(self, problem: Problem, after: Environment) -> None:
        """Take the problem, and the facts as they will be."""
        self.problem = problem
        self.after = after
        self._found: dict[str, str] = {}

    def holds(self, fix: Fix) -> bool:
        """Return whether each range without an end has a release that fits what is there then."""
        items = (e for s in fix.steps if s.kind is StepKind.INSTALL for e in s.items)
        return all(map(self._closed, items))

    def written(self, finding: Finding) -> Finding:
        """Return a finding whose fixes name exact releases in place of ranges without an end."""
        fixes = tuple(
            msgspec.structs.replace(fix, steps=tuple(map(self._step, fix.steps)))
            for fix in finding.fixes
        )
        return msgspec.structs.replace(finding, fixes=fixes)

    def _step(self, step: Step) -> Step:
        if step.kind is not StepKind.INSTALL:
            return step
        items = tuple(map(self._closed, step.items))
        if items == step.items or not all(items):
            return step
        windows = self.after.is_windows
        text = command(StepKind.INSTALL, items, step.options, step.index, windows=windows)
        return msgspec.structs.replace(step, text=text, items=items)

    def _closed(self, item: str) -> str:
        """Return a requirement that ends, "" where no release is known to fit."""
        if item not in self._found:
            self._found[item] = self._close(item)
        return self._found[item]

    def _close(self, item: str) -> str:
        choice = offer(item)
        asked = "" if choice is None else choice.requirement.removeprefix(choice.distribution)
        if choice is None or not _OPEN.fullmatch(asked):
            return item
        if choice.package in PLANNED:
            found = self.problem.session.candidates.releases(choice.package, self.after)
            fitting = (each.version for each in found if accepts(asked, each.version))
            version = next(fitting, "")
            return f"{choice.distribution}=={version}" if version else ""
        needs = self.problem.requirements(self.after)
        company = Company(self.problem, self.after, needs, {}, careful=True)
        newest = company.newest(choice.distribution, asked)
        return item if newest is None else f"{choice.distribution}=={newest.version}"
