"""Whether what installed packages require still holds, over the whole environment."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version
from fadoctor.model.fact import Known, fact_mapping, fact_text
from fadoctor.model.packages import FRAMEWORKS, PACKAGES, package_of
from fadoctor.sources.manifests.installed.combine import exact_version
from fadoctor.sources.targets.incompatible_pairs import TABLE, pairs_of
from fadoctor.sources.targets.unmet_requirements import NAMED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.name_bounds import NameBounds

Requirements = dict[str, dict[str, str]]
"""Distribution -> what it requires -> specifier, "" where any version will do."""


class Violation(msgspec.Struct, frozen=True):
    """A requirement that does not hold."""

    distribution: str
    needs: str
    specifier: str
    found: str
    """The version that is there, "" where none is."""

    @property
    def is_exact(self) -> bool:
        """Return whether one release alone is taken: of another one nothing is promised."""
        return bool(exact_version(self.specifier))

    def is_about(self, packages: Collection[str]) -> bool:
        """Return whether it is a requirement of one of some packages, or one on such."""
        names = (self.distribution, self.needs) if packages else ()
        return any(package_of(name, name) in packages for name in names)

    @property
    def text(self) -> str:
        """Return it in words."""
        there = f"{self.needs} {self.found}" if self.found else f"no {self.needs}"
        return f"{self.distribution} requires {self.needs}{self.specifier}, and there is {there}"


def requirements_of(environment: Environment, others: Mapping[str, dict[str, str]]) -> Requirements:
    """Return what every package requires: `others` as read from all metadata, and the facts.

    Facts go before: of what a plan installs only they say what it will require.
    """
    found: Requirements = dict(others)
    for package, names in PACKAGES.items():
        if not {f"{package}.version", f"{package}.requires"} & environment.facts.keys():
            continue  # facts of a time that did not know this package
        distribution = environment.fact(f"{package}.distribution")
        name = str(distribution.value) if isinstance(distribution, Known) else names[0]
        for other in names:
            found.pop(other, None)
        needs = environment.fact(f"{package}.requires")
        if isinstance(needs, Known) and isinstance(needs.value, dict):
            found[name] = needs.value
    return found


def told_by_facts(environment: Environment) -> Requirements:
    """Return what packages outside the catalogue require, as far as facts have it.

    Saved facts come without the metadata: of a package that requires a part of the stack they say
    what it requires.
    """
    found: Requirements = {}
    for key in environment.requirers():
        name, needs = environment.fact(f"{key}.distribution"), environment.fact(f"{key}.requires")
        if isinstance(name, Known) and isinstance(needs, Known) and isinstance(needs.value, dict):
            found[str(name.value)] = needs.value
    return found


def with_extras(environment: Environment, others: Mapping[str, dict[str, str]]) -> Environment:
    """Return the environment with what frameworks pin in extras that are in use.

    `others` as read from all metadata: the facts have no requirement of an extra.
    """
    facts = dict(environment.facts)
    for package in FRAMEWORKS:
        needs = environment.fact(f"{package}.requires")
        pins = others.get(fact_text(environment.fact(f"{package}.distribution"), ""), {})
        if isinstance(needs, Known) and isinstance(needs.value, dict) and pins:
            value = {**pins, **needs.value}
            facts[f"{package}.requires"] = Known(value, needs.source)
    return msgspec.structs.replace(environment, facts=facts)


def with_pairs(
    requirements: Requirements, environment: Environment, matrix: Matrix, bounds: NameBounds
) -> Requirements:
    """Return the requirements with what goes together, as far as it is installed.

    By the table of pairs, and by the names that releases ask for at import. A plan makes no pair
    that does not fit, as it breaks no requirement.
    """
    there = named_or_installed(environment)
    found = dict(requirements)
    for name in {str(row["package"]) for row in matrix.tables[TABLE].rows} & there.keys():
        version = Known(there[name], "installed")
        for beside, fits, _, _ in pairs_of(Known(name, "installed"), version, there, matrix):
            if isinstance(fits, str):
                _narrow(found, name, beside, fits)
    for name in bounds.packages & there.keys():
        for beside, fits in bounds.of(name, there[name]).items():
            if there.get(beside):
                _narrow(found, name, beside, fits)
    return found


def _narrow(requirements: Requirements, name: str, beside: str, fits: str) -> None:
    needs = requirements.get(name, {})
    both = ",".join(filter(None, [needs.get(beside, ""), fits]))
    requirements[name] = {**needs, beside: both}


def violations(environment: Environment, requirements: Requirements) -> Iterator[Violation]:
    """Yield what does not hold; of what a text without a list names, only what it names.

    A requirement on something of which only the presence is known cannot be violated by a version.
    """
    installed = environment.fact("packages.installed")
    is_list = isinstance(installed, Known) and isinstance(installed.value, dict)
    there = named_or_installed(environment)
    for distribution, needs in requirements.items():
        if not there.get(distribution):
            continue  # not there, or in a release that nobody knows yet
        for name, specifier in needs.items():
            version = there.get(name)
            if version is None and not is_list:
                continue
            if version is None or not satisfies(version, specifier):
                yield Violation(distribution, name, specifier, version or "")


def _named(environment: Environment) -> dict[str, str]:
    """Return the versions of the packages of the stack that are known: distribution -> version."""
    found = {}
    for package, names in PACKAGES.items():
        if version := fact_text(environment.fact(f"{package}.version"), ""):
            found[fact_text(environment.fact(f"{package}.distribution"), names[0])] = version
    return found


def named_or_installed(environment: Environment) -> dict[str, str]:
    """Return distribution -> version of what is there; of a text without a list what it names."""
    installed = environment.fact("packages.installed")
    if isinstance(installed, Known):
        return dict(fact_mapping(installed))
    named = fact_mapping(environment.facts.get(NAMED))
    others = {name: version for name, version in named.items() if not package_of(name)}
    return {**others, **_named(environment)}


@lru_cache(maxsize=8192)
def satisfies(version: str, specifier: str) -> bool:
    """Return whether a version is in a specifier; what cannot be read is taken to be."""
    allowed, parsed = parse_specifier(specifier) if specifier else None, parse_version(version)
    return allowed is None or parsed is None or allowed.contains(parsed, prereleases=True)
