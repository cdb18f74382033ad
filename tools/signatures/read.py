"""Read out of sources what a function takes, and how a script of ours calls one. Nothing is run."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SIZE_LIMIT = 4 << 20
_HOPS = 4
"""How often a name is followed to the module that it was imported from."""

_EMPTY = inspect.Parameter.empty
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Called(NamedTuple):
    """How something is called."""

    positional: int
    keywords: tuple[str, ...]


class Unreadable(Exception):  # noqa: N818 -- what a source is
    """A source is no Python, or lacks what is looked for."""


def parsed(text: str, name: str) -> ast.Module:
    """Return the tree of a source."""
    if len(text) > _SIZE_LIMIT:
        raise Unreadable(f"{name}: too long")
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(f"{name}: {type(error).__name__}") from error


def call_in(text: str, within: str, called: str) -> Called:
    """Return how the one call of a name inside a function of a script is made.

    What is given by stars is not counted: whoever asks knows what they hold.
    """
    tree = parsed(text, within)
    functions = [each for each in ast.walk(tree)
                 if isinstance(each, _Function) and each.name == within]  # fmt: skip
    found = {
        Called(
            sum(not isinstance(each, ast.Starred) for each in call.args),
            tuple(each.arg for each in call.keywords if each.arg is not None),
        )
        for function in functions
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and _last(call.func) == called
    }
    if len(found) != 1:
        raise Unreadable(f"{within}: {len(found)} ways in which it calls {called}, not one")
    return found.pop()


def _last(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def signature_of(read: Callable[[str], str | None], module: str, path: str) -> inspect.Signature:
    """Return what ``function`` or ``Class.method`` of a module takes, followed through imports.

    `read` gives the text of a module, None where a release has no such module.
    """
    for _ in range(_HOPS):
        text, package = _text(read, module)
        tree = parsed(text, module)
        found = _definition(tree.body, path.split("."))
        if found is not None:
            return _signature(found)
        module, path = _elsewhere(tree, (module, package), path)
    raise Unreadable(f"{module}.{path} is imported from too far")


def _text(read: Callable[[str], str | None], module: str) -> tuple[str, str]:
    """Return the source of a module, and the package that its relative imports begin at."""
    base = module.replace(".", "/")
    text = read(f"{base}/__init__.py")
    if text is not None:
        return text, module
    text = read(f"{base}.py") or read(f"{base}.pyi")
    if text is None:
        raise Unreadable(f"no {module}")
    return text, module.rpartition(".")[0]


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, those below conditions too: the first that defines a name is taken."""
    for each in body:
        yield each
        if isinstance(each, (ast.If, ast.Try, ast.With)):
            yield from _statements(each.body)
            yield from _statements(getattr(each, "orelse", []))
            for handler in getattr(each, "handlers", []):
                yield from _statements(handler.body)


def _definition(body: list[ast.stmt], parts: list[str]) -> _Function | None:
    for each in _statements(body):
        if isinstance(each, _Function) and [each.name] == parts:
            return each
        if isinstance(each, ast.ClassDef) and each.name == parts[0]:
            return _definition(each.body, parts[1:] or ["__init__"])
    return None


def _elsewhere(tree: ast.Module, here: tuple[str, str], path: str) -> tuple[str, str]:
    """Return where a name comes from, and what it is called there.

    `here` is the module and the package that its relative imports begin at.
    """
    module, package = here
    name, dot, rest = path.partition(".")
    for each in _statements(tree.body):
        if isinstance(each, ast.ImportFrom):
            for alias in each.names:
                if (alias.asname or alias.name) == name:
                    return _origin(each, package), alias.name + dot + rest
        elif isinstance(each, ast.Assign) and name in map(_last, each.targets):
            return module, _last(each.value) + dot + rest
    raise Unreadable(f"{module} has no {path}")


def _origin(statement: ast.ImportFrom, package: str) -> str:
    if not statement.level:
        return statement.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - statement.level + 1]
    return ".".join([*above, *([statement.module] if statement.module else [])])


def _signature(function: _Function) -> inspect.Signature:
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    without = len(plain) - len(given.defaults)
    kinds = inspect.Parameter
    found = [
        kinds(
            each.arg,
            kinds.POSITIONAL_ONLY if at < len(given.posonlyargs) else kinds.POSITIONAL_OR_KEYWORD,
            default=_EMPTY if at < without else None,
        )
        for at, each in enumerate(plain)
    ]
    if given.vararg is not None:
        found.append(kinds(given.vararg.arg, kinds.VAR_POSITIONAL))
    found += [
        kinds(each.arg, kinds.KEYWORD_ONLY, default=_EMPTY if value is None else None)
        for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
    ]
    if given.kwarg is not None:
        found.append(kinds(given.kwarg.arg, kinds.VAR_KEYWORD))
    return inspect.Signature(found)


def refusal(signature: inspect.Signature, called: Called) -> str:
    """Return why a function cannot be called so, "" where it can."""
    try:
        signature.bind(*range(called.positional), **dict.fromkeys(called.keywords))
    except TypeError as error:
        return str(error)
    return ""


def unknown_names(signature: inspect.Signature, names: tuple[str, ...]) -> list[str]:
    """Return which parameters a function does not have."""
    return [name for name in names if name not in signature.parameters]
