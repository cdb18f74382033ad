"""What the arguments of calls are: literals, dotted names, mappings, or computed with the reason.

A name that is bound once to a literal is that literal; what two places bind, what is changed
afterwards and whatever an expression works out is computed. A budget bounds the work: names that
stand for lists of names that stand for lists double with every step.
"""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict

from fadoctor.sources.scripts.child._fadoctor_lookup import looked_up, table_of
from fadoctor.sources.scripts.child._fadoctor_names import BRANCHES, Found, Import, Scopes
from fadoctor.sources.scripts.child._fadoctor_tensors import tensor_dtype
from fadoctor.sources.scripts.child._fadoctor_words import (
    added_items,
    split_text,
    sum_of,
    text_with_values,
)

if TYPE_CHECKING:
    from fadoctor.sources.scripts.child._fadoctor_scope import Scope

DEPTH_LIMIT = 16
BUDGET = 100_000
TEXT_LIMIT = 300
WRITTEN_LIMIT = 120
ITEM_LIMIT = 64
FOUND_LIMIT = 2_000
PARTS_LIMIT = 40
ATTENTION = ("scaled_dot_product_attention", "memory_efficient_attention")
PARSED = frozenset({"args", "opt", "opts", "arguments"})
PARSERS = frozenset({
    "parse_args", "parse_known_args", "parse_args_into_dataclasses", "parse", "cli", "get_args",
    "parse_arguments",
})  # fmt: skip
"""Functions whose result holds the arguments of the command line, each with its default."""

Value = Dict[str, Any]


def computed(why: str) -> Value:
    """Return a value that reading does not tell."""
    return {"kind": "computed", "why": why}


