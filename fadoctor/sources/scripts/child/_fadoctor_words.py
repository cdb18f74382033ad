"""Commands that a script puts together: lists to which words are added, texts with values in them.

``cmd += ["--bf16"]``, ``cmd.extend(...)``, ``cmd = cmd + [...]``, ``f"vllm serve {model}"``.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from fadoctor.sources.scripts.child._fadoctor_scope import Scope
    from fadoctor.sources.scripts.child._fadoctor_values import Script

Value = Dict[str, Any]
OPEN = "${value}"
"""What stands in a text for a value that reading does not tell."""
TEXT_LIMIT = 4_000
LIMIT = 64


class Added:
    """What is added to lists after they were made."""

    def __init__(self) -> None:
        self.of: dict[tuple[int, str], list[tuple[ast.expr, str]]] = {}
        """Scope and name -> a list, why it may not be added."""

    def note(self, node: ast.AST, scope: Scope, condition: str) -> bool:
        """Note what a statement adds to a list of this scope; True where it binds no name anew."""
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
            return self._add(scope, node.target, node.value, condition)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            if isinstance(target, ast.Name) and isinstance(value, ast.BinOp):
                first = _first(value)
                if isinstance(first, ast.Name) and first.id == target.id:
                    return self._add(scope, target, value, condition)
        func = node.func if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(func, ast.Attribute) and len(node.args) == 1:
            given = node.args[0]
            if func.attr == "append":
                given = ast.copy_location(ast.List([given], ast.Load()), node)
            if func.attr in ("append", "extend"):
                self._add(scope, func.value, given, condition)
        return False

    def _add(self, scope: Scope, target: ast.expr, given: ast.expr, condition: str) -> bool:
        """Note a list that is added, where the name is made in the same scope before."""
        if not isinstance(target, ast.Name) or not is_list(scope.bound.get(target.id, ())):
            return False
        self.of.setdefault((id(scope), target.id), []).append((given, condition))
        return True


def sum_of(script: Script, node: ast.BinOp, scope: Scope, depth: int) -> Value:
    """Return two lists, or two texts, one after the other."""
    if isinstance(node.op, ast.Add):
        sides = [script.value(side, scope, depth + 1) for side in (node.left, node.right)]
        found = summed(*sides)
        if found is not None:
            return found
    return unknown("an expression")


def text_with_values(script: Script, node: ast.JoinedStr, scope: Scope, depth: int) -> Value:
    """Return a text with values in it, each as far as it is known."""
    parts = []
    for each in node.values[:LIMIT]:
        inner = each.value if isinstance(each, ast.FormattedValue) else each
        parts.append(text_of(script.value(inner, scope, depth + 1)))
    return {**unknown("an expression"), "text": texts(parts)["text"]}


def added_items(script: Script, node: ast.Name, home: Scope, depth: int) -> list[Value]:
    """Return what is added to a list before this place."""
    items: list[Value] = []
    for given, condition in script.names.added.of.get((id(home), node.id), [])[:LIMIT]:
        if given.lineno > node.lineno:
            continue
        value = script.value(without(given, node.id), home, depth + 1)
        is_known = not condition and value["kind"] == "list"
        item = {"key": 0, "value": unknown(condition or "a list"), **script.place(given)}
        items += value["items"] if is_known else [item]
    return items[:LIMIT]


def split_text(script: Script, node: ast.Call, name: str, scope: Scope, depth: int) -> Value | None:
    """Return the text whose words are taken: ``command.split()``, ``shlex.split(command)``."""
    func = node.func
    if name == "shlex.split" and node.args:
        whole = script.value(node.args[0], scope, depth + 1)
    elif isinstance(func, ast.Attribute) and func.attr == "split" and not node.args:
        whole = script.value(func.value, scope, depth + 1)
    else:
        return None
    text = text_of(whole)
    return {**unknown("the result of a call"), "text": text} if " " in text else None


def unknown(why: str) -> Value:
    """Return a value that reading does not tell."""
    return {"kind": "computed", "why": why}


def is_list(bound: object) -> bool:
    """Return whether a name is bound once, to a list or to several added to each other."""
    if not isinstance(bound, list) or len(bound) != 1:
        return False
    return isinstance(_first(bound[0]), ast.List)


def without(node: ast.expr, name: str) -> ast.expr:
    """Return a sum without the name that it begins with: what is added to that."""
    parts: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts.append(node.right)
        node = node.left
    if not isinstance(node, ast.Name) or node.id != name or not parts:
        parts.append(node)
    whole = parts.pop()
    while parts:
        right = parts.pop()
        whole = ast.copy_location(ast.BinOp(whole, ast.Add(), right), right)
    return whole


def _first(node: object) -> object:
    """Return what stands first in a sum."""
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        node = node.left
    return node


def summed(left: Value, right: Value) -> Value | None:
    """Return what ``+`` makes of two lists, of which one may not be known, or of two texts."""
    if "items" in left or "items" in right:
        items = [*_items(left), *_items(right)]
        return {"kind": "list", "items": items, "open": _is_open(left) or _is_open(right)}
    one, other = text_of(left), text_of(right)
    if one and other and {one, other} != {OPEN}:
        return texts([one, other])
    return None


def _items(value: Value) -> list[Value]:
    if value["kind"] == "mapping" or "items" not in value:
        open_part = unknown("a list that is put together")
        return [{"key": 0, "value": open_part, "line": 0, "column": 0, "written": ""}]
    return list(value["items"])


def _is_open(value: Value) -> bool:
    return value["kind"] != "list" or bool(value["open"])


def text_of(value: Value) -> str:
    """Return a text, with `OPEN` for what is not known."""
    if value["kind"] == "literal":
        return str(value["literal"])
    return str(value.get("text") or OPEN)


def texts(parts: list[str]) -> Value:
    """Return a text that is put together, as far as it is known."""
    text = "".join(parts)
    fits = len(text) <= TEXT_LIMIT
    return {"kind": "computed", "why": "a text that is put together", "text": text if fits else ""}
