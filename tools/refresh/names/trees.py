"""Small readings of syntax trees that several tables need."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those below `if`, `try` and `with` too."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from statements([*node.body, *node.orelse])
        elif isinstance(node, ast.With):
            yield from statements(node.body)


def last_word(base: ast.expr) -> str:
    """Return the name of a base: of `a.B` and of `B[T]` it is B."""
    if isinstance(base, ast.Subscript):
        base = base.value
    if isinstance(base, ast.Attribute):
        return base.attr
    return base.id if isinstance(base, ast.Name) else ""
