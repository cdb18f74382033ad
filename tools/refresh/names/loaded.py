"""What the import of a package surely asks others for: of the files that it surely loads."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.refresh.names.asked import Asked, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.refresh.names.archive import Sources


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
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                if top == module:
                    follows.append((0, alias.name, ()))
                elif top in others and "." in alias.name:
                    asks.add(Asked(alias.name, ""))
        elif isinstance(node, ast.ImportFrom):
            name, names = node.module or "", tuple(alias.name for alias in node.names)
            top = name.partition(".")[0]
            if node.level or top == module:
                follows.append((node.level, name, names))
            elif top in others:
                asks |= {Asked(name, "" if each == "*" else each) for each in names}
    return _File(frozenset(asks), tuple(follows))
