"""What follows from the choices: requirements that would break, and packages that must follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.plan.choice import Choice, Kind, follow, package_of
from fadoctor.plan.problem import offer
from fadoctor.plan.requirements import Violation, violations

if TYPE_CHECKING:
    from fadoctor.model.environment import Environment
    from fadoctor.plan.problem import Problem
    from fadoctor.plan.relations import State


class Aftermath(msgspec.Struct, frozen=True):
    """What a state brings with it."""

    followers: tuple[Choice, ...] = ()
    broken: tuple[Violation, ...] = ()
    """Requirements that nothing mends."""


def aftermath(problem: Problem, state: State, environment: Environment) -> Aftermath:
    """Return what follows from a whole state.

    A package that nobody decides about, torchvision say, can move to a release that fits: the
    installer finds it. So can what a new package requires. Requirements between packages that are
    decided, on what is removed, or of packages that are kept, cannot be mended.
    """
    if not any(choice.is_change for choice in state.values()):
        return Aftermath()
    followers: dict[str, Choice] = {}
    broken = []
    for each in violations(environment, problem.requirements(environment)):
        if (each.distribution, each.needs) in problem.broken_before:
            continue
        follower = _follower(problem, state, each)
        if follower is None:
            broken.append(each)
        else:
            followers.setdefault(follower.package, follower)
    return Aftermath(tuple(followers[name] for name in sorted(followers)), tuple(broken))


def _follower(problem: Problem, state: State, each: Violation) -> Choice | None:
    asker, needed = (package_of(name, name) for name in (each.distribution, each.needs))
    decided = state.get(asker)
    if decided is not None and decided.is_change and decided.kind is not Kind.REMOVE:
        if needed in state or needed in problem.wishes.kept:
            return None
        return offer(f"{each.needs}{each.specifier}") or follow(needed)
    if asker in state or asker in problem.wishes.kept or not each.found:
        return None
    return follow(asker)
