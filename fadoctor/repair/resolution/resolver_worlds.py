"""Worlds: what a resolver takes today, and what else the ranges of the files admit."""

from __future__ import annotations

import time
from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.diagnose import Prognosis, foresee
from fadoctor.knowledge.matrix.versions import version_part
from fadoctor.model.environment import Environment
from fadoctor.model.packages import PACKAGES
from fadoctor.repair.resolution.contradicted import Contradictions
from fadoctor.repair.resolution.labelled import labelled, settled
from fadoctor.repair.resolution.resolve import Resolver
from fadoctor.repair.resolution.versions import Versions, package_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.rule import Knowledge

WORLD_LIMIT = 200
TIME_LIMIT_S = 1.0
"""How long other worlds than today's are tried; a report does not wait for all of them."""


class World(msgspec.Struct, frozen=True):
    """One way in which the open packages may come."""

    versions: dict[str, str]
    """Package -> the release that is taken."""
    prognosis: Prognosis
    varied: str = ""
    """The package that is another one than today; "" for today's world."""


class Trial(msgspec.Struct, frozen=True):
    """The worlds that were judged."""

    today: World
    environment: Environment
    """Today's, with what only files could show Unknown."""
    others: tuple[World, ...] = ()
    untried: int = 0
    """Versions for which there was no time."""
    fits: bool = True
    """Whether the tables know releases that fit together."""
    loose: tuple[World, ...] = ()
    """Today's with a release of a package of which nobody knows which one comes."""
    is_consistent: bool = True
    """Whether all of that but the helpers does: else today's is what is asked for, as it stands."""
    ruled_out: frozenset[tuple[str, str]] = frozenset()
    """Who requires of what a release that the files rule out: that is told of all releases."""


def come_today(environment: Environment, matrix: Matrix) -> Environment:
    """Return what a resolver makes of the open packages today; what it cannot, stays open."""
    resolver = Resolver(environment, Versions(environment, matrix))
    return Contradictions(resolver).within(resolver.world(_taken(resolver)[0]))


def _taken(resolver: Resolver) -> tuple[dict[str, str], bool, bool]:
    """Return what is taken today, whether all of it fits, and whether all but the helpers does."""
    if (chosen := resolver.resolve({})) is not None:
        return chosen, True, True
    if (chosen := resolver.resolve_without_helpers()) is not None:
        return chosen, False, True
    return resolver.resolve_loosely(), False, False


def try_out(
    environment: Environment, knowledge: Knowledge, matrix: Matrix, ignore: tuple[str, ...]
) -> Trial:
    """Judge today's world, and those in which one package is another release."""
    resolver = Resolver(environment, Versions(environment, matrix))
    taken, fits, is_consistent = _taken(resolver)
    contradictions = Contradictions(resolver)
    there = contradictions.within(resolver.world(taken))
    today = World(taken, foresee(settled(labelled(there)), knowledge, ignore))
    loose = tuple(_loose(resolver, taken, (knowledge, ignore)))
    ruled_out = frozenset((name, other) for name, other, _ in contradictions.pairs)
    if not is_consistent or not environment.ranges:
        return Trial(
            today, there, fits=fits, loose=loose, is_consistent=is_consistent, ruled_out=ruled_out
        )
    others: list[World] = []
    untried = 0
    end = time.thread_time() + TIME_LIMIT_S  # what else the machine does changes no answer
    for package, version in _variations(resolver, taken):
        if len(others) >= WORLD_LIMIT or time.thread_time() > end:
            untried += 1
            continue
        found = resolver.resolve({package: version})
        if found is not None:
            world = contradictions.within(resolver.world(found))
            prognosis = foresee(settled(labelled(world)), knowledge, ignore)
            others.append(World(found, prognosis, package))
    return Trial(today, there, tuple(others), untried, fits, loose, ruled_out=ruled_out)


def _loose(
    resolver: Resolver, taken: dict[str, str], how: tuple[Knowledge, tuple[str, ...]]
) -> Iterator[World]:
    """Yield a world for each release of the packages that something may bound, one at a time.

    All releases of a package or none: what is said of a part says nothing of the range. Hence the
    limit is on the time of this thread, which does not hang on what else the machine does.
    """
    end = time.thread_time() + TIME_LIMIT_S
    for package, specifier in package_of(resolver.environment.bounded).items():
        found: list[World] = []
        listed = resolver.versions.of(package, specifier)[:WORLD_LIMIT]
        fitting = [version for version in listed if not resolver.is_refused(package, version)]
        for version in fitting or listed:
            if time.thread_time() > end:
                return
            versions = {**taken, package: version}
            there = settled(labelled(resolver.world(versions)))
            found.append(World(versions, foresee(there, *how), package))
        yield from found


def _variations(resolver: Resolver, chosen: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield package and version, one at a time: the newest of each minor first, in turns."""
    rows = []
    for package, specifier in resolver.ranges.items():
        if package not in chosen:
            continue
        found = [v for v in resolver.versions.of(package, specifier) if v != chosen.get(package)]
        newest = {version_part(version, "minor"): version for version in reversed(found)}
        first = [version for version in found if version in newest.values()]
        rest = [version for version in found if version not in first]
        rows.append([(package, version) for version in (*first, *rest)])
    for turn in zip_longest(*rows):
        yield from (each for each in turn if each is not None)


def name_of(package: str) -> str:
    """Return how people call a package."""
    return PACKAGES[package][0]
