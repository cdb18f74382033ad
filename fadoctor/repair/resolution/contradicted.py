"""What the releases that files ask for require, and the files themselves rule out."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fadoctor.knowledge.matrix.versions import parse_specifier, version_key
from fadoctor.model.fact import Known, fact_mapping
from fadoctor.model.packages import PACKAGES, TORCH, package_of
from fadoctor.sources.manifests.installed.contradicted import (
    SOURCE,
    is_from_below,
    is_impossible,
)
from fadoctor.sources.manifests.installed.fact_names import CONTRADICTED
from fadoctor.sources.manifests.installed.isolated import ISOLATED_TORCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.place import Place
    from fadoctor.repair.resolution.resolve import Resolver

_LIMIT = 200
"""Packages that ask, and that are looked at."""


class Contradictions:
    """What the files rule out of what is asked for; it is looked up once."""

    def __init__(self, resolver: Resolver) -> None:
        """Take what knows the releases and what they require."""
        self._resolver = resolver

    @cached_property
    def pairs(self) -> tuple[tuple[str, str, str], ...]:
        """Who requires what that is ruled out, and how that is said."""
        environment = self._resolver.environment
        asked = environment.asked
        return tuple(
            (name, other, f"({_said(name, asked[name], other, needs, asked[other])})")
            for name in list(asked)[:_LIMIT]
            for other, needs in _needed(name, environment, self._resolver)
            if _is_of_conda(name, environment) or not _is_of_conda(other, environment)
        )

    @cached_property
    def _over_a_third(self) -> tuple[tuple[str, str, str], ...]:
        """Which two pins require releases of a third that exclude each other, and how that is said.

        Of a third that the files do not name: what they say of one is held against each of the two.
        """
        environment, resolver = self._resolver.environment, self._resolver
        asked = environment.asked
        exact = {
            name: clauses[0].version
            for name in list(asked)[:_LIMIT]
            if len(clauses := list(parse_specifier(asked[name]) or ())) == 1
            and clauses[0].operator == "=="
            and not clauses[0].version.endswith(".*")
            and not _is_of_conda(name, environment)
        }
        needs = {
            name: list(_all_needed(name, version, asked, resolver))
            for name, version in exact.items()
        }
        return tuple(
            (
                one,
                other,
                f"({one}{asked[one]} {mine.words}, and {other}{asked[other]} {theirs.words})",
            )
            for one, other in combinations(needs, 2)
            for mine, theirs in product(needs[one], needs[other])
            if mine.name == theirs.name
            and all(map(is_impossible, product(mine.ranges, theirs.ranges)))
        )

    def within(self, there: Environment) -> Environment:
        """Return the environment with what cannot be met, whatever is open.

        Exact versions as well: an installer refuses the whole list.
        """
        told = [*self.pairs, *self._over_a_third]
        if not told:
            return there
        found = {name: text for name, _, text in reversed(told)}
        said = fact_mapping(there.fact(CONTRADICTED))
        facts = {**there.facts, CONTRADICTED: Known({**found, **said}, SOURCE)}
        at = [place for *names, _ in told for name in names for place in _places(name, there)]
        places = tuple(dict.fromkeys((*at, *there.places.get(CONTRADICTED, ()))))
        return msgspec.structs.replace(
            there, facts=facts, places={**there.places, CONTRADICTED: places}
        )


def _is_of_conda(name: str, there: Environment) -> bool:
    """Return whether conda brings a package: pip, which comes later, would replace it."""
    installer = there.fact(f"{package_of(name) or name}.installer")
    return isinstance(installer, Known) and installer.value == "conda"


def _places(name: str, there: Environment) -> tuple[Place, ...]:
    """Return where the files name a package, as far as they do."""
    known = there.places.get(f"{package_of(name)}.version", ())
    return known or there.places.get(f"packages.installed.{name}", ())


def _said(name: str, specifier: str, other: str, needs: str, asked: str) -> str:
    """Say who asks for what; `needs`: "" where each release requires something else."""
    whose = f"{name}{specifier}" if needs else f"every known release of {name}{specifier}"
    told = f"requires {other}{needs}" if needs else f"requires another {other}"
    return f"{whose} {told}, and {other}{asked} is asked for"


class _Need(NamedTuple):
    """What a pin leads to of a package that the files do not name."""

    name: str
    ranges: tuple[str, ...]
    """The releases that may come: one of these ranges."""
    words: str


def _all_needed(
    name: str, version: str, asked: Mapping[str, str], resolver: Resolver
) -> Iterator[_Need]:
    """Yield what a release requires, and what that requires in each release that it admits."""
    found = resolver.declared_of(name, version)
    needs = {third: text for third, text in found.items() if text and third not in asked}
    for third, text in needs.items():
        yield _Need(third, (text,), f"requires {third}{text}")
    for third, text in needs.items():
        for fourth, ranges in resolver.declared.of_range(third, text).items():
            if fourth not in asked:
                told = f"requires {third}{text}, which requires {fourth}{ranges[-1]}"
                yield _Need(fourth, ranges, told)


def _needed(name: str, environment: Environment, resolver: Resolver) -> Iterator[tuple[str, str]]:
    """Yield what every release that a file admits requires, and that the files rule out.

    "" where these require different versions.
    """
    asked = environment.asked
    releases = _releases(name, asked[name], resolver)
    if not releases:
        return
    torch = fact_mapping(environment.fact(ISOLATED_TORCH)).get(name)
    beside = {TORCH: torch} if torch else {}
    needs = [resolver.declared_of(name, version) | beside for version in releases]
    is_ended = _is_ended(asked[name])
    for other, newest in needs[0].items():
        if other == name or not asked.get(other):
            continue
        texts = [each.get(other, "") for each in needs]
        if not all(text and is_impossible((asked[other], text)) for text in texts):
            continue
        if is_ended or is_from_below(asked[other], newest):
            yield other, newest if len(set(texts)) == 1 else ""


def _releases(name: str, specifier: str, resolver: Resolver) -> tuple[str, ...]:
    """Return all releases that a file admits, newest first; none where some may be unknown."""
    parsed = parse_specifier(specifier)
    clauses = list(parsed) if parsed is not None else []
    exact = [c.version for c in clauses if c.operator == "==" and not c.version.endswith(".*")]
    if exact:
        return (exact[0],)
    package = package_of(name)
    lows = [c.version.removesuffix(".*") for c in clauses if c.operator in (">=", ">", "==", "~=")]
    if not package or name != PACKAGES[package][0] or not lows:
        return ()
    everything = resolver.versions.of(package, "")
    if not everything or version_key(everything[-1]) > max(map(version_key, lows)):
        return ()  # older ones may be admitted that no table has
    return resolver.versions.of(package, specifier)


def _is_ended(specifier: str) -> bool:
    """Return whether a file keeps releases out that do not exist yet."""
    return any(c.operator in ("<", "<=", "==", "~=") for c in parse_specifier(specifier) or ())
