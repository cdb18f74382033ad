"""What a search has found: one state, and what it costs."""

from __future__ import annotations

import msgspec

from fadoctor.repair.plan.choices.choice import Choice
from fadoctor.repair.plan.search.cost import Cost


class Solution(msgspec.Struct, frozen=True):
    """The best state that was found, and what it costs."""

    choices: tuple[Choice, ...]
    """In the order of the packages; what follows from them comes last."""
    cost: Cost
    nodes: int = 0
    complete: bool = True
    """Whether everything was looked at: else a cheaper one may exist."""

    @property
    def changes(self) -> tuple[Choice, ...]:
        """Return what changes."""
        return tuple(choice for choice in self.choices if choice.is_change)
