"""Which arguments a class takes where an object is made: of its constructor, or its fields."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tools.refresh.names.families import Body, Classes, Family, Maker, Seen
from tools.refresh.names.trees import last_word, statements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from packaging.version import Version

_OWN = frozenset({"self", "cls"})
_NEUTRAL = frozenset({"object", "Generic", "ABC", "Protocol", "Struct"})
"""Bases that take no argument, and ask for none."""
_TOLD = re.compile(
    r"Accelerator|\w*(?:Trainer|Config|Configuration|Arguments|Args|Params|Plugin|Kwargs)|[a-z]\w*"
)
_CALLED = frozenset({"Accelerator"})
"""Classes whose methods are read as well: other packages call them by name."""


def maker_of(node: ast.ClassDef) -> Maker:
    """Return how objects of a class are made."""
    functions = (each for each in statements(node.body) if isinstance(each, ast.FunctionDef))
    constructor = next((each for each in functions if each.name == "__init__"), None)
    if constructor is not None and not _passes_on(constructor):
        names = frozenset(parameters_of(constructor))
        return Maker(names, has_constructor=True, is_open=constructor.args.kwarg is not None)
    is_dataclass = any(_called(each) == "dataclass" for each in node.decorator_list)
    is_dataclass |= "Struct" in map(last_word, node.bases)  # of msgspec
    return Maker(frozenset(_fields(node) if is_dataclass else ()), is_dataclass=is_dataclass)


def methods_of(node: ast.ClassDef) -> Iterator[tuple[str, Maker]]:
    """Yield the methods that others call, and what each takes; a message names it alone."""
    for each in statements(node.body) if node.name in _CALLED else ():
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            names, is_open = frozenset(parameters_of(each)), each.args.kwarg is not None
            yield each.name, Maker(names, has_constructor=True, is_open=is_open)


def _called(node: ast.expr) -> str:
    return last_word(node.func if isinstance(node, ast.Call) else node)


def _passes_on(constructor: ast.FunctionDef) -> bool:
    """Return whether a constructor takes all for that of its base: `(self, *args, **kwargs)`."""
    takes = constructor.args
    named = len(takes.posonlyargs) + len(takes.args) + len(takes.kwonlyargs)
    return takes.vararg is not None and takes.kwarg is not None and named == 1


def parameters_of(function: ast.FunctionDef) -> Iterator[str]:
    """Yield what a function takes, and what a decorator takes for it: names of old."""
    takes = function.args
    for each in (*takes.args, *takes.kwonlyargs):
        if each.arg not in _OWN:
            yield each.arg
    for decorator in function.decorator_list:
        if "deprecate" in _called(decorator):
            texts = (each.value for each in ast.walk(decorator) if isinstance(each, ast.Constant))
            yield from (each for each in texts if isinstance(each, str) and each.isidentifier())


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Yield the fields of a dataclass that are arguments."""
    for each in statements(node.body):
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            parts = (part for part in ast.walk(each.annotation) if isinstance(part, ast.expr))
            is_of_class = "ClassVar" in {last_word(part) for part in parts}
            if not is_of_class and not _is_set_later(each.value):
                yield each.target.id


def _is_set_later(value: ast.expr | None) -> bool:
    """Return whether a field is no argument: `field(init=False)`."""
    options = value.keywords if isinstance(value, ast.Call) else []
    return any(
        each.arg == "init" and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in options
    )


def is_told(name: str) -> bool:
    """Return whether a class, or a method, has rows: messages name it by one word."""
    return _TOLD.fullmatch(name) is not None


class Makers(Family):
    """The classes of one release, and what each of them takes."""

    def __init__(self, bodies: Mapping[str, Body], others: Collection[str]) -> None:
        """Take the classes by their dotted names, and the names of those of other packages."""
        super().__init__(bodies)
        self._others = others

    def seen(self, name: str) -> Seen:
        """Return what a class takes by itself; those of other packages are among its bases."""
        names, is_whole, is_open = self._taken(name, frozenset())
        return replace(super().seen(name), names=names, is_whole=is_whole, is_open=is_open)

    def _meant(self, heir: str, base: str) -> str:
        """Return the dotted name of a base: a class that moved is left where it was, as an heir.

        It inherits from the one of its name in the package that its file imports from.
        """
        found = super()._meant(heir, base)
        if found in self._bodies or base not in self._bodies[heir].imports:
            return found
        origin = self._bodies[heir].imports[base]
        near = [
            each
            for each in self._by_name.get(base, [])
            if each != heir and origin in each.split(".")[:-1]
        ]
        return near[0] if len(near) == 1 else found

    def _taken(self, name: str, below: frozenset[str]) -> tuple[frozenset[str], bool, bool]:
        """Return the arguments, whether they are all, and whether any other is taken, too."""
        body = self._bodies.get(name)
        if body is None or name in below:
            return frozenset(), False, name not in self._others
        if body.maker.has_constructor:
            return body.maker.names, True, body.maker.is_open
        inherited = [
            self._taken(base, below | {name})
            for each in body.bases
            if self._makes(base := self._meant(name, each), below | {name})
        ]
        if not body.maker.is_dataclass:
            return inherited[0] if inherited else (frozenset(), True, False)
        names = body.maker.names.union(*(each for each, _, _ in inherited))
        return (
            names,
            all(is_whole for _, is_whole, _ in inherited),
            any(is_open for _, _, is_open in inherited),
        )

    def _makes(self, name: str, below: frozenset[str]) -> bool:
        """Return whether a base decides what is taken. A mixin of another package does not."""
        body = self._bodies.get(name)
        if body is None or name in below:
            return "Mixin" not in name and name not in _NEUTRAL
        if body.maker.has_constructor or body.maker.is_dataclass:
            return True
        return any(self._makes(self._meant(name, each), below | {name}) for each in body.bases)


def closed(seen: Mapping[Version, Classes]) -> dict[Version, Classes]:
    """Return the classes whose newest release says what it takes.

    Where an older one takes any argument, it takes all that others of the class take.
    """
    newest = {name: made for classes in seen.values() for name, made in classes.items()}
    every: dict[str, frozenset[str]] = {}
    for classes in seen.values():
        for name, made in classes.items():
            every[name] = every.get(name, frozenset()) | made.names
    return {
        version: {
            name: replace(made, names=every[name]) if made.is_open else made
            for name, made in classes.items()
            if not newest[name].is_open
        }
        for version, classes in seen.items()
    }
