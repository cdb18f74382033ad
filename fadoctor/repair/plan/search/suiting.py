"""Which releases of a package suit what is decided, by their places among all that can be had.

A set of places is a whole number with a bit for each: what suits several things is what their sets
have in common.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_specifier
from fadoctor.repair.plan.choices.helpers import MOVE_ALONG
from fadoctor.repair.plan.choices.released import accepts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice
    from fadoctor.repair.plan.choices.helpers import Helpers
    from fadoctor.repair.plan.choices.name_bounds import NameBounds
    from fadoctor.repair.plan.choices.pair_bounds import PairBounds


class Suiting:
    """That of one Python and one platform; all searches there share what was found."""

    def __init__(
        self, environment: Environment, helpers: Helpers, bounds: NameBounds, pairs: PairBounds
    ) -> None:
        """Take an environment of the place, and who knows what releases need."""
        self._environment = environment
        self._helpers, self._bounds, self._pairs = helpers, bounds, pairs
        self._every: dict[str, tuple[Choice, ...]] = {}
        self._needs: dict[str, dict[str, list[tuple[str, ...]]]] = {}
        self._all: dict[str, int] = {}
        self._places: dict[tuple[str, str, str], int] = {}

    def every(self, name: str) -> tuple[Choice, ...]:
        """Return the releases of a package that can be had, newest first."""
        if name not in self._every:
            self._every[name] = self._helpers.fitting(name, self._environment, (), {})
        return self._every[name]

    def others(self, name: str) -> dict[str, list[tuple[str, ...]]]:
        """Return what some releases go with in some versions, and in which each one does."""
        if name not in self._needs:
            every = [self._beside(name, each) for each in self.every(name)]
            names = dict.fromkeys(other for needs in every for other in needs)
            self._needs[name] = {o: [tuple(needs.get(o, ())) for needs in every] for o in names}
        return self._needs[name]

    def _beside(self, name: str, choice: Choice) -> dict[str, list[str]]:
        """Return what a release goes with, and in which ranges."""
        moving = MOVE_ALONG.get(name, ())
        by_names = self._bounds.of(name, choice.version).items()
        found: dict[str, list[str]] = {}
        for other, text in (
            *self._helpers.own(name, choice.version),
            *(item for item in by_names if item[0] not in moving),
            *self._pairs.of(name, choice.version),
        ):
            found.setdefault(other, []).append(text)
        return found

    def all_of(self, name: str) -> int:
        """Return the places of all releases."""
        if name not in self._all:
            self._all[name] = (1 << len(self.every(name))) - 1
        return self._all[name]

    def within(self, name: str, specifier: str) -> int:
        """Return the places of the releases in a range.

        Hundreds of ranges are made of a few clauses.
        """
        asked = (name, specifier, "")
        if asked not in self._places:
            every = self.every(name)
            clauses = specifier.split(",")
            if len(clauses) > 1 and parse_specifier(specifier) is not None:
                found = self.all_of(name)
                for each in filter(None, map(str.strip, clauses)):
                    found &= self.within(name, each)
            else:
                found = places_of(accepts(specifier, each.version) for each in every)
            self._places[asked] = found
        return self._places[asked]

    def with_other(self, name: str, other: str, version: str) -> int:
        """Return the places of the releases that take a version of another package."""
        asked = (name, other, version)
        if asked not in self._places:
            ranges = self.others(name)[other]
            self._places[asked] = places_of(
                all(accepts(text, version) for text in some) for some in ranges
            )
        return self._places[asked]


def places_of(suits: Iterable[bool]) -> int:
    """Return the places of what suits, told of each in order."""
    return sum(1 << place for place, each in enumerate(suits) if each)
