"""Where the import system finds a module: by the names in folders, as importlib does it."""

from __future__ import annotations

import os
from typing import Dict, FrozenSet, List, NamedTuple, Optional, Tuple

PACKAGE, SOURCE, COMPILED, NAMESPACE = "package", "source", "compiled", "namespace"

MAX_NAMES = 200_000
_EXTENSIONS = (".so", ".pyd")


class Spec(NamedTuple):
    """A module that is there."""

    kind: str
    file: str
    """Its source; of a compiled one the library; empty for a namespace."""
    path: Tuple[str, ...] = ()
    """Folders of its submodules."""


class Finder:
    """Finds modules; every folder is listed once."""

    def __init__(self, folders: List[str]) -> None:
        self.folders = tuple(folders)
        self._names: Dict[str, FrozenSet[str]] = {}
        self._extensions: Dict[str, Dict[str, str]] = {}

    def names(self, folder: str) -> FrozenSet[str]:
        """Return the names in a folder, empty where it cannot be listed."""
        found = self._names.get(folder)
        if found is None:
            try:
                found = frozenset(os.listdir(folder)[:MAX_NAMES])
            except (OSError, ValueError):
                found = frozenset()
            self._names[folder] = found
        return found

    def find(self, name: str, path: Tuple[str, ...]) -> Optional[Spec]:
        """Return the module of a last name on a path, or None."""
        portions = []
        for folder in path:
            names = self.names(folder)
            below = f"{folder}{os.sep}{name}" if name in names else ""
            if below and os.path.isdir(below):
                inside = self.names(below)
                if "__init__.py" in inside:
                    return Spec(PACKAGE, os.path.join(below, "__init__.py"), (below,))
                if any(n.startswith("__init__.") for n in inside):
                    return Spec(COMPILED, below, (below,))
                portions.append(below)
            compiled = self._compiled(folder, name, names)
            if compiled:
                return Spec(COMPILED, os.path.join(folder, compiled))
            if name + ".py" in names:
                return Spec(SOURCE, os.path.join(folder, name + ".py"))
            if name + ".pyc" in names:
                return Spec(COMPILED, os.path.join(folder, name + ".pyc"))
        return Spec(NAMESPACE, "", tuple(portions)) if portions else None

    def _compiled(self, folder: str, name: str, names: FrozenSet[str]) -> str:
        known = self._extensions.get(folder)
        if known is None:
            # _C.so, _C.cpython-311-x86_64-linux-gnu.so, _C.abi3.so
            libraries = [each for each in names if each.endswith(_EXTENSIONS)]
            known = {each.partition(".")[0]: each for each in sorted(libraries)}
            self._extensions[folder] = known
        return known.get(name, "")
