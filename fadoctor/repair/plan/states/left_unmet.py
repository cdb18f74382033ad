"""What packages that nobody decides about require in vain, where something offered mends it."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.fact import Unknown, fact_mapping, fact_text, fact_words
from fadoctor.model.packages import ORDER, PACKAGES, PLANNED, TORCH, package_of
from fadoctor.repair.plan.choices.compatible_newest import Company
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.released import can_agree
from fadoctor.repair.plan.states.askers import pins_of_files
from fadoctor.repair.plan.states.post_state import REQUIRED
from fadoctor.repair.plan.states.requirements import (
    Violation,
    named_or_installed,
    satisfies,
    violations,
)
from fadoctor.sources.manifests.installed.fact_names import CONTRADICTED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.requirements import Requirements

# peft>=0.17.0
_ASKED = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,99})(?P<range>[<>=!~].{0,200})?")

# and transformers<4.50 is asked for
_BELOW = re.compile(
    r", and [\w.-]{1,80}[^ ]{0,200}?(?:==|<=?|~=)(?P<major>\d{1,4})\.[^ ]* is asked"
)

Offers = dict[str, tuple["Choice", ...]]


def other_askers(problem: Problem, offers: Offers) -> Offers:
    """Return releases of what requires something in vain, where a fix offers what it requires.

    What is offered may be what others refuse: then a release that takes what is there may come.
    """
    needs = problem.requirements(problem.environment)
    company = Company(problem, problem.environment, needs, {}, careful=False)
    found: Offers = {}
    for each in _of_companions(problem, needs):
        package = _key(each.distribution)
        # the range of all releases: which one comes follows from the torch that is decided
        if package not in offers and (choice := offer(each.distribution)) is not None:
            found[package] = (choice,)
    found |= _of_files(problem, needs, {*offers, *found})
    found |= _ruled_out(problem, {*offers, *found})
    for each in _of_others(problem):
        asker, needed = _key(each.distribution), _key(each.needs)
        if asker in offers or asker in problem.lessons.stuck:
            continue
        is_free = needed in offers and _is_refused(needs, each)
        if is_free and company.newest(each.distribution) is not None:
            # which one comes follows from what is decided before it
            found |= {} if (choice := offer(each.distribution)) is None else {asker: (choice,)}
    return found


def _of_companions(problem: Problem, requirements: Requirements) -> Iterator[Violation]:
    """Yield which companions require another torch, where one of their releases takes this one.

    What is planned by its table is decided in any case.
    """
    helpers = problem.session.candidates.helpers
    for each in violations(problem.environment, requirements):
        package = _key(each.distribution)
        is_free = package not in problem.lessons.stuck and helpers.knows(each.distribution)
        is_planned = package not in PACKAGES or package in (*ORDER, *PLANNED)
        if each.needs == TORCH and each.found and is_free and not is_planned:
            yield each


def _of_files(problem: Problem, requirements: Requirements, offered: Collection[str]) -> Offers:
    """Return releases of what a file names in a version that something else in it refuses."""
    if problem.environment.target.kind != "manifest":
        return {}
    helpers = problem.session.candidates.helpers
    found: Offers = {}
    for each in violations(problem.environment, requirements):
        package = _key(each.needs)
        is_free = package not in {*offered, *found, *ORDER, *PLANNED}
        if not each.found or not is_free:
            continue
        is_listed = helpers.reaches(each.needs, each.specifier)
        asked = each.needs if is_listed else _agreed(requirements, each.needs)
        if asked and (choice := offer(asked)) is not None:
            found[package] = (choice,)
    return found


def _ruled_out(problem: Problem, offered: Collection[str]) -> Offers:
    """Return releases of what files bound in a way that another line, or the index, rules out."""
    helpers = problem.session.candidates.helpers
    found: Offers = {}
    for asked, text in fact_mapping(problem.environment.fact(CONTRADICTED)).items():
        said = REQUIRED.search(text)
        name = said["other"] if said else asked
        if package_of(name, name) in {*offered, *ORDER, *PLANNED}:
            continue
        if said is None:
            meant = pins_of_files(problem.environment, package_of(name, name))
            exact = (offer(f"{name}=={pin}") for pin in meant)
            choices = tuple(filter(None, exact)) or _to_be_had(problem, name)
        else:
            needs = said["needs"]
            near = helpers.fitting(name, problem.environment, (needs, _same_major(text)), {})
            told = (near[0].requirement, name) if near else (f"{name}{needs}",)
            choices = tuple(choice for each in told if (choice := offer(each)) is not None)
        found |= {package_of(name, name): choices} if choices else {}
    return found


def _to_be_had(problem: Problem, name: str) -> tuple[Choice, ...]:
    """Return the newest release for this Python, of the major version that a file pins if any."""
    version = fact_text(problem.environment.fact(f"{package_of(name, name)}.version"), "")
    helpers, major = problem.session.candidates.helpers, version_part(version, "major")
    ranges = ([f"=={major}.*"], []) if major else ([],)
    found = (helpers.fitting(name, problem.environment, each, {}) for each in ranges)
    return next(filter(None, found), ())[:1]


def _same_major(text: str) -> str:
    """Return the bound of the major version that a line asks for, "" where it names none."""
    asked = _BELOW.search(text)
    return f"<{int(asked['major']) + 1}.dev0" if asked else ""


def _agreed(requirements: Requirements, name: str) -> str:
    """Return a package in the range that all askers take, "" where none can be."""
    asked = {needs[name] for needs in requirements.values() if needs.get(name)}
    pairs = combinations(sorted(asked), 2)
    return f"{name}{','.join(sorted(asked))}" if all(can_agree(*each) for each in pairs) else ""


def _is_refused(requirements: Requirements, each: Violation) -> bool:
    """Return whether others refuse every release that a package requires."""
    return any(
        not can_agree(needs[each.needs], each.specifier)
        for asker, needs in requirements.items()
        if asker != each.distribution and each.needs in needs
    )


class LeftUnmet:
    """Those of one problem."""

    def __init__(self, problem: Problem) -> None:
        """Take the problem, whose offers are known."""
        self.before = named_or_installed(problem.environment)
        # of a text with no list, an unmet pin is all that is known of what asks
        is_text = isinstance(problem.environment.fact("packages.installed"), Unknown)
        self.found = tuple(
            each
            for each in _of_others(problem)
            if not {_key(each.distribution), _key(each.needs)}.isdisjoint(
                {*problem.offers, *(problem.packages if is_text else ())}
            )
        )

    def count(self, environment: Environment, followers: Iterable[Choice]) -> int:
        """Return how many of them a whole state leaves as they are: a rule warns of each."""
        if not self.found:
            return 0
        there = named_or_installed(environment)
        there |= {each.distribution: each.version for each in followers}
        return sum(
            there.get(each.distribution) == self.before.get(each.distribution)
            and not satisfies(there.get(each.needs, ""), each.specifier)
            for each in self.found
        )


def _of_others(problem: Problem) -> Iterator[Violation]:
    """Yield what packages outside the catalogue require in another version than is there.

    What they compare at import is told by facts: their metadata need not ask for it.
    """
    requirements = problem.requirements(problem.environment)
    others = [*violations(problem.environment, requirements), *_compared(problem.environment)]
    told = set()
    for each in others:
        asked = (each.distribution, each.needs)
        if each.found and _key(each.distribution) not in PACKAGES and asked not in told:
            told.add(asked)
            yield each


def _compared(environment: Environment) -> Iterator[Violation]:
    """Yield what the facts say that packages outside the catalogue do not find as they require."""
    there = fact_mapping(environment.fact("packages.installed"))
    for key in environment.requirers():
        name = fact_text(environment.fact(f"{key}.distribution"), "")
        for text in fact_words(environment.fact(f"{key}.unmet_alone")):
            if name and (found := _ASKED.fullmatch(text)):
                yield Violation(
                    name, found["name"], found["range"] or "", there.get(found["name"], "")
                )


def _key(distribution: str) -> str:
    return package_of(distribution, distribution)
