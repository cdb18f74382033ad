"""Ranges that a search has chosen, as releases: who refused them may have moved since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.compatible_newest import Company

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem


def exactly(
    problem: Problem, chosen: Iterable[Choice], followers: tuple[Choice, ...], after: Environment
) -> Iterator[Choice]:
    """Yield choices, ranges as the newest release that all take once everything has moved.

    Where no release of a range is known to fit, the range stays: an installer finds one.
    """
    moved = {each.package: each for each in followers}
    needs = problem.requirements(after)
    company = Company(problem, after, needs, moved, careful=True)
    for choice in chosen:
        asked = choice.requirement.removeprefix(choice.distribution)
        is_range = choice.kind is ChoiceKind.INSTALL and asked.startswith((">", "<", "~", "!"))
        newest = company.newest(choice.distribution, asked) if is_range else None
        yield choice if newest is None else msgspec.structs.replace(newest, index=choice.index)
