"""What parameters and mappings of a script hold where nobody gives anything else.

Parameters: of commands (typer, click, fire) and of functions that are only called with nothing.
Mappings: ``kwargs["dtype"] = ...`` and ``kwargs.update(dtype=...)`` after they were made.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fadoctor.sources.scripts.child._fadoctor_scope import Scope

STARTERS = frozenset({"run", "Fire", "cli", "CLI"})
"""typer.run(main), fire.Fire(main), tyro.cli(main)."""
COMMANDS = frozenset({"command", "callback"})
OPTIONS = frozenset({"option", "argument"})
OF_TYPER = frozenset({"Option", "Argument"})
FLAGS = frozenset({"store_true", "store_false"})


class Parameters:
    """The functions whose parameters have a default that counts, and those that are given more."""

    def __init__(self) -> None:
        self.of: dict[int, tuple[str, bool, dict[str, ast.expr], list[str]]] = {}
        """The scope of a function -> its name, whether it is a command, defaults, parameters."""
        self.started: set[str] = set()
        self.calls: dict[str, list[ast.Call]] = {}
        """The name of a function, or of a class whose instance is made -> its calls."""

    def note_function(self, node: ast.AST, inner: Scope, owner: str = "") -> None:
        """Note the defaults of a function: those of its signature, and of click's decorators.

        `owner`: the class that a method belongs to; who calls the class calls its ``__init__``.
        """
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        defaults = signature(node.args)
        calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
        for call in calls:
            if last_name(call.func) in OPTIONS:
                name, default = option(call)
                if name and default is not None:
                    defaults[name] = default
        is_command = any(last_name(called(each)) in COMMANDS for each in node.decorator_list)
        is_init = bool(owner) and node.name == "__init__"
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)][is_init:]
        name = owner if is_init else "" if owner else node.name
        self.of[id(inner)] = (name, is_command, defaults, names)

    def note_call(self, node: ast.Call) -> None:
        """Note who is started as a command, and who is called with and without arguments."""
        if last_name(node.func) in STARTERS and node.args and isinstance(node.args[0], ast.Name):
            self.started.add(node.args[0].id)
        elif isinstance(node.func, ast.Name):
            self.calls.setdefault(node.func.id, []).append(node)

    def default(self, scope: Scope, name: str) -> ast.expr | None:
        """Return what a parameter is where nobody gives it; None where that is not known."""
        function, is_command, defaults, names = self.of.get(id(scope), ("", False, {}, []))
        calls = self.calls.get(function, []) if function else []
        is_started = is_command or function in self.started or bool(calls)
        found = defaults.get(name) if is_started else None
        if any(may_give(call, name, names) for call in calls):
            return None
        if isinstance(found, ast.Call) and last_name(found.func) in OF_TYPER:
            given = keywords(found)
            found = given.get("default") or (found.args[0] if found.args else None)
        is_required = isinstance(found, ast.Constant) and found.value in (..., None)
        return None if is_required else found


class Items:
    """What is put into mappings after they were made."""

    def __init__(self) -> None:
        self.of: dict[tuple[int, str], list[tuple[ast.expr, ast.expr, str, int]]] = {}
        """Scope and name -> key, value, why it may not happen, line."""

    def note(self, node: ast.AST, scope: Scope, condition: str) -> bool:
        """Note an item or an update of a mapping of this scope; False where it is neither."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                return self.add(scope, target.value.id, [(target.slice, node.value)], condition)
        func = node.func if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(func, ast.Attribute):
            return False
        if func.attr != "update" or not isinstance(func.value, ast.Name):
            return False
        pairs = updated(node)
        return bool(pairs) and self.add(scope, func.value.id, pairs, condition)

    def add(
        self, scope: Scope, name: str, pairs: list[tuple[ast.expr, ast.expr]], condition: str
    ) -> bool:
        """Note pairs, where the mapping is made in the same scope before."""
        if len(scope.bound.get(name, ())) != 1:
            return False
        noted = self.of.setdefault((id(scope), name), [])
        noted += [(key, value, condition, getattr(value, "lineno", 0)) for key, value in pairs]
        return True


def may_give(call: ast.Call, name: str, names: list[str]) -> bool:
    """Return whether a call gives a parameter, by its name or place, or may do so."""
    if any(each.arg in (None, name) for each in call.keywords):
        return True
    if any(isinstance(each, ast.Starred) for each in call.args):
        return True
    return name in names and len(call.args) > names.index(name)


def updated(node: ast.Call) -> list[tuple[ast.expr, ast.expr]]:
    """Return the pairs of ``update(...)``; nothing where it is given what cannot be read."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for each in node.args:
        if not isinstance(each, ast.Dict) or None in each.keys:
            return []
        found += [(key, value) for key, value in zip(each.keys, each.values) if key is not None]
    for keyword in node.keywords:
        if keyword.arg is None:
            return []
        found.append((ast.copy_location(ast.Constant(keyword.arg), keyword.value), keyword.value))
    return found


def signature(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Return the defaults of a signature by name."""
    plain = [*arguments.posonlyargs, *arguments.args]
    last = plain[len(plain) - len(arguments.defaults) :]
    found = {one.arg: default for one, default in zip(last, arguments.defaults)}
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if default is not None:
            found[one.arg] = default
    return found


def option(call: ast.Call) -> tuple[str, ast.expr | None]:
    """Return the name and the default of an option of argparse or click.

    click takes a word without dashes as the name, argparse ``dest``, both else the longest option.
    """
    given = keywords(call)
    words = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    bare = [word for word in words if word.isidentifier()]
    longest = max((word.split("/")[0] for word in words), key=len, default="")
    dest = getattr(given.get("dest"), "value", None)
    name = dest or (bare[0] if bare else longest.lstrip("-").replace("-", "_"))
    action = getattr(given.get("action"), "value", "")
    is_flag = getattr(given.get("is_flag"), "value", False) is True
    default = given.get("default")
    if default is None and (action in FLAGS or is_flag):
        default = ast.copy_location(ast.Constant(action == "store_false"), call)
    return (name if isinstance(name, str) else ""), default


def keywords(call: ast.Call) -> dict[str, ast.expr]:
    """Return the arguments of a call that are given by name."""
    return {each.arg: each.value for each in call.keywords if each.arg is not None}


def called(node: ast.expr) -> ast.expr:
    """Return what is called, or the node itself."""
    return node.func if isinstance(node, ast.Call) else node


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def made_by_parser(node: ast.ClassDef, wanted: frozenset[str]) -> ast.Call | None:
    """Return the call that a dataclass of arguments comes to: its base with the fields' defaults.

    More may be given on the command line, which the call shows as arguments that are not known.
    """
    base = next((each for each in node.bases if last_name(each) in wanted), None)
    if base is None:
        return None
    more = ast.copy_location(ast.Name("command_line", ast.Load()), node)
    given = [ast.keyword(arg=None, value=more)]
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            value = field_default(each.value)
            if value is not None:
                named = ast.keyword(arg=each.target.id, value=value)
                given.append(ast.copy_location(named, value))
    return ast.copy_location(ast.Call(func=base, args=[], keywords=given), node)


def field_default(value: ast.expr | None) -> ast.expr | None:
    """Return the default of a field: a plain one, or that of ``field(default=...)``."""
    return keywords(value).get("default") if isinstance(value, ast.Call) else value
