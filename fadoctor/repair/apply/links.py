"""Refuse to change an environment whose packages lie beyond a link: no snapshot holds them.

A link that leads from one folder with packages to another (``lib64`` to ``lib``) is harmless, and
so is one to the whole environment: a snapshot holds what lies there.
"""

from __future__ import annotations

import os
import posixpath
from typing import TYPE_CHECKING

from fadoctor.model.errors import UsageError
from fadoctor.model.fact import printable
from fadoctor.repair.apply.ownership import LIBRARIES, SITES, claims, in_packages, installed
from fadoctor.repair.apply.store import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PLACES = ("bin", "Scripts", "include", "share", "etc", "conda-meta", *LIBRARIES)
"""Folders of an environment that installers write to, whatever is in a package."""


def refuse_links(prefix: Path) -> None:
    """Raise UsageError where an installer could write to what a snapshot does not hold."""
    for folder in _places(prefix):
        path = prefix / folder
        if path.is_symlink() and path.is_dir() and not _is_held(folder, _real(prefix, path)):
            raise UsageError(_sentence(path))


def _sentence(path: Path) -> str:
    return printable(
        f"{path} is a link to {os.path.realpath(path)}, where no snapshot of the environment "
        "reaches, so a change could not be undone: nothing was changed. Put the folder itself "
        "there, make a new environment on that disk, or run the commands of --dry-run yourself",
        1200,
    )


def _places(prefix: Path) -> Iterator[str]:
    """Yield the folders, relative to the environment, that an installer may write to."""
    yield from _PLACES
    for library in LIBRARIES:
        for site in SITES:
            yield f"{library}/{site}"
            for found in sorted((prefix / library).glob(f"*/{site}")):
                yield f"{library}/{found.parent.name}"
                yield f"{library}/{found.parent.name}/{site}"
    seen: set[str] = set()
    for several in installed(prefix, follow=True).values():
        for one in several:
            owned = claims(prefix, prefix, one)
            seen.update(owned.folders)
            for path in owned.files:
                folder = posixpath.dirname(path)
                while folder and folder not in seen:
                    seen.add(folder)
                    folder = posixpath.dirname(folder)
    yield from sorted(seen)


def _real(prefix: Path, path: Path) -> str:
    """Return where a path really is, relative to where the environment really is."""
    found = os.path.relpath(os.path.realpath(path), os.path.realpath(prefix))
    return found.replace(os.sep, "/")


def _is_held(folder: str, real: str) -> bool:
    """Return whether a folder that is a link leads to what is brought back like itself."""
    if real.startswith("..") or real.partition("/")[0] == FOLDER:
        return False
    if in_packages(folder + "/x"):
        return in_packages(real + "/x")
    tops = {folder.partition("/")[0], real.partition("/")[0]}
    return tops <= set(LIBRARIES) and folder.count("/") == real.count("/")
