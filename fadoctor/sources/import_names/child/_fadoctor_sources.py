"""Lowered sources, read from files or from a cache that is checked by size and time."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from fadoctor.sources.import_names.child._fadoctor_lazy import lazy_from_files, python_files
from fadoctor.sources.import_names.child._fadoctor_recorded import Recorded
from fadoctor.sources.import_names.child._fadoctor_shipped import Shipped, digest_of, listing_of
from fadoctor.sources.import_names.child._fadoctor_thin import VERSION

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_find import Finder

SIZE_LIMIT = 3 << 20
"""Bytes of a source that is read; the largest of the stack have 600 KB."""

ALL_LIMIT = 160 << 20
"""Bytes of all of them."""

CACHE_LIMIT = 48 << 20

_READ_OWN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

Seen = Tuple[int, int]
"""Size and time in nanoseconds."""


class Sources:
    """Reads sources; what it has read is kept for each distribution."""

    def __init__(
        self, folder: str, keys: Dict[str, str], records: Dict[str, str], shipped: Shipped
    ) -> None:
        self.folder = folder
        """Of the cache; empty where nothing is kept."""
        self.keys = keys
        """Distribution -> what names its cache."""
        self.records = records
        """Distribution -> path of its RECORD, which an installer writes last."""
        self.shipped = shipped
        self.seen: Dict[str, Seen] = {}
        """Every file that was followed."""
        self.parsed = 0
        self._kept: Dict[str, Dict[str, Any]] = {}
        self._records: Dict[str, Recorded] = {}
        self._new: "set[str]" = set()
        self._room = ALL_LIMIT

    def read(self, path: str, distribution: str) -> Optional[Dict[str, Any]]:
        """Return what a file does at import; None where it is no Python that can be read."""
        seen, changed = _look_closely(path)
        self.seen[path] = seen
        kept = self._of(distribution)["files"].get(path)
        if isinstance(kept, list) and len(kept) == 3 and tuple(kept[:2]) == seen:
            code: Optional[Dict[str, Any]] = kept[2]
            return code
        is_shipped = self.shipped.has(distribution)
        if is_shipped:
            digest = self._recorded(distribution).digest_of(path, seen[0], changed)
            code = self.shipped.find(distribution, digest) if digest else None
            if code is not None:
                return code
        text = self._text(path, seen)
        if text is None:
            return None
        if is_shipped:
            code = self.shipped.find(distribution, digest_of(text))
            if code is not None:
                return code
        code = self._lowered(text)
        self._of(distribution)["files"][path] = [*seen, code]
        self._new.add(distribution)
        return code

    def _recorded(self, distribution: str) -> Recorded:
        found = self._records.get(distribution)
        if found is None:
            found = Recorded(self.records.get(distribution, ""))
            self._records[distribution] = found
        return found

    def lazy(
        self, folder: str, prefix: str, distribution: str, finder: Finder
    ) -> Dict[str, List[str]]:
        """Return an import structure made from files; it is as old as their distribution."""
        seen = _look(folder)
        self.seen[folder] = seen
        kept = self._of(distribution)["lazy"].get(f"{prefix} {folder}")
        if isinstance(kept, list) and len(kept) == 3 and tuple(kept[:2]) == seen:
            known: Dict[str, List[str]] = kept[2]
            return known
        shipped = self._shipped_lazy(folder, prefix, distribution, finder)
        if shipped is not None:
            return shipped
        found = lazy_from_files(folder, prefix, finder)
        self._of(distribution)["lazy"][f"{prefix} {folder}"] = [*seen, found]
        self._new.add(distribution)
        return found

    def _shipped_lazy(
        self, folder: str, prefix: str, distribution: str, finder: Finder
    ) -> Optional[Dict[str, List[str]]]:
        """Return the import structure of a release whose files are those that were installed.

        They are not read: each has its size, and none was written after the RECORD.
        """
        if not self.shipped.is_exact(distribution):
            return None  # in another release a file of the same size may export other names
        _, installed_at = _look(self.records.get(distribution, ""))
        files = []
        for below, path in python_files(folder, "", finder):
            size, time = _look(path)
            if time > installed_at:
                return None
            files.append((below, size))
        known: Optional[Dict[str, List[str]]] = self.shipped.find(
            distribution, listing_of(prefix, files)
        )
        return known

    def peek(self, path: str, limit: int) -> bytes:
        """Return what a small file holds; nothing where it cannot be read."""
        seen = self.seen[path] = _look(path)
        return (self._text(path, seen) or b"") if seen[0] <= limit else b""

    def _text(self, path: str, seen: Seen) -> Optional[bytes]:
        if not 0 <= seen[0] <= min(SIZE_LIMIT, self._room):
            return None
        self._room -= seen[0]
        try:
            descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(descriptor, "rb", 0) as file:
                return file.read(seen[0] + 1)  # room for more would be made, and given back
        except (OSError, ValueError, MemoryError):
            return None

    def _lowered(self, text: bytes) -> Optional[Dict[str, Any]]:
        # Late: where all is known already, nothing is parsed.
        from fadoctor.sources.import_names.child._fadoctor_lower import lower

        self.parsed += 1
        try:
            return lower(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    def _of(self, distribution: str) -> Dict[str, Any]:
        found = self._kept.get(distribution)
        if found is None:
            found = self._kept[distribution] = self._load(distribution)
        return found

    def _file(self, distribution: str) -> str:
        key = self.keys.get(distribution, "")
        if not self.folder or not key:
            return ""
        return os.path.join(self.folder, f"{distribution}-{key}-{VERSION}.json")

    def _load(self, distribution: str) -> Dict[str, Any]:
        path = self._file(distribution)
        if path:
            try:
                with os.fdopen(os.open(path, _READ_OWN), "rb") as file:
                    found = json.loads(file.read(CACHE_LIMIT))
                if isinstance(found["files"], dict) and isinstance(found["lazy"], dict):
                    return dict(found)
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                pass
        return {"files": {}, "lazy": {}}

    def keep(self) -> None:
        """Write what is new; another process that writes the same at the same time does no harm."""
        for distribution in self._new:
            path = self._file(distribution)
            if path:
                with contextlib.suppress(OSError, ValueError, RecursionError):
                    _write(path, json.dumps(self._kept[distribution], separators=(",", ":")))


def _write(path: str, text: str) -> None:
    if len(text) > CACHE_LIMIT:
        return
    # Late: most runs write nothing.
    import tempfile

    descriptor, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".new-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _look(path: str) -> Seen:
    """Return size and time of a regular file or a folder; -1 for what is neither."""
    return _look_closely(path)[0]


def _look_closely(path: str) -> Tuple[Seen, int]:
    """Return the same, and when a file was last changed in any way; nobody sets that back."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return (-1, 0), 0
    changed = max(found.st_mtime_ns, found.st_ctime_ns)
    if stat.S_ISDIR(found.st_mode):
        return (0, found.st_mtime_ns), changed
    return (found.st_size if stat.S_ISREG(found.st_mode) else -1, found.st_mtime_ns), changed
