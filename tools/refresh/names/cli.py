"""Parse the command line, read the releases, write the tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from packaging.version import Version

from tools.refresh.cli import TABLES, _cache_folder
from tools.refresh.errors import RefreshError
from tools.refresh.index import Index
from tools.refresh.names.asked import Asked
from tools.refresh.names.bounds import STARTS, given_of
from tools.refresh.names.packages import PACKAGES, Package, class_files
from tools.refresh.names.rows import MODULE, asked_rows, given_rows, unsteady
from tools.refresh.names.survey import Survey, remote
from tools.refresh.settings import read_settings, settings_for
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_ROWS = "rows:\n"
REQUESTS = 60_000
"""Of one run: some thousand releases, a few ranges of each."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run; return 0, 2 for wrong usage, 3 where something was not read."""
    options = _parser().parse_args(argv)
    try:
        settings = settings_for(tuple(options.index_url)) if options.index_url else read_settings()
        transport = Transport(settings, options.cache, offline=options.offline, requests=REQUESTS)
        index = Index(transport, settings.indexes)
        if not (options.bounds_only or options.given_only):
            classes = Survey()
            _write_classes(options.tables, classes, index, transport)
            _write_read(options.tables, classes, "attributes")
        if options.attributes_only:
            return 0
        if options.given_only:
            survey = _given_again(options.tables, index, transport)
            _write_given(options.tables, survey)
            _write_read(options.tables, survey, "last")
            return 3 if _told(survey) else 0
        survey = Survey() if options.bounds_only else _survey(index, transport)
        if not options.bounds_only:
            _write(options.tables, survey)
            _write_read(options.tables, survey, "last", "asked")
        given = given_of(rows_of(options.tables / "names-given.yaml"))
        bounds = (row for name in STARTS for row in survey.bounds(name, given, index, transport))
        _replace(options.tables / "name-bounds.yaml", bounds)
    except (RefreshError, OSError) as error:
        sys.stderr.write(f"refresh: {error}\n")
        return 2
    return 3 if _told(survey) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.names", description=__doc__)
    add = parser.add_argument
    add("--offline", action="store_true", help="use the folder only, however old it is")
    add("--cache", type=Path, default=_cache_folder(), metavar="DIR", help="the folder")
    add("--index-url", action="append", metavar="URL", help="instead of what pip is configured for")
    add("--bounds-only", action="store_true", help="write only name-bounds, by the names at hand")
    add("--attributes-only", action="store_true", help="write only those of classes")
    add("--given-only", action="store_true", help="write only who has the names that are listed")
    add("--tables", type=Path, default=TABLES, metavar="DIR", help="where the tables are")
    return parser


def _survey(index: Index, transport: Transport) -> Survey:
    survey = Survey()
    for package in PACKAGES:
        if package.asks:
            sys.stderr.write(f"what {package.distribution} asks\n")
            survey.add_asker(package, index, transport)
    for package in PACKAGES:
        if package.gives:
            sys.stderr.write(f"what {package.distribution} gives\n")
            survey.add_giver(package, survey.wanted(package), index, transport)
    return survey


def _given_again(folder: Path, index: Index, transport: Transport) -> Survey:
    """Read in every release who has the names that names-given lists."""
    survey, listed = Survey(), rows_of(folder / "names-given.yaml")
    for package in PACKAGES:
        wanted = {
            Asked(str(row["module"]), "" if name == MODULE else name)
            for row in listed
            if row["package"] == package.distribution
            for name in str(row["name"]).split()
        } | remote(package)
        if not (package.gives and wanted):
            survey.count(package, index)
            continue
        sys.stderr.write(f"what {package.distribution} gives\n")
        survey.add_giver(package, sorted(wanted), index, transport)
    return survey


def _told(survey: Survey) -> list[str]:
    """Say what was not read, and return it."""
    sys.stderr.writelines(f"NOT READ: {line}\n" for line in survey.unread)
    return survey.unread


def _write_classes(folder: Path, survey: Survey, index: Index, transport: Transport) -> None:
    """Write the tables of classes; others may inherit from those of the first package."""
    given: list[str] = []
    bases: list[str] = []
    first: frozenset[str] = frozenset()
    for name, files in class_files().items():
        sys.stderr.write(f"classes of {name}\n")
        history = survey.classes(name, files, first, index, transport)
        given += history.given_rows(name)
        bases += history.base_rows()
        first = first or history.names
    _replace(folder / "names-attributes.yaml", given)
    _replace(folder / "names-bases.yaml", bases)


def _write(folder: Path, survey: Survey) -> None:
    counted = {asked for seen in survey.gives.values() for asked in unsteady(seen)}
    asked = (
        row
        for name, seen in survey.asks.items()
        for row in asked_rows(name, seen, counted, survey.versions[name])
    )
    _replace(folder / "names-asked.yaml", asked)
    _write_given(folder, survey)


def _write_given(folder: Path, survey: Survey) -> None:
    given = (
        row
        for name, seen in survey.gives.items()
        for row in given_rows(name, seen, survey.versions[name])
    )
    _replace(folder / "names-given.yaml", given)


def _write_read(folder: Path, survey: Survey, *ends: str) -> None:
    """Write up to which release each package was read, for the tables that were written now."""
    path = folder / "names-read.yaml"
    known = {str(row["package"]): row for row in rows_of(path)}
    _replace(path, _read_rows(survey, known, ends))


def _read_rows(
    survey: Survey, known: Mapping[str, Mapping[str, object]], ends: Sequence[str]
) -> Iterator[str]:
    """Yield which releases were read of each package, and which of those between were not.

    `known` are the rows before. `ends` are the columns that change: what one table was read to is
    no claim about the others.
    """
    for each in PACKAGES:
        row = dict(known.get(each.distribution, {}))
        versions = survey.versions.get(each.distribution)
        if versions and (row or "last" in ends):
            row = _read_to(each, row, survey, ends)
        if row:
            cells = {"package": each.distribution, "module": each.module, **row}
            told = ", ".join(f"{key}: {cell}" for key, cell in cells.items())
            yield f"  - {{{told}}}\n"


def _read_to(
    package: Package, row: Mapping[str, object], survey: Survey, ends: Sequence[str]
) -> dict[str, object]:
    """Return the cells of one package; those of tables that were not read now stay."""
    versions = survey.versions[package.distribution]
    newest = str(max(versions))
    last = newest if "last" in ends else str(row["last"])
    known = [v for v in versions if v <= Version(last)]
    found: dict[str, object] = {"first": str(min(versions)), "last": last}
    has = {"asked": package.asks, "attributes": package.distribution in class_files()}
    for column in (name for name, is_read in has.items() if is_read):
        found[column] = newest if column in ends else row.get(column, row.get("last", last))
    withdrawn = survey.withdrawn[package.distribution]
    aside = [str(v) for v in withdrawn if min(versions) < v < Version(last)]
    if aside:
        found["unread"] = " ".join(aside)
    if len(known) > 1:
        found["releases"] = " ".join(map(str, known))
    return found


def rows_of(path: Path) -> list[dict[str, object]]:
    """Return the rows of a table as it lies there."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, list[dict[str, object]]] = yaml.load(path.read_text("utf-8"), loader)  # noqa: S506 -- a safe one
    return found["rows"]


def _replace(path: Path, rows: Iterable[str]) -> None:
    """Write rows behind the head of a table, which people wrote."""
    head, mark, _ = path.read_text("utf-8").partition(_ROWS)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(f"{head}{mark}{''.join(rows)}", "utf-8")
    unfinished.replace(path)
