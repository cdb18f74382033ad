"""What fixes offer as exact releases, for packages of which no table decides."""

# Circles with `problem` by types alone: it is a part of the problem, and is handed it.

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.model.packages import package_of
from fadoctor.repair.plan.choices.choice import Choice, distribution_of
from fadoctor.repair.plan.choices.compatible_newest import Company
from fadoctor.repair.plan.choices.offers import at_its_end, newest_in
from fadoctor.repair.plan.choices.released import within_both

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem


def newest_of(problem: Problem, name: str, environment: Environment) -> list[Choice]:
    """Return the newest release of a distribution that all take, if there is one."""
    company = Company(problem, environment, problem.requirements(environment), {}, careful=True)
    newest = company.newest(name, problem.wishes.pinned.get(package_of(name, name), ""))
    return [newest] if newest is not None else []


def exactly_offered(problem: Problem, offer: Choice, environment: Environment) -> list[Choice]:
    """Return a range as the newest releases of it that all take, where its releases are known.

    An installer takes the newest that the metadata allow, which nobody has judged. Of the major
    version that is here there may be one, too. Where who asks for it moves, one that all take then.
    """
    company = Company(problem, environment, problem.requirements(environment), {}, careful=True)
    asked = offer.requirement.removeprefix(offer.distribution)
    helpers = problem.session.candidates.helpers
    is_exact = asked.startswith("==") and not helpers.is_elsewhere(offer, environment)
    found = [] if is_exact else company.newest_of_each_major(offer.distribution, asked)
    here = fact_text(environment.fact(f"{offer.package}.version"), "")
    if not found:
        is_known = helpers.has(offer.distribution, asked)
        there = fact_mapping(environment.fact("packages.installed"))
        asked_no_more = None if is_exact else company.nearest(offer.distribution)
        last = offer if is_known else at_its_end(offer, there.get(offer.distribution, ""))
        if asked_no_more is not None and is_known:
            return [asked_no_more]  # somebody who is there refuses all that the offer admits
        return [last] if asked_no_more is None else [asked_no_more, last]
    if here == found[0].version:
        return [offer]
    return [msgspec.structs.replace(each, index=offer.index) for each in found]


def asked_otherwise(package: str, pins: Iterable[str]) -> list[Choice]:
    """Return what an installer brings of a missing package, where no fix offers what is asked for.

    A fix offers what the release that is here requires: another one may pin another release.
    """
    asked = reduce(within_both, pins, "")
    coming = newest_in(distribution_of(package), asked, "") if asked else None
    return [] if coming is None else [coming]


def each_once(choices: Iterable[Choice]) -> list[Choice]:
    """Return choices without those that are there already: several fixes end in one release.

    Whatever is decided next would be tried beside each of them.
    """
    found: dict[str, Choice] = {}
    for choice in choices:
        found.setdefault(choice.key, choice)
    return [*found.values()]
