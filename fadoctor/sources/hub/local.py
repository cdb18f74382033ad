"""Folders that LOCAL_KERNELS names in the place of what the Hub has. Nothing of them is run.

``LOCAL_KERNELS=owner/name=FOLDER:owner/name=FOLDER``: FOLDER is a snapshot, what builds lie in, or
one build itself, which is then taken whatever it was made for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from fadoctor.sources.hub.cache import Kernel, read_builds_of, version_of
from fadoctor.sources.hub.metadata import read_metadata
from fadoctor.sources.hub.variant import parse_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fadoctor.sources.hub.metadata import Metadata

VARIABLE = "LOCAL_KERNELS"
KIND = "local"
"""The kind of a kernel that lies in such a folder."""
ITSELF = "."
"""Stands for the name of the build where the folder is one."""
ENTRY_LIMIT = 16

_REPOSITORY = re.compile(r"[\w.-]{1,60}/[\w.-]{1,80}")


class Named(msgspec.Struct, frozen=True):
    """What the variable says."""

    folders: dict[str, str]
    """Repository -> folder, as it is written."""
    wrong: tuple[str, ...] = ()
    """Entries without a folder: kernels raises an error for every kernel then."""


def parse_local(text: str) -> Named:
    """Return what the variable says, as kernels reads it; of a name that comes again the last."""
    entries = text.split(":")[:ENTRY_LIMIT]
    pairs = [entry.partition("=") for entry in entries]
    folders = {name: folder for name, sign, folder in pairs if sign and _REPOSITORY.fullmatch(name)}
    return Named(folders, tuple(name for name, sign, _ in pairs if not sign))


def read_local(named: Named, path: Callable[[str], Path]) -> Iterator[Kernel]:
    """Yield the kernels of the folders; one without a build where there is none."""
    for repository, folder in named.folders.items():
        builds = _builds(path(folder))
        yield Kernel(KIND, repository, version_of(builds) or KIND, builds)


def locate_local(named: Named, path: Callable[[str], Path], name: str, build: str) -> Path | None:
    """Return the folder of a build of ``owner/name@branch``; None where it is not there."""
    folder = named.folders.get(name.rpartition("@")[0])
    if folder is None:
        return None
    places = (path(folder) / build, path(folder) / "build" / build)
    return next((place for place in places if place.is_dir()), None)


def _builds(folder: Path) -> dict[str, Metadata]:
    """Return the builds in a folder, below it, or the folder as a build."""
    below = read_builds_of(folder, "build")
    found = {**below, **read_builds_of(folder, "")}
    builds = {name: said for name, said in found.items() if parse_variant(name) is not None}
    if builds:
        return builds
    here = read_metadata(str(folder / "metadata.json"))
    return {ITSELF: here} if here.keys else {}
