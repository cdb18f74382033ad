"""A syntax tree made small: what a module does when it is imported, as nested lists for JSON.

Statements are lists that begin with a letter and the line, expressions lists that begin with a
letter; `[]` is an expression of which nothing can be told. Bodies of methods are left out, and
those of functions too unless they may be asked while a module is imported.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List, Optional, Tuple

from fadoctor.contracts.child._fadoctor_blank import without_bodies
from fadoctor.contracts.child._fadoctor_expressions import Expressions, may_ask

Node = List[Any]

VERSION = 3
"""Of this form; other ones in a cache are not read."""

LINE_LIMIT = 60
"""Lines of a function whose body is kept."""

WORD_LIMIT = 5_000

_ASKED = re.compile(r"is_|_is_|has_|_has|check|_check|get_.{0,40}version|.*(avail|version|support)")


def lower(source: bytes) -> Dict[str, Any]:
    """Return what a module does at import; SyntaxError and the like where it is no Python."""
    try:
        tree = ast.parse(without_bodies(source))
    except SyntaxError:
        tree = ast.parse(source)
    lowering = Lowering()
    body = lowering.block(tree.body)
    lowering.fill_bodies()
    hooks, modules = b"meta_path" in source, b"sys.modules" in source
    return {
        "body": body,
        "later": any("annotations" in names for names in lowering.futures),
        "hooks": hooks,
        "words": _words(source) if hooks or modules else [],
    }


def blocks_of(node: Node) -> List[List[Node]]:
    """Return the blocks of a statement that has some; not those of functions and classes."""
    if node[0] == "T":
        return [node[2], *(handler[2] for handler in node[3]), node[4], node[5]]
    return [node[index] for index in _BLOCKS.get(node[0], ())]


_BLOCKS = {"?": (3, 4), "W": (3,), "L": (4, 5)}


def _words(source: bytes) -> List[str]:
    """Return the short literals of a module that makes modules of its own."""
    found = set(re.findall(rb"[\"']([A-Za-z_][\w.]{0,80})[\"']", source))
    return sorted(word.decode("ascii", "replace") for word in found)[:WORD_LIMIT]


class Lowering(Expressions):
    """One module."""

    def __init__(self) -> None:
        super().__init__()
        self.futures: List[List[str]] = []
        self.functions: List[Tuple[Any, Node]] = []
        self.depth = 0

    def fill_bodies(self) -> None:
        """Lower the bodies of functions that may be asked at import, and of those they call."""
        self.depth += 1
        waiting, is_new = self.functions, True
        while is_new:
            later: List[Tuple[Any, Node]] = []
            for node, lowered in waiting:
                if node.name in self.called or _ASKED.match(node.name):
                    lowered[7] = self.block(node.body)
                else:
                    later.append((node, lowered))
            is_new, waiting = len(later) < len(waiting), later

    def block(self, statements: "list[ast.stmt]") -> List[Node]:
        """Return the statements that matter."""
        found = []
        for statement in statements:
            lowered = self.statement(statement)
            if lowered is not None:
                found.append(lowered)
        return found

    def statement(self, node: ast.stmt) -> Optional[Node]:
        """Return one statement, or None where it does nothing that matters."""
        maker = _STATEMENTS.get(type(node).__name__)
        return getattr(self, maker)(node) if maker else None

    def import_(self, node: ast.Import) -> Node:
        """``import a.b as c``: one entry for each name."""
        return ["I", node.lineno, [[a.name, a.asname or ""] for a in node.names]]

    def from_(self, node: ast.ImportFrom) -> Optional[Node]:
        """``from .a import b as c``."""
        names = [[alias.name, alias.asname or ""] for alias in node.names]
        if node.module == "__future__" and not node.level:
            self.futures.append([name for name, _ in names])
            return None
        return ["F", node.lineno, node.level, node.module or "", names]

    def assign(self, node: Any) -> Optional[Node]:
        """Lower ``a = b = c`` and ``a: T = c``."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is None:
            return None
        return ["A", node.lineno, [self.target(t) for t in targets], self.expr(node.value)]

    def augment(self, node: ast.AugAssign) -> Node:
        """Lower ``a += b``."""
        return ["G", node.lineno, self.target(node.target), self.expr(node.value)]

    def function(self, node: Any) -> Node:
        """Lower a function: what is evaluated where it stands, its body where it may be asked."""
        spec = node.args
        plain = [*getattr(spec, "posonlyargs", []), *spec.args]
        every = [*plain, *spec.kwonlyargs]
        defaults = [*spec.defaults, *[d for d in spec.kw_defaults if d is not None]]
        marks = [a.annotation for a in [*every, spec.vararg, spec.kwarg] if a and a.annotation]
        marks += [node.returns] if node.returns else []
        named = [None] * (len(plain) - len(spec.defaults)) + list(spec.defaults)
        params = [[a.arg, self.default(d)] for a, d in zip(plain, named)]
        params += [[a.arg, self.default(d)] for a, d in zip(spec.kwonlyargs, spec.kw_defaults)]
        open_ = bool(spec.vararg or spec.kwarg) or isinstance(node, ast.AsyncFunctionDef)
        lowered = [
            "D", node.lineno, node.name, self.asking(node.decorator_list), self.asking(defaults),
            self.asking(marks), params, None,
        ]  # fmt: skip
        lines = (node.end_lineno or 0) - node.lineno
        if not open_ and self.depth == 0 and lines <= LINE_LIMIT and not _is_left_out(node):
            self.functions.append((node, lowered))
        return lowered

    def default(self, node: Optional[ast.expr]) -> Optional[Node]:
        """Return a default value; None where there is none."""
        return None if node is None else self.expr(node)

    def class_(self, node: ast.ClassDef) -> Node:
        """Lower a class: its bases and decorators, and what its body does but for methods."""
        around = [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]
        self.depth += 1
        body = self.block(node.body)
        self.depth -= 1
        return ["C", node.lineno, node.name, self.asking(around), body]

    def asking(self, nodes: "list[Any]") -> List[Node]:
        """Return the expressions that may ask a module for a name, each attribute once."""
        found: Dict[Any, Node] = {}
        for number, node in enumerate(nodes):
            is_plain = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
            key = (node.value.id, node.attr) if is_plain else number
            if key not in found:
                lowered = self.expr(node)
                if may_ask(lowered):
                    found[key] = lowered
        return list(found.values())

    def if_(self, node: ast.If) -> Node:
        """Lower a branch."""
        return ["?", node.lineno, self.expr(node.test), self.block(node.body),
                self.block(node.orelse)]  # fmt: skip

    def try_(self, node: Any) -> Node:
        """Lower a try with its handlers; the type of a bare one is None."""
        handlers = [
            [None if h.type is None else self.expr(h.type), h.name or "", self.block(h.body)]
            for h in node.handlers
        ]
        return ["T", node.lineno, self.block(node.body), handlers, self.block(node.orelse),
                self.block(node.finalbody)]  # fmt: skip

    def with_(self, node: Any) -> Node:
        """Lower a with."""
        items = [[self.expr(i.context_expr), self.target(i.optional_vars)] for i in node.items]
        return ["W", node.lineno, items, self.block(node.body)]

    def loop(self, node: Any) -> Node:
        """Lower a for or a while."""
        target = self.target(getattr(node, "target", None))
        over = self.expr(node.iter) if isinstance(node, ast.For) else []
        return ["L", node.lineno, target, over, self.block(node.body), self.block(node.orelse)]

    def match(self, node: Any) -> Node:
        """Lower a match: every case may run."""
        return ["L", node.lineno, [], [], [s for c in node.cases for s in self.block(c.body)], []]

    def express(self, node: ast.Expr) -> Optional[Node]:
        """Lower an expression as a statement; docstrings are left out."""
        value = self.expr(node.value)
        return ["E", node.lineno, value] if value and value[0] != "c" else None

    def raise_(self, node: ast.Raise) -> Node:
        """Lower a raise."""
        return ["R", node.lineno, self.expr(node.exc) if node.exc else None]

    def return_(self, node: ast.Return) -> Node:
        """Lower a return."""
        return ["V", node.lineno, self.expr(node.value) if node.value else ["c", None]]

    def delete(self, node: ast.Delete) -> Node:
        """Lower a del."""
        return ["X", node.lineno, [self.target(t) for t in node.targets]]

    def stop(self, node: ast.stmt) -> Node:
        """Lower a break or a continue."""
        return ["B", node.lineno]

    def outer(self, node: ast.Global) -> Node:
        """Lower the names that are those of the module."""
        return ["Z", node.lineno, list(node.names)]


def _is_left_out(node: Any) -> bool:
    """Return whether nobody can tell what a function gives: it was cut out, or it yields."""
    first = node.body[0]
    is_cut = isinstance(first, ast.Expr) and getattr(first.value, "value", None) is ...
    return is_cut or any(isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(node))


_STATEMENTS = {
    "Import": "import_", "ImportFrom": "from_", "Assign": "assign", "AnnAssign": "assign",
    "AugAssign": "augment", "FunctionDef": "function", "AsyncFunctionDef": "function",
    "ClassDef": "class_", "If": "if_", "Try": "try_", "TryStar": "try_", "With": "with_",
    "AsyncWith": "with_", "For": "loop", "AsyncFor": "loop", "While": "loop", "Match": "match",
    "Expr": "express", "Raise": "raise_", "Return": "return_", "Delete": "delete",
    "Break": "stop", "Continue": "stop", "Global": "outer",
}  # fmt: skip
