"""The names of one scope of a script: what they are bound to, and what changes them."""

from __future__ import annotations


class Scope:
    """The names of the module, of a class or of a function."""

    def __init__(self, parent: Scope | None = None, function: str = "") -> None:
        self.parent = parent
        self.function: str = function or (parent.function if parent else "")
        self.bound: dict[str, list[object]] = {}
        self.changed: list[str] = []
        self.mutated: set[str] = set()
        self.outer: set[str] = set()

    def home(self, name: str) -> Scope:
        """Return the scope that binds a name: this one or one around it."""
        scope = self
        while scope.parent is not None and (name in scope.outer or name not in scope.bound):
            scope = scope.parent
        return scope
