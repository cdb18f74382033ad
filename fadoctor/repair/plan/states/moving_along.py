"""What has to move for a release to come: what nobody decides about, and what refuses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.packages import PACKAGES, package_of
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.released import accepts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.choices.compatible_newest import Company

_MOST = 4
"""Packages that may have to move for one."""


def newest_together(
    company: Company, name: str, specifier: str, is_free: Callable[[str], bool]
) -> tuple[Choice, ...]:
    """Return the newest release of a distribution, and releases that take it of what refuses it.

    None where one of these has no known release that does. `is_free`: whether a package may move.
    """
    helpers = company.problem.session.candidates.helpers
    asking = {
        asker: needs[name]
        for asker, needs in company.requirements.items()
        if name in needs and is_free(package_of(asker, asker)) and helpers.knows(asker)
    }
    choice = company.while_moving(asking, {}).newest(name, specifier)
    if choice is None:
        return ()
    found = {choice.package: choice}
    refusing = [asker for asker, asked in asking.items() if not accepts(asked, choice.version)]
    for asker in refusing[: _MOST + 1]:
        mover = company.while_moving(refusing, found).newest(asker)
        if mover is None or len(refusing) > _MOST:
            return ()
        found[mover.package] = mover
    return tuple(found.values())


def held_back(
    company: Company, followers: Mapping[str, Choice], name: str, specifier: str
) -> tuple[Choice, ...]:
    """Return an older release of what an installer brings, where its newest would move others.

    So where a rule finds something about the newest, beside all that is there by then. None where
    the newest does for all, and where no release is known that does.
    """
    helpers = company.problem.session.candidates.helpers
    newest = helpers.newest_in(name, specifier)
    asked = helpers.declared(name, newest) | helpers.needs(name, newest) if newest else {}
    there = {each.distribution: each.version for each in followers.values()}
    here = company.there
    fits = all(accepts(each, there.get(n, here.get(n, ""))) for n, each in asked.items())
    if fits and not _is_warned_of(company, name, newest):
        return ()
    found = company.newest(name, specifier)
    return () if found is None or found.version == newest else (found,)


def _is_warned_of(company: Company, name: str, version: str) -> bool:
    """Return whether a rule finds something about a release that an installer would bring."""
    is_judged = company.careful and version and package_of(name) in PACKAGES
    choice = offer(f"{name}=={version}") if is_judged else None
    return choice is not None and company.is_warned_of(choice)
