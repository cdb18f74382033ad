"""A bound that ends with the time of what is pinned: nobody tried what came long after."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.packages import PACKAGES
from fadoctor.repair.plan.choices.offers import offer
from fadoctor.repair.plan.choices.released import within_both
from fadoctor.repair.resolution.resolver_worlds import name_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.repair.plan.choices.release_months import ReleaseMonths
    from fadoctor.repair.resolution.resolve import Resolver


def timely_bound(
    resolver: Resolver, package: str, bound: str, taken: Mapping[str, str], months: ReleaseMonths
) -> str:
    """Return a bound with the end of the time of the oldest release that requires a package.

    As it is where none does, or where it keeps away already what came long after. `taken`: what
    comes today of what files leave open.
    """
    name = name_of(package)
    own = bound.removeprefix(name)
    if own.startswith("=="):
        return bound
    listed = resolver.versions.of(package, own)
    choices = [each for version in listed if (each := offer(f"{name}=={version}")) is not None]
    end = months.end_of_their_time(choices, _askers(resolver, name, taken))
    return f"{name}{within_both(own, end)}" if end else bound


def _askers(resolver: Resolver, name: str, taken: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return what comes, and requires a distribution."""
    exact = {PACKAGES[key][0]: version for key, version in {**taken, **resolver.exact}.items()}
    pins = resolver.pinned | exact
    return [each for each in pins.items() if name in resolver.declared_of(*each)]
