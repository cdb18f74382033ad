"""What an installer has taught about one environment, beside what the tables say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fadoctor.repair.plan.states.requirements import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fadoctor.repair.plan.choices.choice import Choice

Exact = tuple[str, str]
"""Distribution and version."""


class Lessons(msgspec.Struct, frozen=True):
    """What a plan that is made anew must not try again."""

    stuck: frozenset[str] = frozenset()
    """Distributions without a table of releases that no installer could move along."""
    refused: tuple[frozenset[Exact], ...] = ()
    """Releases that no installer puts together."""
    named: tuple[str, ...] = ()
    """Fact prefixes of packages that the plan decides itself: the installer's own pick fails."""

    @property
    def count(self) -> int:
        """How much has been learned."""
        return len(self.stuck) + len(self.refused) + len(self.named)

    def broken_by(self, choices: Iterable[Choice]) -> Iterator[Violation]:
        """Yield what an installer has refused already, of the releases of a whole state."""
        if not self.refused:
            return
        there = {(choice.distribution, choice.version) for choice in choices if choice.version}
        for group in self.refused:
            if group <= there:
                (name, version), *others = sorted(group)
                beside = ", ".join(f"{other} {release}" for other, release in others)
                yield Violation(f"{name} {version}", beside or "another release", "", "")
