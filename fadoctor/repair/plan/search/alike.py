"""Releases that are alike to all that is decided later: the newest of them costs the least.

Of hundreds of releases most differ in their number alone. Two are alike if tables say the same of
both, if both ask for the same, and if no rule or range tells one number from the other.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import fact_mapping
from fadoctor.model.packages import PACKAGES, PLANNED, package_of
from fadoctor.repair.plan.choices.choice import Choice, ChoiceKind
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.plan.search.tabled_ends import ends_in, text_of_cells
from fadoctor.repair.plan.states.requirements import named_or_installed

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from packaging.version import Version

    from fadoctor.repair.plan.search.problem import Problem

_LEAST = re.compile(r">=[\w.+]{1,60}")
"""A range with an end below alone."""
_OF_RELEASE = ("version", "requires", "requires_python")
"""Facts that follow from the number of a release, or are compared as what it asks for."""


class SameStance:
    """That of one problem."""

    def __init__(self, problem: Problem) -> None:
        """Take the problem; what its tables and rules say of a package is read once it is asked."""
        self.problem = problem
        self._matrix = problem.session.matrix
        self._there = named_or_installed(problem.environment)
        self._keys: dict[tuple[str, str], Hashable] = {}
        self._ends: dict[str, tuple[list[Version], list[Version]]] = {}
        self._tabled = problem.session.tabled
        self._needs = problem.requirements(problem.environment)
        self._askers: dict[str, set[str]] = {}
        """Who asks for a distribution, of what is installed."""
        for asker, needs in self._needs.items():
            for name in needs:
                self._askers.setdefault(name, set()).add(package_of(asker, asker))
        self._is_off = bool(problem.lessons.count)
        """What an installer refused, it refused of one release."""

    def key(self, choice: Choice) -> Hashable | None:
        """Return what two releases share that are alike; None for one that is like no other."""
        is_release = choice.kind is ChoiceKind.INSTALL and choice.version
        if not is_release or self._is_off or choice.package not in PLANNED:
            return None
        asked = (choice.package, choice.key)
        if asked not in self._keys:
            self._keys[asked] = self._key(choice)
        return self._keys[asked]

    def _key(self, choice: Choice) -> Hashable:
        package, name, version = choice.package, choice.distribution, choice.version
        if package not in self._ends:
            self._ends[package] = self._ends_of(package)
        begins, others = self._ends[package]
        place = version_key(version)
        between = (
            bisect_right(begins, place),
            bisect_left(others, place),
            bisect_right(others, place),
        )
        session, platform = self.problem.session, self.problem.platform
        helpers = session.candidates.helpers
        own = {f"{package}.{noun}" for noun in _OF_RELEASE}
        facts = {n: f for n, f in choice.facts.items() if n not in own}
        asks = (
            fact_mapping(choice.facts.get(f"{package}.requires")),
            helpers.needs(name, version, platform),
            helpers.declared(name, version),
            session.bounds.of(name, version),
        )
        return (
            package,
            between,
            session.months.of(name, version),
            bool(choice.index),
            bool(self.problem.lowers(choice)),
            text_of_cells(facts),
            tuple(tuple(sorted(self._meant(package, each))) for each in asks),
            self._tabled.rows_of(package, version),
        )

    def _ends_of(self, package: str) -> tuple[list[Version], list[Version]]:
        """Return the versions before which something changes, and those at which, in order."""
        names = {*PACKAGES.get(package, (package,))}
        here = (self._there.get(name, "") for name in names)
        asked = (text for needs in self._needs.values() for n, text in needs.items() if n in names)
        found = (
            self._tabled.ends_of(package),
            ends_in((*here, *asked)),
            *(self._tabled.ends_of_rule(each, package) for each in self.problem.relations),
        )
        begins, others = (frozenset().union(*each) for each in zip(*found, strict=True))
        return sorted(begins), sorted(others)

    def _meant(self, package: str, asks: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield what a release asks for.

        Of what only it asks for, in a range without an end, whether what is there will do.
        """
        for name, text in asks.items():
            here = self._there.get(name)
            is_free = _LEAST.fullmatch(text) and self._is_asked_alone(package, name)
            if is_free and package_of(name, name) not in self.problem.wishes.kept:
                yield name, "" if here is None else f"{accepts(text, here)}"
            else:
                yield name, text

    def _is_asked_alone(self, package: str, name: str) -> bool:
        """Return whether nothing that tables or metadata know asks for it but one package."""
        return (self._tabled.askers(name) | self._askers.get(name, set())) <= {package}
