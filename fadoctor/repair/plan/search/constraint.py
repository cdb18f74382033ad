"""Something about an environment or a wish that could be otherwise."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from fadoctor.model.environment import Environment
from fadoctor.repair.plan.search.wishes import Wishes

Relaxed = Callable[[Environment, Wishes], tuple[Environment, Wishes]]
"""Environment and wishes as they would be otherwise."""


class Constraint(msgspec.Struct, frozen=True):
    """Something that could be otherwise."""

    words: str
    """What holds now."""
    give_up: str
    """What would have to be done for it to be otherwise."""
    relax: Relaxed
