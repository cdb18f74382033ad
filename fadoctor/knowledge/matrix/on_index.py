"""The releases that an installer can take of a name that is left open, by the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.installable import uninstallable
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.ready_made_files import InstalledWhere, ReadyMadeFiles
from fadoctor.knowledge.matrix.versions import is_in, parse_specifier, parse_version, version_key
from fadoctor.model.packages import RELEASE_TABLES, RELEASES, package_of

if TYPE_CHECKING:
    from fadoctor.knowledge.matrix.query import Matrix, Row

_LISTED = "listed-releases"
"""The table of the packages of which another one has every release."""


def on_index(
    name: str, matrix: Matrix, specifier: str = "", python: str = "", platform: str = ""
) -> tuple[str, ...]:
    """Return the releases in a range that PyPI has, newest first; none where no table lists all.

    `python` as ``3.12`` and `platform` as ``linux_x86_64``; "" is not known, and bounds nothing.
    """
    table = matrix.tables.get(_table_of(name, matrix))
    allowed = parse_specifier(specifier) if specifier else None
    if table is None or (specifier and allowed is None):
        return ()
    files = ReadyMadeFiles.of(matrix).files_for(InstalledWhere(platform, python))
    refused = uninstallable(matrix, name)
    found = {
        version
        for row in table.rows
        if name in cell_words(row.get("package", name)) and _is_for(row, python)
        for version in cell_words(row["version"])
        if (parsed := parse_version(version)) is not None
        and not parsed.is_prerelease
        and (allowed is None or allowed.contains(parsed))
        and version not in refused
        and files.come(name, version) is not None
    }
    return tuple(sorted(found, key=version_key, reverse=True))


def _table_of(name: str, matrix: Matrix) -> str:
    if (own := RELEASE_TABLES.get(package_of(name), "")) and package_of(name) in RELEASES:
        return own
    rows = matrix.tables[_LISTED].rows if _LISTED in matrix.tables else ()
    found = (row.get("table") for row in rows if name in cell_words(row["package"]))
    return str(next(filter(None, found), ""))


def _is_for(row: Row, python: str) -> bool:
    """Return whether a row is about releases of the index that an installer takes for a Python."""
    if row.get("on_pypi") is False or row.get("yanked") is True or row.get("sparse") is True:
        return False
    cell = row.get("python")
    if not python or not isinstance(cell, str):
        return True
    if cell[:1].isdigit():  # those that have a wheel
        return python in cell.split()
    return is_in(python.rstrip("t"), cell) is not False
