"""Which names of other packages a source file asks for, and whether it can do without."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


# Nearly every file asks torch for something; what comes and goes lies in these corners of it.
_RARE = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+torch\.(?:_|library|nn\.attention|distributed|compiler|export"
    r"|onnx|utils\._|ao|cuda|backends|amp|fx|optim)",
    re.MULTILINE,
)


class Asked(NamedTuple):
    """A name of a module; the name is empty where the module itself is asked for."""

    module: str
    name: str


def asked_names(text: str, modules: frozenset[str]) -> tuple[frozenset[Asked], frozenset[Asked]]:
    """Return the names that a file asks of some packages: for sure, and under a condition.

    What stands below `try` or `if` may never be reached, or has a fallback.
    """
    others = "|".join(sorted(modules - {"torch"}))
    is_asking = re.search(rf"^[ \t]*(?:from|import)[ \t]+(?:{others})\b", text, re.MULTILINE)
    tree = parsed(text) if is_asking or ("torch" in modules and _RARE.search(text)) else None
    if tree is None:
        return frozenset(), frozenset()
    reader = _Reader(modules)
    reader.visit(tree)
    sure = frozenset(reader.sure)
    return sure, frozenset(reader.maybe) - sure


def parsed(text: str) -> ast.Module | None:
    """Return the tree of a file; None where it is no Python that this interpreter reads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class _Reader(ast.NodeVisitor):
    """Collects what is imported, and what is read of imported packages."""

    def __init__(self, modules: frozenset[str]) -> None:
        self._modules = modules
        self._conditions = 0
        self._bound: dict[str, str] = {}
        """Name -> the module that `import` bound to it."""
        self.sure: set[Asked] = set()
        self.maybe: set[Asked] = set()

    def _note(self, module: str, name: str) -> None:
        if module.partition(".")[0] in self._modules:
            (self.maybe if self._conditions else self.sure).add(Asked(module, name))

    def visit_Import(self, node: ast.Import) -> None:
        """Take `import a.b` and `import a.b as c`."""
        for alias in node.names:
            if "." in alias.name:
                self._note(alias.name, "")
            bound = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bound[alias.asname or bound] = bound

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Take `from a.b import c`."""
        if node.level or not node.module:
            return
        for alias in node.names:
            self._note(node.module, "" if alias.name == "*" else alias.name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Take `a.b.c` where `import` has bound a."""
        parts = list(_chain(node))
        if parts and parts[0] in self._bound and isinstance(node.ctx, ast.Load):
            module = self._bound[parts[0]]
            if len(parts) == 2:  # of longer chains nobody knows where the module ends
                self._note(module, parts[1])
        self.generic_visit(node)

    def _visit_condition(self, node: ast.AST) -> None:
        self._conditions += 1
        self.generic_visit(node)
        self._conditions -= 1

    visit_If = visit_Try = visit_IfExp = visit_With = _visit_condition  # noqa: N815 -- as ast names its nodes


def _chain(node: ast.expr) -> Iterator[str]:
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id
        yield from reversed(names)
