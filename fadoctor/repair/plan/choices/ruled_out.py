"""Releases that require what the files themselves rule out: an installer refuses the new text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.model.packages import ORDER, PACKAGES, PLANNED
from fadoctor.repair.plan.choices.released import can_agree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.choices.choice import Choice

_MOVED = {name for package in (*ORDER, *PLANNED) for name in PACKAGES.get(package, (package,))}


class RuledOut:
    """What files ask of packages that no plan moves, against what releases require of those."""

    def __init__(self, environment: Environment, matrix: Matrix) -> None:
        """Take the environment as the files describe it."""
        asked = environment.asked
        self._asked = {n: text for n, text in asked.items() if text and n not in _MOVED}
        self._matrix = matrix
        self._known: dict[tuple[str, str], bool] = {}
        self._admitted: dict[str, bool] = {}

    def without(
        self, choices: Iterable[Choice], every: Callable[[], Iterable[Choice]]
    ) -> list[Choice]:
        """Return what an installer may take; all, where the files admit no release at all.

        `every`: gives all releases of the package, whatever torch they want.
        """
        found = list(choices)
        fitting = [each for each in found if self._may_come(each)] if self._asked else found
        if len(fitting) == len(found):
            return found
        name = found[0].distribution
        if name not in self._admitted:
            self._admitted[name] = any(map(self._may_come, every()))
        return fitting if self._admitted[name] else found

    def _may_come(self, choice: Choice) -> bool:
        key = (choice.distribution, choice.version)
        if not choice.version or not choice.is_change:
            return True
        if key not in self._known:
            needs = declared(*key, self._matrix)
            both = self._asked.keys() & needs.keys()
            self._known[key] = all(can_agree(needs[n], self._asked[n]) for n in both)
        return self._known[key]
