"""Tables of requirements by name, as projects that list all of them once make one in ``setup.py``.

``deps = {b: a for a, b in (re.findall(...)[0] for x in _deps)}``: a mapping whose values are the
texts of a list, each under the name that it begins with; and functions that look up several.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.sources.scripts.child._fadoctor_scope import Scope
    from fadoctor.sources.scripts.child._fadoctor_values import Script, Value

LIMIT = 400
"""Texts of one table."""

# torch==2.0.1, transformers[sentencepiece]>=4.30
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,100}", re.ASCII)


def table_of(script: Script, node: ast.DictComp, scope: Scope) -> dict[str, Value] | None:
    """Return name -> text of a mapping that is made of one list of texts; None for another one."""
    known = script.tables.get(id(node))
    if known is None and len(node.generators) == 1:
        source = node.generators[0].iter
        if isinstance(source, (ast.GeneratorExp, ast.ListComp)) and len(source.generators) == 1:
            source = source.generators[0].iter
        known = script.tables[id(node)] = _texts(script, source, scope)
    return known or None


def looked_up(script: Script, node: ast.Call, scope: Scope) -> list[Value] | None:
    """Return the texts that a call looks up by name: ``deps_list("torch", "triton")``."""
    function = _only(node.func, scope)
    if not isinstance(function, ast.FunctionDef) or node.keywords:
        return None
    last = function.body[-1]
    names = function.args.vararg.arg if function.args.vararg is not None else ""
    found = last.value if isinstance(last, ast.Return) else None
    if not (isinstance(found, ast.ListComp) and len(found.generators) == 1 and names):
        return None
    each, item = found.generators[0], found.elt
    is_each = isinstance(each.iter, ast.Name) and each.iter.id == names and not each.ifs
    if not (is_each and isinstance(item, ast.Subscript) and isinstance(item.value, ast.Name)):
        return None
    made = _only(item.value, scope)
    table = table_of(script, made, scope) if isinstance(made, ast.DictComp) else None
    asked = [getattr(argument, "value", None) for argument in node.args[:LIMIT]]
    if table is None or not all(isinstance(name, str) and name in table for name in asked):
        return None
    return [table[str(name)] for name in asked]


def _only(node: ast.expr, scope: Scope) -> object:
    """Return what a name is bound to, where that is one thing."""
    if not isinstance(node, ast.Name):
        return None
    bound = scope.home(node.id).bound.get(node.id, [])
    return bound[0] if len(bound) == 1 else None


def _texts(script: Script, node: ast.expr, scope: Scope) -> dict[str, Value]:
    listed = _only(node, scope) if isinstance(node, ast.Name) else node
    if not isinstance(listed, (ast.List, ast.Tuple)) or len(listed.elts) > LIMIT:
        return {}
    found: dict[str, Value] = {}
    for each in listed.elts:
        text = each.value if isinstance(each, ast.Constant) else None
        name = _NAME.match(text) if isinstance(text, str) else None
        if name is None:
            return {}
        found[name[0]] = {"kind": "literal", "literal": text, "entry": script.place(each)}
    return found
