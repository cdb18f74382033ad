"""Expressions made small: lists that begin with a letter; `[]` is one of which nothing is told."""

from __future__ import annotations

import ast
from typing import Any, List, Optional

Node = List[Any]

TEXT_LIMIT = 300
CLASS_TEXT_LIMIT = 40
"""The same in the body of a class, where texts are help."""

_OPERATORS = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
_TAKE_ALL = ("any", "all", "dict", "frozenset", "list", "set", "sorted", "tuple")
_LITERALS = {ast.List: "l", ast.Tuple: "t", ast.Set: "e"}


class Expressions:
    """The expressions of one module."""

    def __init__(self) -> None:
        self.called: "set[str]" = set()
        """Names of what is called."""
        self.text_limit = TEXT_LIMIT
        self.bound: List[str] = []
        """Names that the expressions of a statement bind themselves: ``(a := b)``."""

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
            return ["c", value] if len(value) <= self.text_limit else []
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
        args = [self.argument(node.func, a) for a in node.args]
        return ["k", 0, self.expr(node.func), args,
                [[k.arg or "", self.expr(k.value)] for k in node.keywords]]  # fmt: skip

    def argument(self, func: ast.expr, node: ast.expr) -> Node:
        """Lower an argument; a generator where the function takes all that it gives."""
        takes_all = isinstance(func, ast.Name) and func.id in _TAKE_ALL
        is_list = isinstance(node, ast.GeneratorExp) and takes_all
        return self.comprehension(node) if is_list else self.expr(node)

    def walrus(self, node: ast.NamedExpr) -> Node:
        """Lower ``(a := b)``."""
        self.bound.append(node.target.id)
        return ["w", node.target.id, self.expr(node.value)]

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
        return ["s", 0, self.expr(node.value), self.expr(node.slice)]

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
        """Lower a list, set or dict made by loops."""
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        loops = [
            [self.target(loop.target), self.expr(loop.iter), [self.expr(t) for t in loop.ifs]]
            for loop in node.generators
        ]
        return ["h", type(node).__name__[0], [self.expr(m) for m in made], loops]

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
        """Lower ``*a``; of a generator all is taken."""
        is_list = isinstance(node.value, ast.GeneratorExp)
        return ["*", self.comprehension(node.value) if is_list else self.expr(node.value)]


_EXPRESSIONS = {
    "Constant": "constant", "Name": "name", "Attribute": "attribute", "Call": "call",
    "Compare": "compare", "BoolOp": "boolean", "UnaryOp": "unary", "Subscript": "subscript",
    "List": "display", "Tuple": "display", "Set": "display", "Dict": "mapping",
    "BinOp": "binary", "IfExp": "choice", "JoinedStr": "joined", "Starred": "starred",
    "NamedExpr": "walrus",
    "ListComp": "comprehension", "SetComp": "comprehension", "DictComp": "comprehension",
}  # fmt: skip
