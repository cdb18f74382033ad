"""What two that come require of one package in ranges that exclude each other, or of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.model.fact import Known, fact_mapping
from fadoctor.repair.plan.choices.offers import is_told
from fadoctor.repair.plan.choices.released import accepts, can_agree
from fadoctor.repair.plan.states.requirements import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.choices.helpers import Helpers

_OPERATORS = ("<", ">", "=", "!", "~")


def at_odds(helpers: Helpers, first: Choice, second: Choice) -> Iterator[Violation]:
    """Yield what no release of a package meets that both declare to require, or one of the other.

    An installer refuses the whole command, whether that package is there or not.
    """
    yield from _open_ranges(helpers, first, second)
    if not (first.is_change and first.version and second.is_change and second.version):
        return
    mine = helpers.declared(first.distribution, first.version)
    theirs = helpers.declared(second.distribution, second.version)
    for asker, needs, other in ((first, mine, second), (second, theirs, first)):
        asked = needs.get(other.distribution, "")
        if is_told(other) and not accepts(asked, other.version):
            yield Violation(asker.distribution, other.distribution, asked, other.version)
    for name in mine.keys() & theirs.keys():
        if not can_agree(mine[name], theirs[name]):
            found = f"{theirs[name]} for {second.distribution}"
            yield Violation(first.distribution, name, mine[name], found)


def _open_ranges(helpers: Helpers, first: Choice, second: Choice) -> Iterator[Violation]:
    """Yield what a release requires, where only a range is chosen of the other, and excludes it."""
    for asker, other in ((first, second), (second, first)):
        own = other.requirement.removeprefix(other.distribution)
        is_range = other.is_change and not other.version and own[:1] in _OPERATORS
        if not (is_range and own and asker.is_change and asker.version):
            continue
        told = asker.facts.get(f"{asker.package}.requires")
        needs = helpers.declared(asker.distribution, asker.version)
        needs = needs | (fact_mapping(told) if isinstance(told, Known) else {})
        asked = needs.get(other.distribution, "")
        if asked and not can_agree(asked, own):
            yield Violation(asker.distribution, other.distribution, asked, own)
