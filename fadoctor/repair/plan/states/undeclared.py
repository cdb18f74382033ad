"""Ranges of what comes along with what is new, which its metadata do not declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import fact_mapping
from fadoctor.model.packages import package_of
from fadoctor.repair.plan.choices.offers import bounded, is_told, newest_in
from fadoctor.repair.plan.choices.released import is_there, within_both

if TYPE_CHECKING:
    from collections.abc import Collection

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State


def undeclared(
    problem: Problem, state: State, environment: Environment, followers: Collection[str]
) -> dict[str, Choice]:
    """Return ranges of what comes along with what is new, and works with it in older ones alone.

    Its metadata do not say so: an installer would take the newest release. Of what is there a
    rule tells.
    """
    found: dict[str, Choice] = {}
    stays = {*state, *followers, *problem.wishes.kept}
    new = (each for each in state.values() if each.is_change and is_told(each))
    for asker in () if problem.is_from_nothing else new:
        needs = fact_mapping(environment.fact(f"{asker.package}.requires"))
        for name, specifier in needs.items():
            package = package_of(name, name)
            if package in stays or is_there(environment, package):
                continue
            bound = bounded(problem.session.matrix, asker.distribution, asker.version, name, "")
            asked = within_both(specifier, bound)
            known = problem.session.candidates.helpers.fitting(name, environment, [asked], {})
            who = [(asker.distribution, asker.version)]
            end = problem.session.months.end_of_their_time(known, who) if bound else ""
            coming = newest_in(name, within_both(asked, end), "") if bound else None
            found |= {package: coming} if coming is not None else {}
    return found
