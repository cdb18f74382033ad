"""Write when each derived table was last held against the index, and how: ``refreshed``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.refresh.installable import TABLE as NOT_INSTALLABLE
from tools.refresh.names.packages import PACKAGES
from tools.refresh.names.tables import NAMES
from tools.refresh.sources import SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.refresh.document import Document

TABLE = "refreshed"
_HOW = {NOT_INSTALLABLE: "requirements of the newest releases, looked up in the index"}
_HOW |= dict.fromkeys(NAMES, f"sources of the releases of {len(PACKAGES)} packages")


def stamped(document: Document, day: str, unread: Iterable[str]) -> Document:
    """Return the table of days; a table of which something was not read keeps its older day."""
    kept = {str(row.cells["table"]): str(row.cells["day"]) for row in document.rows}
    failed = {line.partition(":")[0] for line in unread}
    packages: dict[str, list[str]] = {}
    for source in SOURCES:
        packages.setdefault(source.table, []).append(source.package)
    rows = [
        {
            "table": table,
            "day": kept.get(table, "never") if table in failed else day,
            "how": _HOW.get(table) or f"files and metadata of {_listed(packages[table])}",
        }
        for table in sorted({*packages, *_HOW})
    ]
    return document.with_all_rows(rows)


def _listed(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    return ", ".join(unique) if len(unique) <= 3 else f"{len(unique)} packages"
