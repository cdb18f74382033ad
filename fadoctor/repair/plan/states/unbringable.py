"""What an installer has to bring, and no release of takes what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.packages import package_of
from fadoctor.repair.plan.states.requirements import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.repair.plan.choices.compatible_newest import Company
    from fadoctor.repair.plan.states.relations import State


def unbringable(company: Company, state: State) -> Iterator[Violation]:
    """Yield what a release that comes requires, where each release in that range is refused.

    Of what is in no file, or in no list: the release that comes is for an installer to find. Only
    where the tables have all releases of the range.
    """
    there = company.there
    helpers = company.problem.session.candidates.helpers
    for choice in state.values():
        needs = company.requirements.get(choice.distribution, {}) if choice.is_change else {}
        for name, specifier in needs.items():
            is_decided = package_of(name, name) in state or there.get(name)
            if is_decided or not helpers.lists_all(name, specifier):
                continue
            if company.newest(name, specifier) is None:
                yield Violation(choice.distribution, name, specifier, "")
