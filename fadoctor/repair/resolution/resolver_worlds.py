"""Worlds: what a resolver takes today, and what else the ranges of the files admit."""

from __future__ import annotations

from itertools import islice, zip_longest
from typing import TYPE_CHECKING

import msgspec

from fadoctor.judging.diagnose import Prognosis, foresee
from fadoctor.knowledge.matrix.versions import version_key, version_part
from fadoctor.model.environment import Environment
from fadoctor.model.packages import PACKAGES
from fadoctor.repair.resolution.contradicted import Contradictions
from fadoctor.repair.resolution.labelled import labelled, settled
from fadoctor.repair.resolution.resolve import Resolver
from fadoctor.repair.resolution.unfitting import unfitting
from fadoctor.repair.resolution.versions import Versions, package_of
from fadoctor.sources.manifests.installed.range_ends import has_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.rule import Knowledge

WORLD_LIMIT = 100
"""Other worlds than today's that are tried: a count, so that any machine gives the same answer."""

LOOSE_LIMIT = 100
"""Releases of a package that something may bound."""


class ResolverWorld(msgspec.Struct, frozen=True):
    """One way in which the open packages may come."""

    versions: dict[str, str]
    """Package -> the release that is taken."""
    prognosis: Prognosis
    varied: str = ""
    """The package that is another one than today; "" for today's world."""
    apart: frozenset[str] = frozenset()
    """Distributions that one installer takes, and never beside that release."""


class Trial(msgspec.Struct, frozen=True):
    """The worlds that were judged."""

    today: ResolverWorld
    environment: Environment
    """Today's, with what only files could show Unknown."""
    others: tuple[ResolverWorld, ...] = ()
    untried: int = 0
    """Versions beyond `WORLD_LIMIT`."""
    fits: bool = True
    """Whether the tables know releases that fit together."""
    loose: tuple[ResolverWorld, ...] = ()
    """Today's with a release of a package of which nobody knows which one comes."""
    is_consistent: bool = True
    """Whether all of that but the helpers does: else today's is what is asked for, as it stands."""
    is_sure: bool = True
    """Whether a resolver surely takes these: the tables decide about all that files ask for."""
    ruled_out: frozenset[tuple[str, str]] = frozenset()
    """Who requires of what a release that the files rule out: that is told of all releases."""
    unfitting: tuple[str, ...] = ()
    """Sentences: of which package no release in the tables goes with what the files pin."""
    is_partial: bool = False
    """Whether more worlds are to be judged: whoever asked wanted a first answer soon."""


def come_today(environment: Environment, matrix: Matrix) -> Environment:
    """Return what a resolver makes of the open packages today; what it cannot, stays open."""
    resolver = Resolver(environment, Versions(environment, matrix))
    return Contradictions(resolver).within(resolver.world(_taken(resolver)[0]))


def picks(environment: Environment, matrix: Matrix) -> dict[str, str]:
    """Return which release of each open package comes today, where the tables decide about it."""
    resolver = Resolver(environment, Versions(environment, matrix))
    taken, fits, _ = _taken(resolver)
    return taken if fits and resolver.is_sure(taken) else {}


def resolved_today(environment: Environment, matrix: Matrix) -> tuple[Resolver, dict[str, str]]:
    """Return a resolver, and what it takes today."""
    resolver = Resolver(environment, Versions(environment, matrix))
    return resolver, _taken(resolver)[0]


