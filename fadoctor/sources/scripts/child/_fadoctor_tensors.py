"""In which dtype a tensor is that a script makes itself: told by the call that makes it.

Chains are followed (``torch.randn(...).cuda().half()``), and a name that is bound once. Python 3.8.
"""

# A circle with `_fadoctor_values` by a type alone: both read one script, call by call.

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.sources.scripts.child._fadoctor_scope import Scope
    from fadoctor.sources.scripts.child._fadoctor_values import Script

DEPTH = 12
CASTS = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
DTYPES = frozenset(
    ["float16", "half", "bfloat16", "float32", "float", "float64", "double", "float8_e4m3fn"]
)
MAKERS = frozenset(["randn", "rand", "zeros", "ones", "empty"])
ALIKE = frozenset(["randn_like", "rand_like", "zeros_like", "ones_like", "empty_like"])
KEPT = frozenset([
    "cuda", "contiguous", "requires_grad_", "clone", "detach", "transpose", "view", "reshape",
    "permute", "unsqueeze", "squeeze", "expand", "repeat", "pin_memory", "normal_", "uniform_",
    "mul", "mul_", "div", "div_",
])  # fmt: skip


def tensor_dtype(script: Script, node: ast.expr, scope: Scope, depth: int = 0) -> str:
    """Return ``torch.float32`` and the like; "" where nothing tells."""
    if depth > DEPTH:
        return ""
    if isinstance(node, ast.Name):
        home = scope.home(node.id)
        bound = home.bound.get(node.id, [])
        is_one = len(bound) == 1 and isinstance(bound[0], ast.Call)
        return tensor_dtype(script, bound[0], home, depth + 1) if is_one else ""  # type: ignore[arg-type]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return returned(script, node.func.id, scope, depth)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    name = script.called(node.func, scope)[0]
    if name.startswith("torch.") and name.count(".") == 1:
        return made(script, node, name[len("torch.") :], scope, depth)
    return changed(script, node, node.func, scope, depth)


def returned(script: Script, name: str, scope: Scope, depth: int) -> str:
    """Return the dtype of what a function of the script returns, where it has one ``return``."""
    bound = scope.home(name).bound.get(name, [])
    only = bound[0] if len(bound) == 1 else None
    inside = script.names.inside.get(id(only))
    if inside is None:
        return ""
    if isinstance(only, ast.Lambda):
        return tensor_dtype(script, only.body, inside, depth + 1)
    if not isinstance(only, ast.FunctionDef) or only.decorator_list:
        return ""
    ends = [each for each in ast.walk(only) if isinstance(each, (ast.Return, ast.Yield))]
    value = ends[0].value if len(ends) == 1 and isinstance(ends[0], ast.Return) else None
    return tensor_dtype(script, value, inside, depth + 1) if value is not None else ""


def changed(script: Script, node: ast.Call, func: ast.Attribute, scope: Scope, depth: int) -> str:
    """Return the dtype after a method of a tensor."""
    if func.attr in CASTS and not node.args:
        return "torch." + CASTS[func.attr]
    if func.attr in KEPT:
        return tensor_dtype(script, func.value, scope, depth + 1)
    return moved(script, node, scope, depth) if func.attr == "to" else ""


def made(script: Script, node: ast.Call, maker: str, scope: Scope, depth: int) -> str:
    """Return the dtype of what a function of torch makes: float32 where nobody says it."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if None in given or maker not in MAKERS | ALIKE:
        return ""
    if "dtype" in given:
        return named(script, given["dtype"], scope)
    if maker in ALIKE:
        return tensor_dtype(script, node.args[0], scope, depth + 1) if node.args else ""
    return "torch.float32"


def moved(script: Script, node: ast.Call, scope: Scope, depth: int) -> str:
    """Return the dtype after ``.to(...)``: what it names, else that of the tensor before."""
    owner = node.func.value  # type: ignore[attr-defined]
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if "dtype" in given:
        return named(script, given["dtype"], scope)
    for each in node.args:
        if found := named(script, each, scope):
            return found
        value = script.value(each, scope, depth + 1)
        if not isinstance(value.get("literal"), (str, int)):
            return ""
    return tensor_dtype(script, owner, scope, depth + 1)


def named(script: Script, node: ast.expr, scope: Scope) -> str:
    """Return the dtype that an expression names."""
    value = script.value(node, scope, 0)
    name = str(value.get("name", ""))
    return name if value["kind"] == "name" and name.rpartition(".")[2] in DTYPES else ""
