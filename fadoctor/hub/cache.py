"""The Hub's cache as it lies on disk: which kernels, which branches, which builds. Nothing is run.

A repository is a folder ``kernels--owner--name`` (kernels 0.14 and newer) or
``models--owner--name``; ``refs/BRANCH`` names a commit, ``snapshots/COMMIT/build/`` holds builds.
Thousands of models lie in the same cache and are not looked at.
"""

from __future__ import annotations

import os
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

ENTRY_LIMIT = 100_000
"""Entries of the cache that are looked at, by name alone."""
REPOSITORY_LIMIT = 64
BRANCH_LIMIT = 16
BUILD_LIMIT = 200
METADATA_LIMIT = 1 << 16
"""Bytes of a metadata.json; those of the Hub have a few hundred."""

_REPOSITORY = re.compile(r"(kernels|models)--([\w.-]{1,60}?)--([\w.-]{1,80})")
_OF_OLD = "kernels-community"
"""Owner of kernels that lie in folders of models, too; other models are none of our business."""
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_ARCH = re.compile(r"[\w.+]{1,16}")


class Kernel(msgspec.Struct, frozen=True):
    """One branch of a kernel in the cache."""

    kind: str
    """``kernel`` or ``model``: the kind of repository that it was fetched from."""
    repository: str
    branch: str
    builds: dict[str, tuple[str, ...]]
    """Name of a build -> architectures that its metadata name; () where they name none."""


def find_cache(environ: dict[str, str]) -> Path | None:
    """Return the folder that kernels looks into; None where nobody knows a home."""
    for name, below in (("KERNELS_CACHE", ""), ("HF_KERNELS_CACHE", ""), ("HF_HUB_CACHE", "")):
        if environ.get(name):
            return Path(environ[name]) / below
    if environ.get("HF_HOME"):
        return Path(environ["HF_HOME"]) / "hub"
    home = environ.get("XDG_CACHE_HOME") or (
        environ["HOME"] + "/.cache" if environ.get("HOME") else ""
    )
    return Path(home) / "huggingface" / "hub" if home else None


def read_cache(folder: Path) -> tuple[Kernel, ...]:
    """Return the kernels of a cache, by name; none where the folder cannot be read."""
    found = islice(_repositories(folder), REPOSITORY_LIMIT)
    return tuple(kernel for path in sorted(found) for kernel in _kernels(path))


def _repositories(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, ENTRY_LIMIT):
                form = _REPOSITORY.fullmatch(entry.name)
                if form is not None and (form[1] == "kernels" or form[2] == _OF_OLD):
                    yield Path(entry.path)
    except OSError:
        return


def _kernels(path: Path) -> Iterator[Kernel]:
    form = _REPOSITORY.fullmatch(path.name)
    if form is None:
        return
    for branch, commit in _branches(path / "refs"):
        builds = dict(_builds(path / "snapshots" / commit / "build"))
        yield Kernel(form[1].removesuffix("s"), f"{form[2]}/{form[3]}", branch, builds)


def _branches(folder: Path) -> Iterator[tuple[str, str]]:
    for entry in _entries(folder, BRANCH_LIMIT):
        commit = _text(Path(entry.path), 100).strip()
        if entry.is_file(follow_symlinks=False) and _COMMIT.fullmatch(commit):
            yield entry.name, commit


def _builds(folder: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    for entry in _entries(folder, BUILD_LIMIT):
        if entry.is_dir():
            yield entry.name, _archs(Path(entry.path) / "metadata.json")


def _archs(metadata: Path) -> tuple[str, ...]:
    """Return the architectures that a build's metadata name; () where they do not tell."""
    try:
        document = msgspec.json.decode(_text(metadata, METADATA_LIMIT))
    except (msgspec.DecodeError, RecursionError):
        return ()
    backend = document.get("backend") if isinstance(document, dict) else None
    archs = backend.get("archs") if isinstance(backend, dict) else None
    if not isinstance(archs, list):
        return ()
    return tuple(each for each in archs[:64] if isinstance(each, str) and _ARCH.fullmatch(each))


def _entries(folder: Path, limit: int) -> list[os.DirEntry[str]]:
    """Return entries with names that a person could have chosen, sorted."""
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in islice(entries, limit) if entry.name.isprintable()]
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)


def _text(path: Path, limit: int) -> str:
    """Return the beginning of a regular file; "" where it is none."""
    try:
        if not path.is_file():
            return ""
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            return file.read(limit).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return ""
