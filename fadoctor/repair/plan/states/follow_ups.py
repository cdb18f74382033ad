"""What follows from the choices: requirements that would break, and packages that must follow."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.same_version import of_same_version
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.fact import fact_mapping
from fadoctor.model.packages import (
    BESIDE_TORCH,
    FRAMEWORKS,
    NUMPY,
    PACKAGES,
    TABLED_FRAMEWORKS,
    TORCH,
    package_of,
)
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind, distribution_of, follow
from fadoctor.repair.plan.choices.compatible_newest import Company
from fadoctor.repair.plan.choices.offers import bounded, is_told, newest_in, offer
from fadoctor.repair.plan.choices.released import accepts, is_there
from fadoctor.repair.plan.choices.wheel_facts import text_of
from fadoctor.repair.plan.states.at_odds import at_odds
from fadoctor.repair.plan.states.moving_along import held_back, newest_together
from fadoctor.repair.plan.states.requirements import Violation, named_or_installed, violations
from fadoctor.repair.plan.states.unbringable import unbringable
from fadoctor.repair.plan.states.undecided import without
from fadoctor.repair.plan.states.undeclared import undeclared

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State


_ASKER = "--want"
"""Whose requirement is broken where what was asked for has no release that fits."""
_BROUGHT_LIMIT = 20
"""Packages that come along because what comes along requires them."""


class Aftermath(msgspec.Struct, frozen=True):
    """What a state brings with it."""

    followers: tuple[Choice, ...] = ()
    broken: tuple[Violation, ...] = ()
    """Requirements that nothing mends."""
    replaced: int = 0
    """How many of the followers are there already, in another release; one of another major version
    counts twice: programs are written for one."""


def aftermath(
    problem: Problem,
    state: State,
    environment: Environment,
    *,
    careful: bool = False,
    undecided: Collection[str] = (),
) -> Aftermath:
    """Return what follows from a whole state, or from a part of one.

    `undecided`: packages of which something is chosen later. What they require now is left out,
    and what is required of them: the rest follows whatever is chosen.

    `careful`: releases of which a rule warns are left for the next older ones. As many packages
    follow either way, so that the search need not ask.

    A package that nobody decides about can move to a release that fits: the installer finds it. So
    can what a new package requires, and what one of the stack lacked before. Requirements between
    packages that are decided, on what is removed, or of packages that are kept, cannot be mended.
    """
    followers: dict[str, Choice] = {}
    broken: list[Violation] = []
    found: dict[str, bool] = {}
    environment = without(environment, undecided)
    requirements = problem.requirements(environment)
    helpers = problem.session.candidates.helpers
    company = Company(problem, environment, requirements, followers, careful=careful)
    broken += _asked(company, state, followers, undecided)
    found |= dict.fromkeys(followers, False)
    for each in violations(environment, requirements):
        if each.is_about(undecided):
            continue
        coming = _follower(state, company, each)
        for choice in coming:
            found.setdefault(choice.package, bool(each.found) or choice.kind is ChoiceKind.FOLLOW)
            followers.setdefault(choice.package, choice)
        if not coming and not was_so(problem, state, each):
            broken.append(each)
    coming_along = undeclared(problem, state, environment, followers)
    followers |= coming_along
    found |= dict.fromkeys(coming_along, False)
    there = named_or_installed(environment)
    refused, free = _refused(company, state, followers)
    broken += refused
    broken += (each for each in unbringable(company, state) if not was_so(problem, state, each))
    for package in [*followers.keys() - found.keys(), *_brought(company, state, followers)]:
        is_moved = followers[package].distribution in there
        found[package] = is_moved and package not in free
    moving = [each for each in (*state.values(), *followers.values()) if each.is_change]
    for first, second in combinations(moving, 2):
        broken += at_odds(helpers, first, second)
    broken += problem.lessons.broken_by([*state.values(), *followers.values()])
    broken = [each for each in broken if not each.is_about(undecided)]
    replaced = [followers[package] for package, is_replaced in found.items() if is_replaced]
    majors = sum(_has_other_major(each, there.get(each.distribution, "")) for each in replaced)
    return Aftermath(
        tuple(followers[name] for name in sorted(followers)), tuple(broken), len(replaced) + majors
    )


def _asked(
    company: Company, state: State, followers: dict[str, Choice], undecided: Collection[str]
) -> Iterator[Violation]:
    """Add what was asked for and comes along; yield what has no release that fits."""
    problem, helpers = company.problem, company.problem.session.candidates.helpers
    for package, wished in _asked_along(problem, state, company.environment):
        if package in undecided:
            continue
        name = distribution_of(package)
        choice = company.newest_whole(name, wished) or helpers.unlisted(name, wished)
        if choice is not None:
            followers[package] = choice
        elif package in problem.wishes.frameworks:
            yield Violation(_ASKER, name, wished, "")


def _has_other_major(choice: Choice, here: str) -> bool:
    """Return whether a release is of another major version than the one that is installed."""
    majors = [version_part(version, "major") for version in (here, choice.version)]
    return None not in majors and is_told(choice) and majors[0] != majors[1]


def _asked_along(
    problem: Problem, state: State, environment: Environment
) -> Iterator[tuple[str, str]]:
    """Yield what was asked for, is not there, and that nobody decides about: it comes along.

    With the versions that were asked for.
    """
    there = named_or_installed(environment)
    for name, versions in problem.wishes.frameworks.items():
        if name not in there or not accepts(versions, there[name]):
            yield name, versions
    for package in PACKAGES:
        is_open = package in problem.wishes.asked and package not in state
        if is_open and not is_there(environment, package):
            yield package, problem.wishes.pinned.get(package, "")


def _brought(company: Company, state: State, followers: dict[str, Choice]) -> list[str]:
    """Add what followers require and is not there, or not so; return the packages of these."""
    kept = company.problem.wishes.kept
    there = company.there
    helpers, platform = company.problem.session.candidates.helpers, company.problem.platform
    open_ = list(followers.values())
    added: list[str] = []
    while open_ and len(added) < _BROUGHT_LIMIT:
        asker = open_.pop()
        needs = helpers.needs(asker.distribution, asker.version, platform)
        for name, specifier in needs.items():
            package = package_of(name, name)
            # a missing NumPy comes with everything: nothing has to name its newest release
            fits = accepts(specifier, there[name]) if name in there else _is_free(company, name)
            if fits or package in followers or package in state or package in kept:
                continue
            if (choice := company.newest(name)) is not None:
                followers[package] = choice
                open_.append(choice)
                added.append(package)
    return added


def _is_free(company: Company, name: str) -> bool:
    """Return whether a missing NumPy may come in its newest release, by all that stays."""
    helpers = company.problem.session.candidates.helpers
    newest = helpers.fitting(NUMPY, company.environment, (), {})[:1] if name == NUMPY else ()
    needs = (each.get(NUMPY, "") for each in company.requirements.values())
    return name == NUMPY and all(accepts(text, c.version) for text in needs for c in newest)


def _refused(
    company: Company, state: State, followers: dict[str, Choice]
) -> tuple[list[Violation], set[str]]:
    """Add what comes along in another release, as one that comes refuses the installed one.

    What the installed one asks of others, such as an old tokenizers of huggingface-hub, is over.
    Returns what no release mends, and what moves for torch, or for what is new, at no cost: any
    torch has such, and an older release asks for the same where it asks for nothing.
    """
    broken: list[Violation] = []
    free = {TORCH}
    there = company.there
    helpers = company.problem.session.candidates.helpers
    matrix = company.problem.session.matrix
    old = {*PACKAGES, *company.before}
    open_ = [*followers.values(), *(each for each in state.values() if each.is_change)]
    again: list[Choice] = []
    # what is left as missing comes along all the same
    decided = {
        name
        for name, choice in state.items()
        if choice.is_change or not there.keys().isdisjoint(PACKAGES.get(name, (name,)))
    }
    decided |= company.problem.wishes.kept
    for asker in open_:  # what comes in place of something asks for others itself
        is_asked_again = asker in again
        for name, specifier in _asked_by(company, decided, followers, asker):
            if name not in there:
                # an installer brings it, and nobody has to name it: what it asks for counts
                older = held_back(company, followers, name, specifier)
                followers.update({choice.package: choice for choice in older})
                coming = older or helpers.brought(name, specifier)
                open_ += [each for each in coming if each not in open_]
                free.add(package_of(name, name))
                continue
            found = _in_place(company, state, name, specifier)
            followers.update({choice.package: choice for choice in found})
            open_ += found
            is_half = name in of_same_version(asker.distribution, asker.version, matrix)
            if asker.package in free or asker.package not in old or is_half:
                free.update(choice.package for choice in found)
            if not found and is_asked_again:
                broken.append(Violation(asker.distribution, name, specifier, there[name]))
            elif not found and asker not in again:  # what comes later may be what it needs
                again.append(asker)
                open_.append(asker)
    return broken, free


def _asked_by(
    company: Company, decided: Collection[str], followers: dict[str, Choice], asker: Choice
) -> Iterator[tuple[str, str]]:
    """Yield what a release that comes requires of packages that nobody decides about, in vain."""
    if not (asker.version and is_told(asker)):
        return
    there = company.there
    helpers = company.problem.session.candidates.helpers
    same = of_same_version(asker.distribution, asker.version, company.problem.session.matrix)
    asked = {**helpers.declared(asker.distribution, asker.version),
             **{name: specifier for name, specifier in same.items() if name in there}}  # fmt: skip
    for name, specifier in asked.items():
        package = package_of(name, name)
        is_met = name in there and accepts(specifier, there[name])
        if not (is_met or package in decided or package in followers):
            yield name, specifier


def _in_place(company: Company, state: State, name: str, specifier: str) -> tuple[Choice, ...]:
    """Return what comes in place of a release that is refused; none where none can."""
    helpers = company.problem.session.candidates.helpers
    found = _one(company.newest(name, specifier)) or _together(company, state, name, specifier)
    if found or helpers.has(name, specifier):
        return found
    there = company.there
    return _one(newest_in(name, specifier, there[name]))


def _together(company: Company, state: State, name: str, specifier: str) -> tuple[Choice, ...]:
    """Return a release in a range, with what has to move for it; none where none is known."""
    problem = company.problem
    if problem.environment.target.kind == "manifest":
        return ()
    stays = {*state, *company.followers, *problem.wishes.kept, *problem.lessons.stuck}
    return newest_together(company, name, specifier, lambda each: each not in stays)


def was_so(problem: Problem, state: State, each: Violation) -> bool:
    """Return whether a requirement did not hold before, and an installer will leave it at that.

    It brings what is missing of packages that it comes across, and of those that it replaces.
    """
    if (each.distribution, each.needs) not in problem.broken_before:
        return False
    asker = state.get(package_of(each.distribution, each.distribution))
    decided = package_of(each.needs, each.needs) in state
    is_third = decided and each.is_exact and _is_new(state, each)
    if is_third or (decided and (_is_compiled_for(each) or _comes_for_framework(state, each))):
        return False
    if asker is None or asker.kind is ChoiceKind.REMOVE or not decided:
        return True
    installs = any(c.is_change and c.kind is not ChoiceKind.REMOVE for c in state.values())
    return not (asker.is_change or (installs and not each.found))


def _is_new(state: State, each: Violation) -> bool:
    """Return whether what is required comes in another release, for an asker that nobody moves."""
    coming = state[package_of(each.needs, each.needs)]
    is_release = coming.is_change and coming.kind is not ChoiceKind.REMOVE
    return is_release and package_of(each.distribution, each.distribution) not in state


def _is_compiled_for(each: Violation) -> bool:
    """Return whether a framework names the one torch that its kernels are compiled for."""
    is_framework = package_of(each.distribution) in TABLED_FRAMEWORKS
    return is_framework and each.needs == TORCH and each.specifier.startswith("==")


def _comes_for_framework(state: State, each: Violation) -> bool:
    """Return whether a framework that is there refuses the torch that comes."""
    is_framework = package_of(each.distribution) in FRAMEWORKS
    return is_framework and each.needs == TORCH and state[TORCH].is_change


def _is_of_its_set(state: State, asker: str, each: Violation) -> bool:
    """Return whether a framework pins what else belongs to the torch that comes for it."""
    is_pin = asker in TABLED_FRAMEWORKS and each.specifier.startswith("==")
    return is_pin and bool(each.found) and TORCH in state and state[TORCH].is_change


def _follower(state: State, company: Company, each: Violation) -> tuple[Choice, ...]:
    problem = company.problem
    asker, needed = (package_of(name, name) for name in (each.distribution, each.needs))
    decided = state.get(asker)
    if decided is not None and decided.is_change and decided.kind is not ChoiceKind.REMOVE:
        # an installer brings what it requires, whatever was broken before
        if needed in state or needed in problem.wishes.kept:
            return ()
        return _needed(state, company, each)
    if (each.distribution, each.needs) in problem.broken_before:
        # what else is missing is no package of the stack: nothing here says that it matters
        is_ours = asker in PACKAGES and needed in PACKAGES
        is_lacking = not each.found and is_ours and asker not in problem.wishes.kept
        is_free = needed not in state and needed not in problem.wishes.kept
        is_meant = is_lacking or _is_unfit(company, asker, needed)
        if is_free and _is_of_its_set(state, asker, each):
            return _one(offer(f"{each.needs}{each.specifier}"))
        return _needed(state, company, each) if is_meant and is_free else ()
    stays = asker in problem.wishes.kept or each.distribution in problem.lessons.stuck
    # in a file nobody resolves again what it names exactly
    is_file = problem.environment.target.kind == "manifest"
    if asker in state or stays or is_file or not each.found:
        return ()
    return _one(_moved_along(company, each))


def _is_unfit(company: Company, asker: str, needed: str) -> bool:
    """Return whether a rule told that a package which nobody decides about does not go with one.

    Of what no plan moves, such as torchcodec beside torch, only the releases are known.
    """
    told = fact_mapping(company.problem.environment.fact(f"{asker}.pair_told"))
    return needed not in PACKAGES and needed in told


def _one(choice: Choice | None) -> tuple[Choice, ...]:
    return () if choice is None else (choice,)


def _moved_along(company: Company, each: Violation) -> Choice | None:
    """Return what a package that nobody decides about moves to: no older than it is, if that fits.

    Where its later releases are known, one of these, or an earlier one: else it is broken.
    """
    helpers = company.problem.session.candidates.helpers
    here = company.there.get(each.distribution, "")
    begins = helpers.begins(each.distribution)
    if begins and here and version_key(begins) <= version_key(here):
        return company.nearest(each.distribution)
    if any(asker == each.distribution for asker, _ in company.problem.broken_before):
        return None  # the installed release is among those that the bound admits, and it is broken
    if here and helpers.refuses(each.distribution, here.partition("+")[0], each.needs, each.found):
        return None
    return follow(package_of(each.distribution, each.distribution), here)


def _needed(state: State, company: Company, each: Violation) -> tuple[Choice, ...]:
    """Return what installs a requirement: exactly, where the tables know its releases.

    None for what is published beside torch, where no release of it is known for that build.
    """
    candidates, environment = company.problem.session.candidates, company.environment
    needed = package_of(each.needs, each.needs)
    for choice in candidates.releases(needed, environment):
        if accepts(each.specifier, choice.version):
            return (choice,)
    if needed in BESIDE_TORCH and candidates.indexes.of(text_of(environment, "torch.build")):
        return ()
    if exact := company.newest(each.needs):
        return (exact,)
    if each.found and (together := _together(company, state, each.needs, each.specifier)):
        return together
    if candidates.helpers.has(each.needs, each.specifier):
        return ()  # somebody else that asks for it refuses those
    asker = package_of(each.distribution, each.distribution)
    version = text_of(environment, f"{asker}.version")
    matrix = company.problem.session.matrix
    specifier = bounded(matrix, each.distribution, version, each.needs, each.specifier)
    return _one(newest_in(each.needs, specifier, each.found) or follow(needed))
