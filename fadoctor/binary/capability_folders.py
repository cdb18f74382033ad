"""Folders for some processors only, which the loader looks into before the folder they are in.

glibc, ``elf/dl-hwcaps.c``: ``glibc-hwcaps/x86-64-v3`` and the like, which replaced the older
``tls/haswell/avx512_1/x86_64`` and all its parts. Which of the two a loader knows stands in its own
text, so no table of releases is needed.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from fadoctor.binary.ld_cache import Cached
    from fadoctor.binary.processor import Processor

NAMED = "glibc-hwcaps"
LOADER_LIMIT = 1 << 20
_KNOWS_NAMED = b"--glibc-hwcaps-mask"
_KNOWS_OLD = b"Legacy HWCAP subdirectories"
_TLS = "tls"


class CapabilityFolders(msgspec.Struct, frozen=True):
    """What one loader on one processor looks into, the first one first."""

    named: tuple[str, ...] = ()
    """``x86-64-v3``"""
    old: tuple[str, ...] = ()
    """Relative paths: ``tls/haswell``"""

    def below(self, folder: str, is_folder: Callable[[str], bool]) -> list[str]:
        """Return those that are there below a folder."""
        found = []
        if self.named and is_folder(f"{folder}/{NAMED}"):
            found += [f"{folder}/{NAMED}/{name}" for name in self.named]
        if self.old:
            heads = {path.partition("/")[0] for path in self.old}
            there = {head for head in heads if is_folder(f"{folder}/{head}")}
            found += [f"{folder}/{p}" for p in self.old if p.partition("/")[0] in there]
        return [path for path in found if is_folder(path)]

    def choose(self, entries: tuple[Cached, ...], level: int) -> str:
        """Return the path that the loader takes of those that its cache has for one name."""
        for name in self.named:
            for entry in entries:
                if entry.named == name and entry.level <= level:
                    return entry.path
        plain = (e for e in entries if not e.named and (not e.old or self._is_old(e.path)))
        return next((entry.path for entry in plain), "")

    def _is_old(self, path: str) -> bool:
        folder = path.rpartition("/")[0]
        return any(folder.endswith(f"/{old}") for old in self.old)


def capability_folders(processor: Processor, loader: bytes) -> CapabilityFolders:
    """Return what a loader looks into, by its own text."""
    has_named = _KNOWS_NAMED in loader
    named = tuple(f"x86-64-v{n}" for n in range(processor.level, 1, -1)) if has_named else ()
    if has_named and _KNOWS_OLD not in loader:
        return CapabilityFolders(named)
    words = (_TLS, processor.platform, *processor.capabilities)
    choices = itertools.product((True, False), repeat=len(words))
    paths = ("/".join(itertools.compress(words, choice)) for choice in choices)
    return CapabilityFolders(named, tuple(dict.fromkeys(path for path in paths if path)))
