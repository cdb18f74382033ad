"""The outside world as probes see it: handed in, so that a test hands in a recording."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from fadoctor.model.environment import Target
from fadoctor.model.fact import Absent, Fact, Known, Unknown, Value, printable
from fadoctor.model.files import read_file
from fadoctor.processes.command import Command, Result
from fadoctor.sources.probes.registry import Registry

TEXT_LIMIT = 1 << 20
"""Bytes of a text file that are read; metadata larger than that is not metadata."""


class World(msgspec.Struct, frozen=True):
    """Everything a probe may touch."""

    target: Target
    environ: Mapping[str, str]
    run: Callable[[Command], Result]
    os: str
    """linux, windows or macos."""
    root: Path = Path("/")
    """Where /proc, /sys, /dev, /etc and /usr are; a recorded tree in tests."""
    refused: Mapping[str, int] = {}
    """Files that may not be used -> the group that may, where that is recorded and not asked."""
    thorough: bool = False
    """Whether probes may take tenths of a second to read what matters in rare cases."""
    registry: Registry | None = None
    """That of Windows; None on other systems."""
    kept: dict[object, object] = {}
    """What probes have read that other probes read, too, by what it depends on."""

    def path(self, absolute: str) -> Path:
        """Return a system path below the root: ``/proc/version`` -> ``<root>/proc/version``."""
        return self.root / absolute.lstrip("/")

    def inside(self, path: str) -> str:
        """Return a path of a file as processes below the root see it."""
        root = str(self.root).rstrip("/")
        return path.removeprefix(root) if path.startswith(f"{root}/") else path

    def read(self, absolute: str, limit: int = TEXT_LIMIT) -> str | None:
        """Return the text of a system file, at most `limit` bytes of it, or None."""
        return read_text(self.path(absolute), limit)

    def may_use(self, absolute: str) -> bool:
        """Return whether this process may read and write a file of the system."""
        if absolute in self.refused:
            return False
        return os.access(self.path(absolute), os.R_OK | os.W_OK)

    def group_of(self, absolute: str) -> int | None:
        """Return the number of the group of a file of the system, None where there is no file."""
        if absolute in self.refused:
            return self.refused[absolute]
        try:
            return self.path(absolute).stat().st_gid
        except (OSError, ValueError):
            return None

    def name(self, path: str | Path) -> str:
        """Return a path below a named root: ``$site/torch/version.py``, ``~/x``, or as it is."""
        text = str(path)
        for root, marker in (("site", "$site"), ("prefix", "$prefix"), ("home", "~")):
            folder = self.target.roots.get(root, "").rstrip("/")
            if folder and (text == folder or text.startswith(folder + os.sep)):
                return marker + text[len(folder) :]
        return text


def read_text(path: Path, limit: int = TEXT_LIMIT) -> str | None:
    """Return the beginning of a regular file's text; None where it is none."""
    return read_file(path, limit)


def known(value: Value, source: str) -> Known:
    """Return a Known fact with text from outside made harmless."""
    return Known(_clean(value), printable(source))


def absent(source: str) -> Absent:
    """Return an Absent fact."""
    return Absent(printable(source))


def unknown(reason: str, source: str) -> Unknown:
    """Return an Unknown fact."""
    return Unknown(printable(reason), printable(source))


_TEXT = 2000
"""Longest text that a fact holds, in characters."""


def _clean(value: Value) -> Value:
    match value:
        case bool() | int():
            return value
        case str():
            return printable(value, _TEXT)
        case tuple():
            return tuple(printable(item) for item in value)
        case dict():
            return {printable(key): printable(item, _TEXT) for key, item in value.items()}


Facts = dict[str, Fact]
"""What a probe returns: fact name -> fact."""
