"""What two that come require of one package in ranges that exclude each other, or of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.repair.plan.offers import is_told
from fadoctor.repair.plan.released import accepts, can_agree
from fadoctor.repair.plan.requirements import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.repair.plan.choice import Choice
    from fadoctor.repair.plan.helpers import Helpers


def at_odds(helpers: Helpers, first: Choice, second: Choice) -> Iterator[Violation]:
    """Yield what no release of a package meets that both declare to require, or one of the other.

    An installer refuses the whole command, whether that package is there or not.
    """
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
