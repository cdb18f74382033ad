"""What a state costs: the order in which one plan is better than another."""

from __future__ import annotations

import msgspec


class Cost(msgspec.Struct, frozen=True, order=True):
    """Compared field by field, in this order. Less is better.

    Every field only grows while more packages are decided, so that the cost of a partial state is a
    bound for all that follow from it.
    """

    errors: int = 0
    """Rules that find an error, and requirements that would be broken."""
    missed: int = 0
    """Wishes that are not met; 1 for one that cannot be decided, 2 for one that fails. What nobody
    can prove because nobody has read for which GPUs a file has code is `unproved`."""
    lost: int = 0
    """Cells that worked and do not any more."""
    lowered: int = 0
    """Frameworks that go back to an older release."""
    torch: int = 0
    """1 for another build of the same release, 2 for another release, 3 for one that no range of a
    file admits; a framework that is compiled for one torch counts as the second, as either may be
    what was moved."""
    removed: int = 0
    """Packages that are gone."""
    warnings: int = 0
    """Rules that find a warning."""
    far: int = 0
    """Whether torch comes from another minor release: what is there was tested with its own. A
    framework that is compiled for one torch counts as much."""
    changed: int = 0
    """Distributions that are replaced or removed; what is new costs by its age."""
    builds: int = 0
    """Packages that are compiled."""
    community: int = 0
    """Files that others than the package's authors built."""
    hub: int = 0
    """Whether attention comes from the Hub when a program first asks for it."""
    unproved: int = 0
    """Wishes of which it is not known whether the files have code for the GPU."""
    steps: int = 0
    """Minor releases of torch between the one that is here and the one that comes, where nobody
    asked for anything: the nearest one is the least change. A first index is one more."""
    ages: tuple[int, ...] = ()
    """For each package how many releases are newer than the chosen one, in the order of packages;
    of the same length in all costs that are compared."""
    added: int = 0
    """Distributions that are new."""

    def is_no_worse_than(self, other: Cost) -> bool:
        """Return whether as much works as with another cost."""
        mine = (self.errors, self.missed, self.lost, self.warnings)
        return mine <= (other.errors, other.missed, other.lost, other.warnings)
