"""The classes of a release by module and name, and what each inherits from which."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from packaging.version import Version

_DEPTH = 12


@dataclass(frozen=True)
class Seen:
    """A class in one release."""

    names: frozenset[str]
    """What its objects have, by its bases too."""
    bases: tuple[str, ...]
    """All that it inherits from, the nearest first."""
    apart: frozenset[str] = frozenset()
    """What not all classes of its name have, where it stands for several."""
    is_whole: bool = False
    """It has nothing else by a class of another package."""
    is_open: bool = False
    """It takes any argument."""


Classes = dict[str, Seen]
"""Of one release: by the dotted name of the module and the class."""


@dataclass
class Maker:
    """How objects of a class are made, as far as its own body says."""

    names: frozenset[str] = frozenset()
    """Arguments."""
    has_constructor: bool = False
    is_open: bool = False
    """The constructor takes any argument."""
    is_dataclass: bool = False


@dataclass
class Body:
    """What one class binds itself."""

    bases: tuple[str, ...] = ()
    names: set[str] = field(default_factory=set)
    imports: dict[str, str] = field(default_factory=dict)
    """Base that its file imports -> the last word of the module which it comes from."""
    maker: Maker = field(default_factory=Maker)
    parts: tuple[str, ...] = ()
    """Those of its bases that hold some of its fields: no object is of such a class."""


def is_told(name: str) -> bool:
    """Return whether a program may name an attribute: Python itself names the others."""
    return not name.startswith("__")


def dotted(path: str) -> str:
    """Return the module that a file holds."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Family:
    """The classes of one release, and which of them inherits from which."""

    def __init__(self, bodies: Mapping[str, Body]) -> None:
        """Take them by their dotted names."""
        self._bodies = bodies
        self._by_name: dict[str, list[str]] = {}
        for each in bodies:
            self._by_name.setdefault(each.rpartition(".")[2], []).append(each)
        parts = {self._meant(name, part) for name, body in bodies.items() for part in body.parts}
        self.names = [name for name in bodies if name not in parts]

    def seen(self, name: str) -> Seen:
        """Return what the objects of a class have."""
        bases = self._bases(name)
        known = [self._bodies[each].names for each in (name, *bases) if each in self._bodies]
        names = frozenset(each for each in frozenset().union(*known) if is_told(each))
        return Seen(names, tuple(dict.fromkeys(each.rpartition(".")[2] for each in bases)))

    def _bases(self, name: str) -> list[str]:
        """Return what a class inherits from, the nearest first; a circle ends where it closes."""
        found: list[str] = []
        near = [name]
        for _ in range(_DEPTH):
            near = [
                self._meant(each, base)
                for each in near
                if each in self._bodies
                for base in self._bodies[each].bases
            ]
            near = [base for base in dict.fromkeys(near) if base not in found and base != name]
            found += near
        return found

    def _meant(self, heir: str, base: str) -> str:
        """Return the dotted name of a base: of its own file, of the only one, of the import.

        A class may inherit from one of its own name that its file imports; it is no base of itself.
        """
        module = heir.rpartition(".")[0]
        several = [each for each in self._by_name.get(base, []) if each != heir]
        own = f"{module}.{base}"
        if own in several:
            return own
        origin = self._bodies[heir].imports.get(base, "")
        near = [each for each in several if each.split(".")[-2] == origin]
        if not near and base != heir.rpartition(".")[2]:
            near = several
        return near[0] if len(near) == 1 else base


def simple_names(seen: Mapping[Version, Classes]) -> set[str]:
    """Return the names of classes, without their modules."""
    return {each.rpartition(".")[2] for classes in seen.values() for each in classes}


def by_name(seen: Mapping[Version, Classes]) -> dict[Version, Classes]:
    """Return classes by their names alone, but for what several of a name do not have alike.

    A message names a class without its module. What all of a name have in each release is told of
    the name; what one has and another lacks in any release is told of each by its module.
    """
    told = [_namesakes(classes) for classes in seen.values()]
    shared = {name for several in told for name, found in several.items() if len(found) > 1}
    apart = {name: set[str]() for name in shared}
    for several in told:
        for name in shared & several.keys():
            names = [each.names for each in several[name].values()]
            apart[name] |= frozenset().union(*names) - names[0].intersection(*names)
    return {
        version: {key: found for name in several for key, found in _keyed(name, several, apart)}
        for version, several in zip(seen, told, strict=True)
    }


def _namesakes(classes: Classes) -> dict[str, Classes]:
    """Return the classes of a release by their names."""
    found: dict[str, Classes] = {}
    for each, seen in classes.items():
        found.setdefault(each.rpartition(".")[2], {})[each] = seen
    return found


def _keyed(
    name: str, several: Mapping[str, Classes], apart: Mapping[str, set[str]]
) -> Iterator[tuple[str, Seen]]:
    """Yield the classes of one name as they are told."""
    first, *others = several[name].values()
    if name not in apart:
        yield name, first
        return
    bases = tuple(base for base in first.bases if all(base in each.bases for each in others))
    is_whole = all(each.is_whole for each in several[name].values())
    yield name, Seen(first.names - apart[name], bases, frozenset(apart[name]), is_whole)
    if apart[name]:
        for key, seen in several[name].items():
            yield key, Seen(seen.names & apart[name], seen.bases, is_whole=seen.is_whole)
