"""What a resolver takes: for each open package the newest release that fits all the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.catalogue import PACKAGES
from fadoctor.model.fact import Known, Unknown
from fadoctor.plan.released import accepts, mapping_of
from fadoctor.preflight.versions import Versions, package_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Environment

STEP_LIMIT = 3_000
"""Releases that are looked at for one resolution."""

_FIRST = ("torch",)
"""Packages that are decided before others: as resolvers do with what much hangs on."""


class Resolver:
    """Resolves the open packages of one planned environment."""

    def __init__(self, environment: Environment, versions: Versions) -> None:
        """Take the environment and the releases that there are."""
        self.environment, self.versions = environment, versions
        self.ranges = package_of(environment.ranges)
        self.exact = {
            package: str(fact.value)
            for package in PACKAGES
            if isinstance(fact := environment.fact(f"{package}.version"), Known)
        }
        self._steps = 0

    def resolve(self, fixed: Mapping[str, str]) -> dict[str, str] | None:
        """Return package -> version of all that is open, some fixed; None where nothing fits."""
        self._steps = STEP_LIMIT
        return self._decided(dict(fixed))

    def _decided(self, chosen: dict[str, str]) -> dict[str, str] | None:
        package = self._next(chosen)
        if package is None:
            return chosen
        needs = self._needs(chosen)
        bounds = [self.ranges.get(package, ""), *needs.get(package, ())]
        for version in self.versions.of(package, ",".join(filter(None, bounds))):
            self._steps -= 1
            if self._steps < 0:
                return None
            if self._fits(package, version, chosen):
                found = self._decided({**chosen, package: version})
                if found is not None:
                    return found
        return None

    def _next(self, chosen: Mapping[str, str]) -> str | None:
        """Return a package to decide: one that is asked for, or that what is decided requires."""
        drawn = [p for p in self._needs(chosen) if self._is_open(p)]
        for package in dict.fromkeys((*_FIRST, *self.ranges, *drawn)):
            wanted = package in self.ranges or package in drawn
            if wanted and package not in chosen and self.versions.of(package, ""):
                return package
        return None

    def _is_open(self, package: str) -> bool:
        unknown = isinstance(self.environment.fact(f"{package}.version"), Unknown)
        return unknown and package not in self.ranges and package not in self.exact

    def _needs(self, chosen: Mapping[str, str]) -> dict[str, list[str]]:
        """Return what everything that is decided asks of each package."""
        found: dict[str, list[str]] = {}
        asked = [self._requires_of(package) for package in self.exact]
        asked += [self.versions.requires(package, v) for package, v in chosen.items()]
        for each in asked:
            for package, text in package_of(each).items():
                found.setdefault(package, []).append(text)
        return found

    def _requires_of(self, package: str) -> dict[str, str]:
        return mapping_of(self.environment.fact(f"{package}.requires"))

    def _fits(self, package: str, version: str, chosen: Mapping[str, str]) -> bool:
        """Return whether what a release requires is met by what is decided already."""
        there = {**self.exact, **chosen}
        needs = package_of(self.versions.requires(package, version))
        return all(
            accepts(text, there[name]) if name in there else self._may_be(name, text)
            for name, text in needs.items()
        )

    def _may_be(self, package: str, specifier: str) -> bool:
        """Return whether a release in a range is known, of what is not decided yet."""
        both = ",".join(filter(None, (specifier, self.ranges.get(package, ""))))
        return not self.versions.of(package, "") or bool(self.versions.of(package, both))

    def world(self, chosen: Mapping[str, str]) -> Environment:
        """Return the environment with the releases that were chosen."""
        facts = dict(self.environment.facts)
        for package, version in chosen.items():
            facts |= self.versions.facts(package, version)
        return msgspec.structs.replace(self.environment, facts=facts)
