"""YAML files of the tests, read once in a process, by the reader in C where there is one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from pathlib import Path

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def read_plain(path: Path) -> Any:
    """Return what a file holds, which nobody changes; each worker reads them before any test."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 -- safe too
