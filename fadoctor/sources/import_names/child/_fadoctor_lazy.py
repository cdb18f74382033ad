"""The import structure that transformers makes from the ``__all__`` of the files of a folder."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Dict, Iterator, List, Tuple

if TYPE_CHECKING:
    from fadoctor.sources.import_names.child._fadoctor_find import Finder

FILE_LIMIT = 8_000
_SIZE_LIMIT = 4 << 20
_ALL = re.compile(rb"__all__\s*(?:\+?=|:[^=\n]{0,40}=)\s*[\[(]([^\])]{0,40000})")
_NAME = re.compile(rb"[\"'](\w{1,120})[\"']")
_DEFINED = re.compile(rb"^(?:class|def)\s+(\w{1,120})", re.MULTILINE)


def lazy_from_files(folder: str, prefix: str, finder: Finder) -> Dict[str, List[str]]:
    """Return module below the package -> names that it exports."""
    return {below: _exported(path) for below, path in python_files(folder, prefix, finder)}


def python_files(folder: str, prefix: str, finder: Finder) -> Iterator[Tuple[str, str]]:
    """Yield the modules below a folder that may export names, and their files."""
    stack = [(folder, prefix)]
    count = 0
    while stack:
        here, name = stack.pop()
        for entry in sorted(finder.names(here)):
            path = f"{here}{os.sep}{entry}"
            below = f"{name}.{entry}" if name else entry
            if entry.endswith(".py"):
                if entry != "__init__.py" and not entry.startswith(("convert_", "modular_")):
                    yield below[:-3], path
                    count += 1
            elif entry != "__pycache__" and "." not in entry and _is_folder(path):
                stack.append((path, below))
            if count >= FILE_LIMIT:
                return


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _exported(path: str) -> List[str]:
    try:
        with open(path, "rb") as file:
            text = file.read(_SIZE_LIMIT)
    except (OSError, ValueError):
        return []
    found: List[bytes] = []
    text = b"\n" + text
    at = text.find(b"\n__all__")
    while at >= 0:
        block = _ALL.match(text, at + 1)
        found += _NAME.findall(block[1]) if block else []
        at = text.find(b"\n__all__", at + 1)
    if b"@requires" in text or b"@export" in text:
        found += _DEFINED.findall(text)
    return [name.decode("ascii", "replace") for name in found]
