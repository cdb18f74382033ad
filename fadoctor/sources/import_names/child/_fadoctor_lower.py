"""A syntax tree made small: what a module does when it is imported, as nested lists for JSON.

Statements are lists that begin with a letter and the line, expressions lists that begin with a
letter; `[]` is an expression of which nothing can be told. The line is 0 where nobody asks for it.
Bodies of methods are left out, and those of functions too unless they may be asked while a module
is imported.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Dict, List, Optional, Tuple

from fadoctor.sources.import_names.child._fadoctor_blank import ASKED, without_bodies
from fadoctor.sources.import_names.child._fadoctor_expressions import CLASS_TEXT_LIMIT, Expressions
from fadoctor.sources.import_names.child._fadoctor_headers import is_later
from fadoctor.sources.import_names.child._fadoctor_thin import may_ask, thin

Node = List[Any]

LINE_LIMIT = 60
"""Lines of a function whose body is kept."""

WORD_LIMIT = 5_000


def lower(source: bytes) -> Dict[str, Any]:
    """Return what a module does at import; SyntaxError and the like where it is no Python."""
    lowering = Lowering()
    try:
        body = lowering.block(ast.parse(without_bodies(source)).body)
        is_whole = lowering.later == is_later(b"\n" + source)
    except SyntaxError:
        is_whole = False
    if not is_whole:
        lowering = Lowering()
        body = lowering.block(ast.parse(source).body)
    lowering.fill_bodies()
    thin(body, set())
    hooks, modules = b"meta_path" in source, b"sys.modules" in source
    return {
        "body": body,
        "later": lowering.later,
        "hooks": hooks,
        "words": _words(source) if hooks or modules else [],
    }


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

    @property
    def later(self) -> bool:
        """Whether annotations are not evaluated."""
        return any("annotations" in names for names in self.futures)

    def fill_bodies(self) -> None:
        """Lower the bodies of functions that may be asked at import, and of those they call."""
        self.depth += 1
        waiting, is_new = self.functions, True
        while is_new:
            later: List[Tuple[Any, Node]] = []
            for node, lowered in waiting:
                if not (node.name in self.called or ASKED.match(node.name)):
                    later.append((node, lowered))
                elif not _is_left_out(node):
                    lowered[6], lowered[7] = self.params(node.args), self.block(node.body)
            is_new, waiting = len(later) < len(waiting), later

    def block(self, statements: "list[ast.stmt]") -> List[Node]:
        """Return the statements that matter."""
        found = []
        for statement in statements:
            lowered = self.statement(statement)
            if self.bound:
                found.append(["N", 0, self.bound])
                self.bound = []
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
        return ["A", 0, [self.target(t) for t in targets], self.expr(node.value)]

    def augment(self, node: ast.AugAssign) -> Node:
        """Lower ``a += b``."""
        return ["G", 0, self.target(node.target), self.expr(node.value)]

    def function(self, node: Any) -> Node:
        """Lower a function: what is evaluated where it stands, its body where it may be asked."""
        spec = node.args
        every = [*getattr(spec, "posonlyargs", []), *spec.args, *spec.kwonlyargs]
        defaults = [*spec.defaults, *[d for d in spec.kw_defaults if d is not None]]
        marks = [a.annotation for a in [*every, spec.vararg, spec.kwarg] if a and a.annotation]
        marks += [node.returns] if node.returns else []
        lowered = [
            "D", 0, node.name, self.asking(node.decorator_list), self.asking(defaults),
            [] if self.later else self.asking(marks), [], None,
        ]  # fmt: skip
        lines = (node.end_lineno or 0) - node.lineno
        is_open = bool(spec.vararg or spec.kwarg) or isinstance(node, ast.AsyncFunctionDef)
        if not is_open and self.depth == 0 and lines <= LINE_LIMIT:
            self.functions.append((node, lowered))
        return lowered

    def params(self, spec: ast.arguments) -> List[Node]:
        """Return the parameters of a function that can be followed, and their defaults."""
        plain = [*getattr(spec, "posonlyargs", []), *spec.args]
        named: List[Any] = [None] * (len(plain) - len(spec.defaults)) + list(spec.defaults)
        named += spec.kw_defaults
        return [[a.arg, self.default(d)] for a, d in zip([*plain, *spec.kwonlyargs], named)]

    def default(self, node: Optional[ast.expr]) -> Optional[Node]:
        """Return a default value; None where there is none."""
        return None if node is None else self.expr(node)

    def class_(self, node: ast.ClassDef) -> Node:
        """Lower a class: its bases and decorators, and what its body does but for methods."""
        around = [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]
        limit, self.text_limit = self.text_limit, CLASS_TEXT_LIMIT
        self.depth += 1
        body = self.block(node.body)
        self.depth -= 1
        self.text_limit = limit
        return ["C", 0, node.name, self.asking(around), body]

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
        return ["?", 0, self.expr(node.test), self.block(node.body),
                self.block(node.orelse)]  # fmt: skip

    def try_(self, node: Any) -> Node:
        """Lower a try with its handlers; the type of a bare one is None."""
        handlers = [
            [None if h.type is None else self.expr(h.type), h.name or "", self.block(h.body)]
            for h in node.handlers
        ]
        return ["T", 0, self.block(node.body), handlers, self.block(node.orelse),
                self.block(node.finalbody)]  # fmt: skip

    def with_(self, node: Any) -> Node:
        """Lower a with."""
        items = [[self.expr(i.context_expr), self.target(i.optional_vars)] for i in node.items]
        return ["W", 0, items, self.block(node.body)]

    def loop(self, node: Any) -> Node:
        """Lower a for or a while."""
        target = self.target(getattr(node, "target", None))
        over = self.expr(node.iter) if isinstance(node, ast.For) else []
        return ["L", 0, target, over, self.block(node.body), self.block(node.orelse)]

    def match(self, node: Any) -> Node:
        """Lower a match: every case may run."""
        return ["L", 0, [], [], [s for c in node.cases for s in self.block(c.body)], []]

    def express(self, node: ast.Expr) -> Optional[Node]:
        """Lower an expression as a statement; docstrings are left out."""
        value = self.expr(node.value)
        return ["E", 0, value] if value and value[0] != "c" else None

    def raise_(self, node: ast.Raise) -> Node:
        """Lower a raise."""
        return ["R", 0, self.expr(node.exc) if node.exc else None]

    def return_(self, node: ast.Return) -> Node:
        """Lower a return."""
        return ["V", 0, self.expr(node.value) if node.value else ["c", None]]

    def delete(self, node: ast.Delete) -> Node:
        """Lower a del."""
        return ["X", 0, [self.target(t) for t in node.targets]]

    def stop(self, node: ast.stmt) -> Node:
        """Lower a break or a continue."""
        return ["B", int(isinstance(node, ast.Continue))]

    def outer(self, node: ast.Global) -> Node:
        """Lower the names that are those of the module."""
        return ["Z", 0, list(node.names)]


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
