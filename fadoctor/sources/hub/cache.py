"""The Hub's cache as it lies on disk: which kernels, which branches, which builds. Nothing is run.

A repository is a folder ``kernels--owner--name`` (kernels 0.14 and newer) or
``models--owner--name``; ``refs/BRANCH`` names a commit, ``snapshots/COMMIT/build/`` holds builds.
A kernel that was asked for by its version has a snapshot that nothing in ``refs`` names: which
version it is stands in its metadata. Thousands of models lie in the same cache and are not looked
at.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fadoctor.model.files import read_file
from fadoctor.model.packages import KERNELS
from fadoctor.sources.hub.metadata import Metadata, read_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRY_LIMIT = 100_000
"""Entries of the cache that are looked at, by name alone."""
REPOSITORY_LIMIT = 64
"""Those of kernels-community, which transformers takes, come first."""
BRANCH_LIMIT = 16
COMMIT_LIMIT = 1_000
"""Snapshots of a repository whose names and dates are looked at."""
SNAPSHOT_LIMIT = 16
"""Snapshots without a name, newest first, that are opened."""
BUILD_LIMIT = 200
METADATA_IN_ALL = 2_000
"""Files of metadata that are opened in one cache."""
LISTING_LIMIT = 1 << 20
"""Bytes of a list of what a commit holds; a longer one is not read."""
LISTED_LIMIT = 5_000

_REPOSITORY = r"(kernels|models)--([\w.-]{1,60}?)--([\w.-]{1,80})"
_OF_OLD = "kernels-community"
"""Owner of kernels that lie in folders of models, too; other models are none of our business."""
_COMMIT = r"[0-9a-f]{7,64}"
_BYTECODE = r"\.pyc\Z|(?:^|/)__pycache__/"
"""What kernels does not fetch."""
_SHORT = 12
"""Digits of a commit that stand for a branch where nothing else does."""


class Kernel(msgspec.Struct, frozen=True):
    """One branch of a kernel in the cache."""

    kind: str
    """``kernel`` or ``model``: the kind of repository that it was fetched from."""
    repository: str
    branch: str
    builds: dict[str, Metadata]
    """Name of a build -> what its metadata say."""
    named: bool = True
    """Whether ``refs`` names it: without the network nothing else is found by its version."""
    whole: bool = True
    """Whether nothing is missing of what the Hub listed when it was fetched, where somebody asks:
    huggingface_hub 1.22 and newer say without the network that the rest is not there either."""


def find_cache(environ: dict[str, str], kind: str = "kernel") -> Path | None:
    """Return the folder in which repositories of a kind lie; None where nobody knows a home.

    Releases of kernels that ask for models mind HF_KERNELS_CACHE first, the others not at all.
    """
    old = ("HF_KERNELS_CACHE",) if kind == "model" else ()
    for name in (*old, "KERNELS_CACHE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environ.get(name):
            return Path(_expanded(environ[name], environ))
    if environ.get("HF_HOME"):
        return Path(_expanded(environ["HF_HOME"], environ)) / "hub"
    home = environ.get("XDG_CACHE_HOME") or (
        environ["HOME"] + "/.cache" if environ.get("HOME") else ""
    )
    return Path(home) / "huggingface" / "hub" if home else None


def _expanded(path: str, environ: dict[str, str]) -> str:
    """Return a path with the home in the place of its tilde, as huggingface_hub reads it."""
    home = environ.get("HOME", "")
    return home + path[1:] if home and (path == "~" or path.startswith("~/")) else path


def read_cache(
    folder: Path, kinds: tuple[str, ...] = ("kernel", "model"), *, offline: bool = False
) -> tuple[Kernel, ...]:
    """Return the kernels of a cache, by name; none where the folder cannot be read.

    ``offline`` says that it matters whether they are whole.
    """
    found = sorted(_repositories(str(folder), kinds), key=_rank)[:REPOSITORY_LIMIT]
    left = _Left(METADATA_IN_ALL, offline=offline)
    return tuple(kernel for name in found for kernel, _ in _kernels(f"{folder}/{name}", left))


def locate_build(folder: Path, kind: str, name: str, build: str) -> Path | None:
    """Return the folder of a build of ``owner/name@branch``; None where it is not there."""
    repository, _, branch = name.rpartition("@")
    owner, _, rest = repository.partition("/")
    if not re.fullmatch(_REPOSITORY, f"{kind}s--{owner}--{rest}"):
        return None
    path = folder / f"{kind}s--{owner}--{rest}"
    for kernel, commit in _kernels(str(path), _Left(METADATA_IN_ALL, offline=False)):
        if kernel.branch == branch and build in kernel.builds:
            return path / "snapshots" / commit / "build" / build
    return None


class _Left:
    """How many files may still be opened, and for what."""

    def __init__(self, files: int, *, offline: bool) -> None:
        self.files = files
        self.offline = offline

    def whole(self, path: str, commit: str) -> bool:
        """Return whether a snapshot holds all that was listed, True where nobody asks."""
        return not self.offline or is_whole(path, commit)

    def metadata(self, path: str) -> Metadata:
        """Return what a file says; nothing once too many were opened."""
        self.files -= 1
        return read_metadata(path) if self.files >= 0 else Metadata()


def _repositories(folder: str, kinds: tuple[str, ...]) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, ENTRY_LIMIT):
                form = re.fullmatch(_REPOSITORY, entry.name)
                if form is None or form[1].removesuffix("s") not in kinds:
                    continue
                if form[1] == KERNELS or form[2] == _OF_OLD:
                    yield entry.name
    except OSError:
        return


def _rank(name: str) -> tuple[bool, str]:
    return f"--{_OF_OLD}--" not in name, name


def _kernels(path: str, left: _Left) -> Iterator[tuple[Kernel, str]]:
    """Yield the branches of a repository, each with the commit that it stands for."""
    form = re.fullmatch(_REPOSITORY, path.rpartition("/")[2])
    if form is None:
        return
    kind, repository = form[1].removesuffix("s"), f"{form[2]}/{form[3]}"
    branches = _branches(f"{path}/refs")
    for branch, commit in branches:
        builds = _builds(f"{path}/snapshots/{commit}/build", left)
        whole = left.whole(path, commit)
        yield Kernel(kind, repository, branch, builds, whole=whole), commit
    taken = {branch for branch, _ in branches}
    for commit in _newest(f"{path}/snapshots", {commit for _, commit in branches}):
        builds = _builds(f"{path}/snapshots/{commit}/build", left)
        branch = version_of(builds) or commit[:_SHORT]
        if builds and branch not in taken:
            taken.add(branch)
            yield Kernel(kind, repository, branch, builds, named=False), commit


def is_whole(path: str, commit: str) -> bool:
    """Return whether nothing is missing of what was listed; True where there is no list."""
    try:
        text = read_file(f"{path}/trees/{commit}.json", LISTING_LIMIT)
        listed = msgspec.json.decode(text or "")
    except (msgspec.DecodeError, RecursionError):
        return True
    files = listed.get("files") if isinstance(listed, dict) else None
    snapshot = f"{path}/snapshots/{commit}"
    return not isinstance(files, dict) or all(
        "\0" in name or os.path.lexists(f"{snapshot}/{name}")
        for name in islice(files, LISTED_LIMIT)
        if not re.search(_BYTECODE, name)
    )


def _branches(folder: str) -> list[tuple[str, str]]:
    return [
        (entry.name, commit)
        for entry in _entries(folder, BRANCH_LIMIT)
        if entry.is_file(follow_symlinks=False)
        and re.fullmatch(_COMMIT, commit := (read_file(entry.path, 100) or "").strip())
    ]


def _newest(folder: str, named: set[str]) -> list[str]:
    """Return the commits of snapshots without a name, those that were fetched last first."""
    dated = []
    for entry in _entries(folder, COMMIT_LIMIT):
        if entry.name not in named and re.fullmatch(_COMMIT, entry.name):
            try:
                dated.append((-entry.stat(follow_symlinks=False).st_mtime, entry.name))
            except OSError:
                continue
    return [name for _, name in sorted(dated)[:SNAPSHOT_LIMIT]]


def _builds(folder: str, left: _Left) -> dict[str, Metadata]:
    return {
        entry.name: left.metadata(f"{entry.path}/metadata.json")
        for entry in _entries(folder, BUILD_LIMIT)
        if _is_folder(entry)
    }


def read_builds_of(folder: Path, below: str) -> dict[str, Metadata]:
    """Return what lies in a folder like builds, or in one below it: name -> what metadata say."""
    return _builds(str(folder / below), _Left(BUILD_LIMIT, offline=False))


def version_of(builds: dict[str, Metadata]) -> str:
    """Return the branch that the metadata of builds name; "" where they do not, or not one."""
    found = {build.version for build in builds.values() if build.version is not None}
    return f"v{found.pop()}" if len(found) == 1 else ""


def _entries(folder: str, limit: int) -> list[os.DirEntry[str]]:
    """Return entries with names that a person could have chosen, sorted."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in islice(entries, limit) if entry.name.isprintable()]
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder; a link in a circle is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False