def newest_of_open(resolver: Resolver, taken: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the newest release that files admit of what something else may bound.

    None that an installer keeps away from what it takes beside it, where another one is there.
    """
    for package, specifier in package_of(resolver.environment.bounded).items():
        listed = resolver.versions.of(package, specifier)
        able = [version for version in listed if not resolver.is_kept_out(package, version)]
        fitting = [v for v in able if not resolver.quarrels(package, v, taken)] or able
        newest = max(fitting or listed, key=version_key, default="")
        if newest:
            yield package, newest


def oldest_of_open(resolver: Resolver, package: str) -> str:
    """Return the oldest release that files admit: what fails there and in the newest fails."""
    specifier = package_of(resolver.environment.bounded)[package]
    return min(resolver.versions.of(package, specifier), key=version_key)


def newest_within(resolver: Resolver, package: str, requirement: str) -> str:
    """Return the newest release that files and a requirement admit, "" for none."""
    asked = package_of(resolver.environment.bounded).get(package, "")
    return newest_of(resolver, package, requirement, asked)


def newest_of(resolver: Resolver, package: str, requirement: str, asked: str = "") -> str:
    """Return the newest release that a requirement and a range admit, "" for none."""
    own = requirement.removeprefix(name_of(package))
    listed = resolver.versions.of(package, ",".join(filter(None, (asked, own))))
    return max(
        (each for each in listed if not resolver.is_refused(package, each)),
        key=version_key,
        default="",
    )


def _taken(resolver: Resolver) -> tuple[dict[str, str], bool, bool]:
    """Return what is taken today, whether all of it fits, and whether all but the helpers does."""
    if (chosen := resolver.resolve_in_order()) is not None:
        return chosen, True, True
    if (chosen := resolver.resolve_without_helpers()) is not None:
        return chosen, False, True
    return resolver.resolve_loosely(), False, False


def try_out(
    environment: Environment,
    knowledge: Knowledge,
    matrix: Matrix,
    ignore: tuple[str, ...],
    limit: int | None = None,
) -> Trial:
    """Judge today's world, and those in which one package is another release.

    Where those are more than `limit`, none of them is judged, and the trial says so.
    """
    resolver = Resolver(environment, Versions(environment, matrix))
    taken, fits, is_consistent = _taken(resolver)
    is_sure = resolver.is_sure(taken)
    contradictions = Contradictions(resolver)
    there = contradictions.within(resolver.world(taken))
    today = ResolverWorld(taken, foresee(settled(labelled(there)), knowledge, ignore))
    found_loose = _loose(resolver, today, (knowledge, ignore))
    loose = tuple(found_loose if limit is None else islice(found_loose, limit + 1))
    ruled_out = frozenset((name, other) for name, other, _ in contradictions.pairs)
    unfit = tuple(unfitting(resolver))
    is_varied = is_consistent and bool(environment.ranges)
    variations = list(_variations(resolver, taken)) if is_varied else []
    is_partial = limit is not None and (len(loose) > limit or len(variations) > limit)
    if is_partial or not is_varied:
        return Trial(
            today, there, fits=fits, loose=() if is_partial else loose,
            is_consistent=is_consistent, is_sure=is_sure, ruled_out=ruled_out, unfitting=unfit,
            is_partial=is_partial,
        )  # fmt: skip
    others: list[ResolverWorld] = []
    untried = 0
    for package, version in variations:
        if len(others) >= WORLD_LIMIT:
            untried += 1
            continue
        found = resolver.resolve({package: version})
        if found is not None:
            world = contradictions.within(resolver.world(found))
            prognosis = foresee(settled(labelled(world)), knowledge, ignore)
            others.append(ResolverWorld(found, prognosis, package))
    return Trial(
        today, there, tuple(others), untried, fits, loose,
        is_sure=is_sure, ruled_out=ruled_out, unfitting=unfit,
    )  # fmt: skip


def _loose(
    resolver: Resolver, today: ResolverWorld, how: tuple[Knowledge, tuple[str, ...]]
) -> Iterator[ResolverWorld]:
    """Yield a world for each release of the packages that something may bound, one at a time.

    All releases of a package or none: what is said of a part says nothing of the range. None of
    one that the files keep from no newer release, where its newest does nothing wrong.
    """
    left = LOOSE_LIMIT
    told = {each.fingerprint for each in today.prognosis.assessment.findings}

    def world(package: str, version: str) -> ResolverWorld:
        versions = {**today.versions, package: version}
        there = settled(labelled(resolver.world(versions)))
        # of these, findings are told alone
        found = foresee(there, *how, predicts=False)
        apart = resolver.quarrels(package, version, today.versions)
        return ResolverWorld(versions, found, package, apart)

    for package, specifier in package_of(resolver.environment.bounded).items():
        listed = resolver.versions.of(package, specifier)
        is_out = resolver.is_kept_out if resolver.comes_along(package) else resolver.is_refused
        fitting = [version for version in listed if not is_out(package, version)]
        newest = max(fitting or listed, key=version_key, default="")
        is_open = newest and not has_end(specifier)
        found = {newest: world(package, newest)} if is_open else {}
        if found and told.issuperset(_fingerprints(found[newest])):
            continue
        left -= len(fitting or listed)
        if left < 0:
            return
        yield from (found.get(each) or world(package, each) for each in fitting or listed)


def _fingerprints(world: ResolverWorld) -> Iterator[str]:
    return (each.fingerprint for each in world.prognosis.assessment.findings)


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
