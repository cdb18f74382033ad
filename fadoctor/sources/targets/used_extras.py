"""What frameworks pin in extras that are in use: metadata alone do not say which extras are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.knowledge.matrix.required import in_extras
from fadoctor.model.fact import Known, fact_mapping, fact_text
from fadoctor.model.packages import PACKAGES, PARTLY_EXTRAS
from fadoctor.sources.targets.unmet_requirements import NAMED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.fact import Fact


def used_extras(facts: Mapping[str, Fact], matrix: Matrix) -> dict[str, Fact]:
    """Return the requirements of such frameworks, with what the extra pins."""
    return dict(_of_each(facts, matrix))


def _of_each(facts: Mapping[str, Fact], matrix: Matrix) -> Iterator[tuple[str, Fact]]:
    installed = facts.get("packages.installed", facts.get(NAMED))
    there = fact_mapping(installed if isinstance(installed, Known) else facts.get(NAMED))
    for package in PARTLY_EXTRAS:
        version, needs = facts.get(f"{package}.version"), facts.get(f"{package}.requires")
        if not isinstance(version, Known) or not isinstance(needs, Known):
            continue
        drawn = declared(PACKAGES[package][0], fact_text(version, ""), matrix)
        pins = in_extras(package, version, matrix)
        if pins and _is_used(drawn, there) and not pins.keys() <= fact_mapping(needs).keys():
            told = {name: pin for name, pin in {**drawn, **pins}.items() if name in there}
            yield f"{package}.requires", Known(told | fact_mapping(needs), needs.source)


def _is_used(drawn: Mapping[str, str], there: Mapping[str, str]) -> bool:
    """Return whether a kernel is there that nothing but an extra of the framework installs."""
    return any(pin.startswith("==") and name in there for name, pin in drawn.items())
