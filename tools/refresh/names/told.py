"""Of which class something is told, so that what is told of it by its families is true of it, too.

fadoctor takes what the nearest says: the class itself, else the first of its families that says
anything of a name. So a family may speak for an heir only where what it says holds in every release
of the heir. Elsewhere the heir says it itself, or the family is no family of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NOTHING = frozenset[str]()


@dataclass(frozen=True)
class Others:
    """What another package says of its classes, and what they have."""

    told: Mapping[str, frozenset[str]] = field(default_factory=dict)
    has: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """In any release."""


NO_OTHERS = Others()


@dataclass(frozen=True)
class Held:
    """What the releases of one class have: a bit for each release."""

    there: int
    """The releases that have the class."""
    names: Mapping[str, int]
    changed: frozenset[str]
    """What is told of the class where no family says it."""
    ancestors: Sequence[str]
    """All that it ever inherited from, the nearest first."""
    now: frozenset[str] = _NOTHING
    """What it inherits from in its newest release."""
    apart: frozenset[str] = _NOTHING
    """What is told of its modules, each for itself."""
    is_whole: bool = False
    """It has nothing else by a class of another package."""

    def agrees(self, other: Held, name: str) -> bool:
        """Return whether another class has a name wherever this one has it, and only there."""
        return not (self.names.get(name, 0) ^ other.names.get(name, 0)) & self.there


class Speakers:
    """Decides for each class of a package which families speak for it, and what it says itself."""

    def __init__(
        self,
        classes: Mapping[str, Held],
        families: frozenset[str],
        others: Others,
        given: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Take the classes, those of them that speak for heirs, and what other packages say.

        The lineage is decided, unless it is given.
        """
        self._classes, self._families, self._others = classes, families, others
        self._given = given
        self.lineage: dict[str, tuple[str, ...]] = {}
        """The families that speak for a class, the nearest first."""
        self.told: dict[str, frozenset[str]] = {}
        """What is told of a class by its own name."""
        self._open: set[str] = set()
        listed = given or {}
        self._speaking_for = families | {each for lineage in listed.values() for each in lineage}
        for name in classes:
            self._settle(name)

    def _settle(self, name: str) -> None:
        """Decide for a class, for its families first. In a circle the first one has no family."""
        if name in self.told or name in self._open:
            return
        self._open.add(name)
        held = self._classes[name]
        families = [
            each for each in held.ancestors if each in self._families or self._is_other(each)
        ]
        for each in families:
            if each in self._classes:
                self._settle(each)
        families = [each for each in families if each in self.told or each not in self._classes]
        self.lineage[name] = tuple(self._speaking(held, families))
        self.told[name] = frozenset(self._own(name, held))
        self._open.remove(name)

    def _is_other(self, name: str) -> bool:
        return name not in self._classes and name in self._others.has

    def _says(self, family: str) -> frozenset[str]:
        return self.told.get(family, self._others.told.get(family, _NOTHING))

    def _speaking(self, held: Held, families: Sequence[str]) -> Iterator[str]:
        """Yield the families of a class; not those of old that are wrong of it more than right.

        What a family says of classes of one name that differ in it is true of some of them at most.
        """
        heard: set[str] = set()
        for family in families:
            says = self._says(family) - heard
            wrong = {each for each in says if not self._is_right(held, family, each)}
            is_wrong = len(wrong) > len(held.changed & (says - wrong)) and family not in held.now
            if family in self._classes and (is_wrong or says & held.apart):
                continue
            yield family
            heard |= says

    def _is_right(self, held: Held, family: str, name: str) -> bool:
        """Return whether what a family says holds in every release of a class.

        Releases of another package are not those of the class: what the class has in each release
        by itself, or lacks where nothing is inherited, is none of that package's concern.
        """
        other = self._classes.get(family)
        if other is not None:
            return held.agrees(other, name)
        return not held.is_whole and held.names.get(name) != held.there

    def _own(self, name: str, held: Held) -> Iterator[str]:
        """Yield what came to a class or went, and what a family says of it that is not so.

        A family leaves to another package even what it always has: heirs may be older than it is.
        """
        speaker: dict[str, str] = {}
        for family in self.lineage[name]:
            speaker.update(dict.fromkeys(self._says(family) - speaker.keys(), family))
        has = (self._others.has[each] for each in held.ancestors if self._is_other(each))
        left = _NOTHING if held.is_whole else _NOTHING.union(*has)
        yield from held.changed - speaker.keys() - left
        speaks = name in self._speaking_for and not held.is_whole
        for each, family in speaker.items():
            is_left = speaks and family not in self._classes
            if not is_left and not self._is_right(held, family, each):
                yield each
