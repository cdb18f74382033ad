"""What the import of a package surely asks others for: of the files that it surely loads."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.refresh.names.asked import Asked, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tools.refresh.names.archive import Sources

TRUSTED = frozenset({"torch"})
"""Whose names code reads everywhere: only what it imports of them counts."""


@dataclass(frozen=True)
class _File:
    """What the statements of one file do that nothing decides about."""

    asks: frozenset[Asked] = frozenset()
    follows: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    """Level, module and names of each import of the package's own."""


@dataclass
class Loader:
    """Follows imports of one package; files that did not change are read once."""

    module: str
    others: frozenset[str]
    """Import names of the packages that may be asked."""
    starts: tuple[str, ...]
    """What is imported: the package, and modules that a lazy package loads when it is used."""
    _known: dict[str, _File] = field(default_factory=dict)

    def asks(self, sources: Sources) -> frozenset[Asked]:
        """Return what a release asks for."""
        paths = {path for start in self.starts for path in _paths(sources, start)}
        done: set[str] = set()
        while new := paths - done:
            self._read(sources, new)
            done |= new
            found = (self._next(sources, path) for path in new)
            paths = {path for several in found for path in several}
        return frozenset().union(*(self._known[sources.digests[path]].asks for path in done))

    def _read(self, sources: Sources, paths: Iterable[str]) -> None:
        wanted = [path for path in paths if sources.digests[path] not in self._known]
        for path, text in sources.read(wanted).items() if wanted else ():
            self._known[sources.digests[path]] = _file(text, self.module, self.others)

    def _next(self, sources: Sources, path: str) -> Iterator[str]:
        folder = path.rpartition("/")[0].split("/")
        for level, name, names in self._known[sources.digests[path]].follows:
            base = folder[: len(folder) - level + 1] if level else []
            module = ".".join([*base, *filter(None, [name])])
            yield from _paths(sources, module)
            for each in names:
                yield from _paths(sources, f"{module}.{each}")


def _paths(sources: Sources, module: str) -> Iterator[str]:
    """Yield the files that the import of a module runs; none where there is no such module."""
    parts = module.split(".")
    own = [f"{'/'.join(parts)}.py", f"{'/'.join(parts)}/__init__.py"]
    there = [path for path in own if path in sources.digests]
    for count in range(1, len(parts)) if there else ():
        path = f"{'/'.join(parts[:count])}/__init__.py"
        if path in sources.digests:
            yield path
    yield from there[-1:]


def _file(text: str, module: str, others: frozenset[str]) -> _File:
    """Return what a file does; nothing of one that cannot be parsed."""
    tree = parsed(text)
    asks: set[Asked] = set()
    follows: list[tuple[int, str, tuple[str, ...]]] = []
    bound: dict[str, str] = {}
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                if top == module:
                    follows.append((0, alias.name, ()))
                elif top in others:
                    asks |= {Asked(alias.name, "")} if "." in alias.name else set()
                    bound |= _bound(alias)
        elif isinstance(node, ast.ImportFrom):
            name, names = node.module or "", tuple(alias.name for alias in node.names)
            top = name.partition(".")[0]
            if node.level or top == module:
                follows.append((node.level, name, names))
            elif top in others:
                asks |= {Asked(name, "" if each == "*" else each) for each in names}
        else:
            asks |= set(_read(node, bound))
    return _File(frozenset(asks), tuple(follows))


def _bound(alias: ast.alias) -> dict[str, str]:
    """Return the name that an import binds, and the module that it is then."""
    top = alias.name.partition(".")[0]
    if top in TRUSTED:
        return {}
    return {alias.asname: alias.name} if alias.asname else {top: top}


def _read(node: ast.AST, bound: Mapping[str, str]) -> Iterator[Asked]:
    """Yield the names of imported modules that a statement surely reads where it stands.

    A class is made at import with its bases and its body. What stands below a condition, and the
    body of a function, may never run.
    """
    match node:
        case ast.Attribute(value=ast.Name(id=name, ctx=ast.Load()), ctx=ast.Load()):
            if name in bound:
                yield Asked(bound[name], node.attr)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = filter(None, (*node.args.defaults, *node.args.kw_defaults))
            yield from _of_all((*node.decorator_list, *defaults), bound)
        case ast.Lambda():
            yield from _of_all(filter(None, (*node.args.defaults, *node.args.kw_defaults)), bound)
        case ast.BoolOp():
            yield from _read(node.values[0], bound)
        case ast.IfExp() | ast.If() | ast.While() | ast.Assert():
            yield from _read(node.test, bound)
        case ast.AnnAssign():
            yield from _of_all(filter(None, (node.value,)), bound)
        case ast.Try() | ast.With() | ast.For() | ast.Match() | ast.comprehension():
            pass
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            pass
        case _:
            yield from _of_all(ast.iter_child_nodes(node), bound)


def _of_all(nodes: Iterable[ast.AST], bound: Mapping[str, str]) -> Iterator[Asked]:
    for node in nodes:
        yield from _read(node, bound)
