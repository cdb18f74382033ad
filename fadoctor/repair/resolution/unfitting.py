"""Packages of which no release in the tables goes with what the files pin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.packages import PACKAGES
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.repair.resolution.versions import package_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.repair.resolution.resolve import Resolver


def unfitting(resolver: Resolver) -> Iterator[str]:
    """Yield a sentence for each package that is asked for, and each pin that refuses it.

    A release of which the tables do not know what it requires may fit: then nothing is said.
    """
    versions = resolver.versions
    for package, specifier in resolver.ranges.items():
        here = [v for v in versions.of(package, specifier) if versions.has_file(package, v)]
        if not here or versions.is_helper(package):
            continue
        if not all(versions.is_read(package, version) for version in here):
            continue
        needs = [package_of(versions.requires(package, version)) for version in here]
        for other, pin in resolver.exact.items():
            if all(other in each and not accepts(each[other], pin) for each in needs):
                wanted = f"{PACKAGES[package][0]}{specifier}"
                yield f"No wheel of {wanted} in the tables fits {PACKAGES[other][0]} {pin}."
