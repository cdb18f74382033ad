"""Requirements between packages that are decided, and that no choice of another one can mend."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from fadoctor.model.fact import Known, fact_mapping
from fadoctor.model.packages import package_of
from fadoctor.repair.plan.choices.choice import distribution_of
from fadoctor.repair.plan.choices.wheel_facts import text_of
from fadoctor.repair.plan.states.at_odds import at_odds
from fadoctor.repair.plan.states.follow_ups import was_so
from fadoctor.repair.plan.states.requirements import Violation, satisfies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.search.problem import Problem
    from fadoctor.repair.plan.states.relations import State

Need = tuple[str, str, str]
"""The distribution that is needed, its package, and the specifier."""


class Quarrels:
    """Those of one problem; it keeps what each choice requires of packages that are decided."""

    def __init__(self, problem: Problem) -> None:
        """Take the problem, whose packages are the ones that quarrel."""
        self.problem = problem
        self._needs: dict[tuple[str, str], tuple[Need, ...]] = {}

    def count(self, state: State, environment: Environment, package: str) -> int:
        """Return how many requirements are broken between a package and those decided before.

        The aftermath of every state that follows counts them again, as errors.
        """
        found = self._between(state, environment, package)
        helpers, choice = self.problem.session.candidates.helpers, state[package]
        moving = state.items() if choice.is_change else ()
        others = (each for name, each in moving if name != package and each.is_change)
        refused = sum(len([*at_odds(helpers, each, choice)]) for each in others)
        return refused + sum(not was_so(self.problem, state, each) for each in found)

    def _between(self, state: State, environment: Environment, package: str) -> Iterator[Violation]:
        installed = fact_mapping(environment.fact("packages.installed"))
        for asker in state:
            for name, needed, specifier in self._needs_of(asker, state, environment):
                if needed not in state or package not in (asker, needed):
                    continue
                version = installed.get(name)
                distribution = _name_of(asker, environment)
                broken = version is None or not satisfies(version, specifier)
                if broken and installed.get(distribution):
                    yield Violation(distribution, name, specifier, version or "")

    def _needs_of(self, asker: str, state: State, environment: Environment) -> tuple[Need, ...]:
        asked = (asker, state[asker].key)
        if asked not in self._needs:
            requires = environment.facts.get(f"{asker}.requires")
            there = fact_mapping(requires) if isinstance(requires, Known) else {}
            among = self.problem.packages
            self._needs[asked] = tuple(
                (name, package, specifier)
                for name, specifier in there.items()
                if (package := _package_of(name)) in among
            )
        return self._needs[asked]


def _name_of(package: str, environment: Environment) -> str:
    return text_of(environment, f"{package}.distribution") or distribution_of(package)


@lru_cache(maxsize=4096)
def _package_of(name: str) -> str:
    return package_of(name, name)
