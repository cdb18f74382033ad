"""Small trees of packages, as pip leaves them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fadoctor.sources.import_names.model import ModuleEntry, NameAnswer, Site
from fadoctor.sources.import_names.read import read_contracts

if TYPE_CHECKING:
    from collections.abc import Callable

ENTRIES = {
    "asker": ModuleEntry(("asker",), "entry", ("asker:Trainer", "asker.extra")),
    "provider": ModuleEntry(("provider",), "entry"),
    "base": ModuleEntry(("base",), "foundation"),
}


class Tree:
    """A folder of packages."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.installed: dict[str, str] = {}

    def install(self, name: str, version: str = "1.0", **files: str) -> Tree:
        """Write a package; ``a__b`` is the file a/b.py, ``init`` the package's own."""
        self.installed[name] = version
        for stem, text in {"init": "", **files}.items():
            path = stem.replace("__", "/") if stem != "init" else "__init__"
            path = path.replace("/init", "/__init__")
            file = self.folder / name / f"{path}.py"
            for parent in reversed(file.relative_to(self.folder).parents):
                folder = self.folder / parent
                folder.mkdir(exist_ok=True)
                if parent != Path() and not (folder / "__init__.py").exists():
                    (folder / "__init__.py").write_text("")
            file.write_text(text)
        record = self.folder / f"{name}-{version}.dist-info" / "RECORD"
        record.parent.mkdir(exist_ok=True)
        record.write_text(name + version)
        return self

    def site(self, **changes: object) -> Site:
        """Return the tree as the reader wants it."""
        records = {
            name: str(self.folder / f"{name}-{version}.dist-info" / "RECORD")
            for name, version in self.installed.items()
        }
        given = {"python": tuple(sys.version_info[:3]), "system": "linux", **changes}
        return Site((str(self.folder),), dict(self.installed), records, **given)  # type: ignore[arg-type]

    def read(self, cache: Path | None = None, **changes: object) -> NameAnswer:
        """Return what is asked for in vain."""
        return read_contracts(self.site(**changes), ENTRIES, cache)

    def told(self, **changes: object) -> list[str]:
        """Return it in short: ``asker/init:3 provider.Gone``."""
        answer = self.read(None, **changes)
        assert not answer.problem
        return [
            f"{Path(b.file).relative_to(self.folder)}:{b.line} {b.module} {b.name}".strip()
            for b in answer.broken
        ]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    folder = tmp_path / "site"
    folder.mkdir()
    return Tree(folder)


@pytest.fixture
def told(tree: Tree) -> Callable[..., list[str]]:
    """What an asker with these lines asks a provider for in vain."""

    def ask(asker: str, provider: str = "class Here: ...\n", **changes: object) -> list[str]:
        tree.install("asker", init=asker).install("provider", version="2.5.1", init=provider)
        tree.install("packaging", version="26.0")
        return tree.told(**changes)

    return ask
