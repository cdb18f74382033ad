"""The names of one scope of a script: what they are bound to, and what changes them."""

from __future__ import annotations

import ast

PARTED = frozenset(["parse_args_into_dataclasses", "parse_args_and_config", "parse_known_args"])
"""Methods of parsers that return the arguments in several parts."""


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


def each_of(value: ast.expr | None, count: int) -> list[ast.expr]:
    """Return what a value gives each of so many names; nothing where that is not known.

    ``q, k, v = (torch.randn(2) for _ in range(3))`` gives each of them the same call.
    """
    if isinstance(value, (ast.Tuple, ast.List)):
        return value.elts
    if isinstance(value, ast.Call) and getattr(value.func, "attr", "") in PARTED:
        return [value] * count
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)) and len(value.generators) == 1:
        target = value.generators[0].target
        if isinstance(target, ast.Name) and target.id == "_":
            return [value.elt] * count
    return []
