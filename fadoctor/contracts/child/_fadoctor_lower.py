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

Node = List[Any]

VERSION = 3
"""Of this form; other ones in a cache are not read."""

TEXT_LIMIT = 300
LINE_LIMIT = 60
"""Lines of a function whose body is kept."""

WORD_LIMIT = 5_000

_ASKED = re.compile(r"is_|_is_|has_|_has|check|_check|get_.{0,40}version|.*(avail|version|support)")
_OPERATORS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_LITERALS = {ast.List: "l", ast.Tuple: "t", ast.Set: "e"}


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


class Lowering:
    """One module."""

    def __init__(self) -> None:
        self.called: "set[str]" = set()
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

    def target(self, node: Optional[ast.expr]) -> Node:
        """Return what is assigned to."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return ["t", [self.target(e) for e in node.elts]]
        return [] if node is None else self.expr(node)

    def expr(self, node: Any) -> Node:
        """Return an expression."""
        maker = _EXPRESSIONS.get(type(node).__name__)
        if maker:
            return getattr(self, maker)(node)  # type: ignore[no-any-return]
        asked = [self.expr(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        asked = [each for each in asked if each and each[0] not in "cn"]
        hidden = isinstance(
            node, (ast.Lambda, ast.GeneratorExp, ast.Await, ast.Yield, ast.YieldFrom)
        )
        return ["u", asked] if asked and not hidden else []

    def constant(self, node: ast.Constant) -> Node:
        """Lower a constant that JSON holds."""
        value = node.value
        if isinstance(value, str):
            return ["c", value] if len(value) <= TEXT_LIMIT else []
        if value is None or isinstance(value, (bool, float)):
            return ["c", value]
        return ["c", value] if isinstance(value, int) and abs(value) < 2**53 else []

    def name(self, node: ast.Name) -> Node:
        """Lower a name."""
        return ["n", node.id]

    def attribute(self, node: ast.Attribute) -> Node:
        """``a.b``."""
        return ["a", node.lineno, self.expr(node.value), node.attr]

    def call(self, node: ast.Call) -> Node:
        """Lower a call; the key of ``**x`` is empty."""
        if isinstance(node.func, ast.Name):
            self.called.add(node.func.id)
        args = [self.expr(a) for a in node.args]
        return ["k", node.lineno, self.expr(node.func), args,
                [[k.arg or "", self.expr(k.value)] for k in node.keywords]]  # fmt: skip

    def compare(self, node: ast.Compare) -> Node:
        """Lower a comparison."""
        signs = [_OPERATORS[type(o)] for o in node.ops]
        return ["=", self.expr(node.left), signs, [self.expr(c) for c in node.comparators]]

    def boolean(self, node: ast.BoolOp) -> Node:
        """Lower ``a and b``, ``a or b``."""
        return ["b", isinstance(node.op, ast.And), [self.expr(v) for v in node.values]]

    def unary(self, node: ast.UnaryOp) -> Node:
        """``not a``; of the others nothing is told."""
        return ["!", self.expr(node.operand)] if isinstance(node.op, ast.Not) else []

    def subscript(self, node: ast.Subscript) -> Node:
        """``a[b]``."""
        return ["s", node.lineno, self.expr(node.value), self.expr(node.slice)]

    def display(self, node: Any) -> Node:
        """Lower a list, a tuple or a set; constants alone are kept as they are."""
        kind, parts = _LITERALS[type(node)], [self.expr(e) for e in node.elts]
        if parts and all(part[:1] == ["c"] for part in parts):
            return [kind, [], [part[1] for part in parts]]
        return [kind, parts]

    def mapping(self, node: ast.Dict) -> Node:
        """Lower a dict; the key of ``**x`` is None."""
        keys = [None if k is None else self.expr(k) for k in node.keys]
        return ["d", keys, [self.expr(v) for v in node.values]]

    def binary(self, node: ast.BinOp) -> Node:
        """Lower ``a + b``, ``a / b``, ``a | b`` by their letters."""
        return ["o", type(node.op).__name__, self.expr(node.left), self.expr(node.right)]

    def choice(self, node: ast.IfExp) -> Node:
        """Lower ``a if b else c``."""
        return ["i", self.expr(node.test), self.expr(node.body), self.expr(node.orelse)]

    def comprehension(self, node: Any) -> Node:
        """Lower a list, set or dict made by one loop."""
        if len(node.generators) != 1:
            return []
        [loop] = node.generators
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return ["h", type(node).__name__[0], [self.expr(m) for m in made],
                self.target(loop.target), self.expr(loop.iter),
                [self.expr(test) for test in loop.ifs]]  # fmt: skip

    def joined(self, node: ast.JoinedStr) -> Node:
        """Lower an f-string of plain parts."""
        parts = []
        for part in node.values:
            plain = not isinstance(part, ast.FormattedValue) or part.format_spec is None
            if not plain:
                return []
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            parts.append(self.expr(inner))
        return ["j", parts]

    def starred(self, node: ast.Starred) -> Node:
        """Lower ``*a``."""
        return ["*", self.expr(node.value)]


def may_ask(node: Any) -> bool:
    """Return whether the evaluation of an expression can ask a module for a name, or call."""
    if not isinstance(node, list) or not node:
        return False
    return node[0] in ("a", "k") or any(may_ask(part) for part in node)


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
_EXPRESSIONS = {
    "Constant": "constant", "Name": "name", "Attribute": "attribute", "Call": "call",
    "Compare": "compare", "BoolOp": "boolean", "UnaryOp": "unary", "Subscript": "subscript",
    "List": "display", "Tuple": "display", "Set": "display", "Dict": "mapping",
    "BinOp": "binary", "IfExp": "choice", "JoinedStr": "joined", "Starred": "starred",
    "ListComp": "comprehension", "SetComp": "comprehension", "DictComp": "comprehension",
}  # fmt: skip