class Script:
    """One script, read."""

    def __init__(self, source: str, wanted: frozenset[str]) -> None:
        self.lines = source.encode("utf-8", "surrogatepass").split(b"\n")
        self.wanted = wanted
        self.left = BUDGET
        self.tables: dict[int, dict[str, Value]] = {}

    def read(self, tree: ast.AST) -> dict[str, object]:
        """Return what the script calls and sets of what is wanted."""
        self.names = Scopes(tree, self.wanted)
        found = self.names.found[:FOUND_LIMIT]
        return {
            "found": [self.describe(one) for one in found],
            "is_cut": len(self.names.found) > FOUND_LIMIT or self.left <= 0,
        }

    def describe(self, found: Found) -> dict[str, object]:
        """Return one call or assignment."""
        node, scope = found.node, found.scope
        name, of = self.called(found.target, scope)
        function = scope.function
        never = bool(function) and function != "main" and function not in self.names.loaded
        common: dict[str, object] = {
            "name": name,
            "of": of,
            "condition": found.condition or ("nothing in the file calls it" if never else ""),
            **self.place(node),
        }
        if isinstance(node, ast.Assign):
            value = self.value(node.value, scope, 0)
            return {**common, "form": "assignment", "value": value, "arguments": [], "open": False}
        arguments, is_open = self.arguments(node, scope)
        if name.startswith("flash_attn") or name.endswith(ATTENTION):
            self.add_tensors(node, arguments, scope)
        return {**common, "form": "call", "value": None, "arguments": arguments, "open": is_open}

    def add_tensors(self, node: ast.Call, arguments: list[Value], scope: Scope) -> None:
        """Tell of the tensors that a function of flash-attn is given in which dtype they are."""
        given: dict[object, ast.expr] = dict(enumerate(node.args))
        given.update({keyword.arg: keyword.value for keyword in node.keywords})
        for each in arguments:
            dtype = tensor_dtype(self, given[each["key"]], scope) if each["key"] in given else ""
            if dtype:
                each["value"] = {"kind": "tensor", "name": dtype}

    def arguments(self, node: ast.Call, scope: Scope) -> tuple[list[Value], bool]:
        """Return the arguments, and whether there are more that cannot be told."""
        items: list[Value] = []
        is_open = any(isinstance(argument, ast.Starred) for argument in node.args)
        for index, argument in enumerate(node.args[:ITEM_LIMIT]):
            value = self.value(argument, scope, 0)
            place = value.pop("at", None) or self.place(argument)
            items.append({"key": index, "value": value, **place})
        for keyword in node.keywords:
            value = self.value(keyword.value, scope, 0)
            if keyword.arg is not None:
                place = value.pop("at", None) or self.place(keyword)
                items.append({"key": keyword.arg, "value": value, **place})
            elif value["kind"] == "mapping":
                items += value["items"]
                is_open = is_open or value["open"]
            else:
                is_open = True
        return items[: ITEM_LIMIT * 4], is_open

    def place(self, node: ast.AST) -> dict[str, object]:
        """Return line and column (from 1, in characters) of a node, and its first line's text."""
        line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        raw = self.lines[line - 1] if line <= len(self.lines) else b""
        column = len(raw[:offset].decode("utf-8", "replace"))
        return {"line": line, "column": column + 1, "written": self.written(node, node)}

    def written(self, first: ast.AST, last: ast.AST) -> str:
        """Return the text from one node to another, as far as it stands in the first one's line."""
        line, offset = getattr(first, "lineno", 1), getattr(first, "col_offset", 0)
        raw = self.lines[line - 1] if line <= len(self.lines) else b""
        is_one = getattr(last, "end_lineno", line) == line
        end = getattr(last, "end_col_offset", len(raw)) if is_one else len(raw)
        return raw[offset:end].decode("utf-8", "replace")[:WRITTEN_LIMIT].strip()

    def called(self, node: ast.expr, scope: Scope) -> tuple[str, list[str]]:
        """Return what is called, ``a.B.from_pretrained().half``, and what its variable holds."""
        parts: list[str] = []
        while len(parts) < PARTS_LIMIT:
            if isinstance(node, ast.Attribute):
                parts.append("." + node.attr)
                node = node.value
            elif isinstance(node, ast.Call):
                parts.append("()")
                node = node.func
            elif isinstance(node, ast.Subscript):
                key = self.value(node.slice, scope, DEPTH_LIMIT - 1)
                parts.append(f"[{key.get('literal', '?')}]"[:TEXT_LIMIT])
                node = node.value
            else:
                break
        base, of = self.base(node, scope) if isinstance(node, ast.Name) else ("<expression>", [])
        return base + "".join(reversed(parts)), of

    def base(self, node: ast.Name, scope: Scope, depth: int = 0) -> tuple[str, list[str]]:
        """Return what a name at the beginning of a chain stands for."""
        home = scope.home(node.id)
        bound = home.bound.get(node.id, [])
        imports = {b.dotted for b in bound if isinstance(b, Import)}
        if len(imports) == 1:
            return imports.pop(), []
        if not bound:
            return node.id, []
        if depth > DEPTH_LIMIT or self.left <= 0:
            return f"<{node.id}>", []
        self.left -= len(bound)
        calls = [b for b in bound[:ITEM_LIMIT] if isinstance(b, ast.Call)]
        of = [self.chain(b.func, home, depth + 1) for b in calls]
        if len(bound) == 1 and isinstance(bound[0], (ast.Attribute, ast.Name)):
            return self.chain(bound[0], home, depth + 1), []
        return f"<{node.id}>", sorted(set(of))[:8]

    def chain(self, node: ast.expr, scope: Scope, depth: int) -> str:
        """Return the dotted name of what is called, for the value of a variable."""
        parts: list[str] = []
        while isinstance(node, (ast.Attribute, ast.Call)) and len(parts) < PARTS_LIMIT:
            parts.append("." + node.attr if isinstance(node, ast.Attribute) else "()")
            node = node.value if isinstance(node, ast.Attribute) else node.func
        base = self.base(node, scope, depth)[0] if isinstance(node, ast.Name) else "<expression>"
        return (base + "".join(reversed(parts)))[:TEXT_LIMIT]

    def value(self, node: ast.expr, scope: Scope, depth: int) -> Value:
        """Return what an expression is, or that it is computed."""
        self.left -= 1
        if self.left <= 0 or depth > DEPTH_LIMIT:
            return computed("it is too deep to follow")
        if isinstance(node, ast.Constant):
            return literal(node.value)
        if isinstance(node, ast.UnaryOp):
            return negated(self.value(node.operand, scope, depth + 1), node.op)
        for kind, follow in self.followed():
            if isinstance(node, kind):
                return follow(node, scope, depth)
        is_choice = isinstance(node, BRANCHES)
        return computed("it depends on a condition" if is_choice else "an expression")

    def followed(self) -> list[tuple[Any, Callable[[Any, Scope, int], Value]]]:
        """Return the kinds of expressions that can be followed."""
        return [
            (ast.Name, self.variable),
            (ast.Attribute, self.attribute),
            (ast.Call, self.result),
            (ast.Dict, self.mapping),
            (ast.DictComp, self.table),
            ((ast.List, ast.Tuple, ast.Set), self.sequence),
            (ast.Subscript, self.item),
            (ast.BinOp, partial(sum_of, self)),
            (ast.JoinedStr, partial(text_with_values, self)),
        ]

    def attribute(self, node: ast.Attribute, scope: Scope, depth: int) -> Value:
        """Return a dotted name of something imported, or a constant of a class of the script."""
        body = self.class_of(node.value, scope) if isinstance(node.value, ast.Name) else None
        held = body.bound.get(node.attr, []) if body else []
        if body and len(held) == 1 and node.attr not in self.names.stored:
            only = held[0]
            return (
                self.value(only, body, depth + 1)
                if isinstance(only, ast.expr)
                else computed("a member of a class")
            )
        if isinstance(node.value, ast.Name):
            given = self.names.defaults.get(node.attr, [])
            is_one = len(given) == 1 and node.attr not in self.names.stored
            if is_one and self.is_parsed(node.value, scope):
                value = self.value(given[0], self.names.module, depth + 1)
                return {**value, "at": self.place(given[0])}
        name, _of = self.called(node, scope)
        if any(sign in name for sign in "<(["):
            return computed("an attribute of something else")
        return self.named(name, node, scope)

    def is_parsed(self, node: ast.Name, scope: Scope) -> bool:
        """Return whether a name holds the arguments of the command line."""
        home = scope.home(node.id)
        bound = home.bound.get(node.id, [])
        only = bound[0] if len(bound) == 1 else None
        if only is None and bound:  # an argument of a function that is handed them
            return node.id in PARSED
        if isinstance(only, ast.Subscript):
            only = only.value
        func = only.func if isinstance(only, ast.Call) else None
        last = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        return last in PARSERS

    def class_of(self, node: ast.Name, scope: Scope) -> Scope | None:
        """Return the body of the class that a name is, or that it is an instance of."""
        bound = scope.home(node.id).bound.get(node.id, [])
        only = bound[0] if len(bound) == 1 else None
        if isinstance(only, ast.Call) and isinstance(only.func, ast.Name):
            if only.args or only.keywords:
                return None  # which may set them otherwise
            bound = scope.home(only.func.id).bound.get(only.func.id, [])
            only = bound[0] if len(bound) == 1 else None
        return self.names.bodies.get(id(only)) if isinstance(only, ast.ClassDef) else None

    def named(self, name: str, node: ast.expr, scope: Scope) -> Value:
        """Return a dotted name, unless nothing says where its first part comes from."""
        while isinstance(node, ast.Attribute):
            node = node.value
        is_bound = isinstance(node, ast.Name) and node.id in scope.home(node.id).bound
        if is_bound or self.names.has_star or name.startswith("torch."):
            return {"kind": "name", "name": name}
        return computed(f"nothing in the file says what {name.split('.', maxsplit=1)[0][:40]} is")

    def sequence(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope, depth: int) -> Value:
        """Return a list."""
        items = [
            self.entry(index, self.value(item, scope, depth + 1), item)
            for index, item in enumerate(node.elts[:ITEM_LIMIT])
        ]
        return {"kind": "list", "items": items, "open": len(node.elts) > ITEM_LIMIT}

    def entry(self, index: int, value: Value, node: ast.expr) -> Value:
        """Return an item of a list, at the place of its text where it was looked up by name."""
        return {"key": index, "value": value, **self.place(node), **value.get("entry", {})}

    def table(self, node: ast.DictComp, scope: Scope, _depth: int) -> Value:
        """Return a mapping that is made of a list of requirements."""
        found = table_of(self, node, scope)
        if found is None:
            return computed("an expression")
        items = [{"key": name, "value": value, **value["entry"]} for name, value in found.items()]
        return {"kind": "mapping", "items": items, "open": False}

    def variable(self, node: ast.Name, scope: Scope, depth: int) -> Value:
        """Return what a name holds, where that is one thing from the beginning to the end."""
        home = scope.home(node.id)
        bound = home.bound.get(node.id, [])
        if len(bound) > 1:
            return computed(f"{node.id} is set in several places")
        if not bound:
            return self.named(node.id, node, scope)
        only = bound[0]
        if isinstance(only, Import):
            return {"kind": "name", "name": only.dotted}
        if not isinstance(only, ast.expr):
            return self.parameter(node.id, home, depth)
        found = self.value(only, home, depth + 1)
        if found["kind"] == "mapping":
            self.add_items(found, node, home, depth)
        changed = computed(f"{node.id} may be changed before it is used")
        is_changed = found["kind"] in ("mapping", "list") and node.id in home.mutated
        if is_changed and found["kind"] == "list":
            changed["items"] = [*found["items"], *added_items(self, node, home, depth)]
        return changed if is_changed else found

    def parameter(self, name: str, home: Scope, depth: int) -> Value:
        """Return the default of a parameter where nobody gives it, with the place of it."""
        default = self.names.parameters.default(home, name)
        if default is None:
            return computed(f"{name} is given from elsewhere")
        return {**self.value(default, home.parent or home, depth + 1), "at": self.place(default)}

    def add_items(self, found: Value, node: ast.Name, home: Scope, depth: int) -> None:
        """Add to a mapping what is put into it before this place; what comes later is open."""
        noted = self.names.items.of.get((id(home), node.id), [])
        found["open"] = found["open"] or len(noted) > ITEM_LIMIT
        for key, value, condition, line in noted[:ITEM_LIMIT]:
            name = self.value(key, home, depth + 1)
            if name["kind"] != "literal" or line > getattr(node, "lineno", 0):
                found["open"] = True
                continue
            given = computed(condition) if condition else self.value(value, home, depth + 1)
            found["items"] = [one for one in found["items"] if one["key"] != name["literal"]]
            found["items"].append({"key": name["literal"], "value": given, **self.place(key)})

    def result(self, node: ast.Call, scope: Scope, depth: int) -> Value:
        """Return what a call gives, for the few whose result can be told."""
        name, _ = self.called(node.func, scope)
        given = [self.value(argument, scope, depth + 1) for argument in node.args[:2]]
        if name == "getattr" and len(node.args) == 2 and not node.keywords:
            module, attribute = given
            if module["kind"] == "name" and isinstance(attribute.get("literal"), str):
                name = f"{module['name']}.{attribute['literal']}"
                at = {"at": attribute["at"]} if "at" in attribute else {}
                return {"kind": "name", "name": name, **at}
        is_joined = isinstance(node.func, ast.Attribute) and node.func.attr == "join"
        if is_joined and len(given) == 1 and given[0].get("items"):
            return given[0]  # " ".join(command), shlex.join(command): the words of a command
        texts = looked_up(self, node, scope)
        if texts is not None:
            items = [self.entry(index, text, node) for index, text in enumerate(texts)]
            return {"kind": "list", "items": items, "open": False}
        split = split_text(self, node, name, scope, depth)
        if split is not None:
            return split
        if name == "dict" and not node.args:
            items, is_open = self.arguments(node, scope) if depth < DEPTH_LIMIT // 2 else ([], True)
            return {"kind": "mapping", "items": items, "open": is_open}
        return {"kind": "call", "name": name[:TEXT_LIMIT], "why": "the result of a call"}

    def mapping(self, node: ast.Dict, scope: Scope, depth: int) -> Value:
        """Return a display of a mapping; ``open`` where it holds more than is listed."""
        items: list[Value] = []
        is_open = len(node.keys) > ITEM_LIMIT
        for key, item in list(zip(node.keys, node.values))[:ITEM_LIMIT]:
            value = self.value(item, scope, depth + 1)
            if key is None:
                items += value.get("items", []) if value["kind"] == "mapping" else []
                is_open = is_open or value["kind"] != "mapping" or value["open"]
                continue
            name = self.value(key, scope, depth + 1)
            if name["kind"] == "literal" and isinstance(name["literal"], str):
                place = {**self.place(key), "written": self.written(key, item)}
                items.append({"key": name["literal"], "value": value, **place})
            else:
                is_open = True
        return {"kind": "mapping", "items": items[: ITEM_LIMIT * 4], "open": is_open}

    def item(self, node: ast.Subscript, scope: Scope, depth: int) -> Value:
        """Return one value of a mapping that is known."""
        whole = self.value(node.value, scope, depth + 1)
        key = self.value(node.slice, scope, depth + 1)
        if whole["kind"] == "mapping" and key["kind"] == "literal" and not whole["open"]:
            there = [one["value"] for one in whole["items"] if one["key"] == key["literal"]]
            if there:
                last: Value = there[-1]
                return last
        return computed("an expression")


def literal(value: object) -> Value:
    """Return a constant that JSON can hold."""
    if isinstance(value, str):
        fits = len(value) <= TEXT_LIMIT and value.isprintable()
    elif isinstance(value, (int, float)):
        fits = isinstance(value, bool) or abs(value) < 2**53
    else:
        fits = value is None
    return {"kind": "literal", "literal": value} if fits else computed("a long or odd constant")


def negated(value: Value, operator: ast.unaryop) -> Value:
    """Return what ``-`` or ``not`` makes of a literal."""
    if value["kind"] == "literal":
        content = value["literal"]
        if isinstance(operator, ast.Not):
            return literal(not content)
        if isinstance(operator, ast.USub) and isinstance(content, (int, float)):
            return literal(-content)
    return computed("an expression")
