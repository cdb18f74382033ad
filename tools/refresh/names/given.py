"""Which names the modules of a release have: read, not run; what code decides is not known."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.refresh.names.asked import Asked, parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.refresh.names.archive import Sources

_ALL = re.compile(r"^__all__\s{0,4}\+?=\s{0,4}[\[(]([^\])]{0,200000})[\])]", re.MULTILINE)
_WORD = re.compile(r"[\"']([A-Za-z_]\w{0,100})[\"']")
_STUBS = {"torch/__init__.py": ("torch/_C/__init__.pyi", "torch/_C/_VariableFunctions.pyi")}
"""What tells the compiled names of a module, whose code decides only on modules and old names."""
_DEPTH = 12
"""How far names are followed through star imports."""


@dataclass
class Module:
    """What one file gives."""

    names: set[str] = field(default_factory=set)
    stars: list[tuple[int, str]] = field(default_factory=list)
    """Level and module of each star import."""
    strings: set[str] = field(default_factory=set)
    """Names in the table of a lazy module."""
    gathers: bool = False
    """It takes its names from the `__all__` of all files below its folder."""
    is_open: bool = False
    """Code decides what else it has."""


def read_module(text: str) -> Module:
    """Return what a file gives; what cannot be parsed may give anything."""
    tree = parsed(text)
    if tree is None:
        return Module(is_open=True)
    module = Module(gathers="define_import_structure(" in text)
    _collect(tree.body, module)
    is_lazy = "_LazyModule(" in text or "_attach(" in text or "_import_structure" in text
    if is_lazy:
        module.strings = {
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node.value.isidentifier()
        }
    elif "__getattr__" in module.names or "globals()" in text or "sys.modules[" in text:
        module.is_open = True
    return module


def _collect(body: Iterable[ast.stmt], module: Module) -> None:
    """Take the names that statements of a module bind, whatever their conditions say."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                module.names.add(node.name)
            case ast.Import():
                module.names |= {a.asname or a.name.partition(".")[0] for a in node.names}
            case ast.ImportFrom():
                _import_from(node, module)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With():
                module.names |= {
                    each.id
                    for each in ast.walk(node)
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                }
            case _:
                pass
        for inner in ("body", "orelse", "finalbody"):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                _collect(getattr(node, inner, []), module)
        for handler in getattr(node, "handlers", []):
            _collect(handler.body, module)


def _import_from(node: ast.ImportFrom, module: Module) -> None:
    for alias in node.names:
        if alias.name == "*":
            module.stars.append((node.level, node.module or ""))
        else:
            module.names.add(alias.asname or alias.name)


class Giver:
    """Answers for one release. Files that did not change are read once for all releases."""

    def __init__(
        self, sources: Sources, known: dict[str, Module], lists: dict[str, set[str]]
    ) -> None:
        """Take the sources, and what was read of files by their digest."""
        self._sources, self._known, self._lists = sources, known, lists
        self._below: dict[str, set[str]] = {}

    def has(self, asked: Asked) -> bool | None:
        """Return whether the release has a name; None where that cannot be read."""
        path = self.path_of(asked.module)
        if path is None:
            return None if self._is_compiled(asked.module) else False
        if not asked.name:
            return True
        return self._has(path, asked.name, 0)

    def exported(self, module: str) -> set[str]:
        """Return the public names that a package has at its top, as far as its files say them.

        What star imports bring is left out, and what code decides.
        """
        path = self.path_of(module)
        if path is None:
            return set()
        self._read([path])
        own = self._known[self._sources.digests[path]]
        found = own.names | own.strings | (self._gathered(module) if own.gathers else set())
        return {name for name in found if not name.startswith("_")}

    def prepare(self, modules: Iterable[str]) -> None:
        """Fetch the files of modules in few requests."""
        paths = [path for module in modules if (path := self.path_of(module))]
        self._read(paths)

    def path_of(self, module: str) -> str | None:
        """Return the file of a module, None where there is none."""
        base = module.replace(".", "/")
        found = (f"{base}.py", f"{base}/__init__.py")
        return next((path for path in found if path in self._sources.digests), None)

    def _is_compiled(self, module: str) -> bool:
        base = module.replace(".", "/")
        return any(path.startswith(f"{base}.") for path in self._sources.others)

    def _read(self, paths: Iterable[str]) -> None:
        digests = self._sources.digests
        wanted = {path for path in paths if digests[path] not in self._known}
        for path, text in self._sources.read(wanted).items() if wanted else ():
            self._known[digests[path]] = read_module(text)

    def _has(self, path: str, name: str, depth: int) -> bool | None:
        self._read([path])
        module = self._known[self._sources.digests[path]]
        if name in module.names or name in module.strings:
            return True
        package = path.removesuffix("/__init__.py") if path.endswith("/__init__.py") else ""
        dotted = (package or path.removesuffix(".py")).replace("/", ".")
        if package and (self.path_of(f"{dotted}.{name}") or self._is_compiled(f"{dotted}.{name}")):
            return True
        if module.gathers and name in self._gathered(package):
            return True
        if path in _STUBS:
            return name in self._stubbed(path)
        is_open = module.is_open
        for level, star in module.stars if depth < _DEPTH else ():
            found = self._has_star(path, (level, star), name, depth)
            if found:
                return True
            is_open |= found is None
        # A lazy module has what its table says: what it imports for type checkers says nothing.
        return None if is_open and not module.strings else False

    def _stubbed(self, path: str) -> set[str]:
        """Return the names that the stubs of a compiled module tell."""
        if path not in self._below:
            stubs = self._sources.read(self._sources.stubs.intersection(_STUBS[path]))
            modules = [read_module(text) for text in stubs.values()]
            self._below[path] = set().union(*(each.names for each in modules))
        return self._below[path]

    def _has_star(self, path: str, star: tuple[int, str], name: str, depth: int) -> bool | None:
        level, module = star
        if level:
            folder = path.split("/")[:-level]
            module = ".".join([*folder, *filter(None, [module])])
        target = self.path_of(module)
        return None if target is None else self._has(target, name, depth + 1)

    def _gathered(self, package: str) -> set[str]:
        """Return the `__all__` of all files below a folder."""
        if package not in self._below:
            digests = self._sources.digests
            paths = [path for path in digests if path.startswith(f"{package}/")]
            wanted = {path for path in paths if digests[path] not in self._lists}
            for path, text in self._sources.read(wanted).items() if wanted else ():
                self._lists[digests[path]] = set(_listed(text))
            self._below[package] = set().union(*(self._lists[digests[path]] for path in paths))
        return self._below[package]


def _listed(text: str) -> Iterator[str]:
    for match in _ALL.finditer(text):
        yield from _WORD.findall(match[1])
