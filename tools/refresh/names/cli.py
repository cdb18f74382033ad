"""Parse the command line, read the releases, write the tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tools.refresh.cli import TABLES, _cache_folder
from tools.refresh.errors import RefreshError
from tools.refresh.index import Index
from tools.refresh.names.anew import REQUESTS, survey_of
from tools.refresh.names.asked import Asked
from tools.refresh.names.packages import PACKAGES
from tools.refresh.names.rows import MODULE
from tools.refresh.names.survey import Survey, remote
from tools.refresh.names.tables import (
    Tables,
    put_asked,
    put_bounds,
    put_classes,
    put_exports,
    put_given,
    put_missing,
    put_read,
)
from tools.refresh.settings import read_settings, settings_for
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run; return 0, 2 for wrong usage, 3 where something was not read."""
    options = _parser().parse_args(argv)
    try:
        settings = settings_for(tuple(options.index_url)) if options.index_url else read_settings()
        transport = Transport(settings, options.cache, offline=options.offline, requests=REQUESTS)
        tables = Tables.of(options.tables)
        unread = _made(tables, options, Index(transport, settings.indexes), transport)
        tables.write(options.tables)
    except (RefreshError, OSError) as error:
        sys.stderr.write(f"refresh: {error}\n")
        return 2
    sys.stderr.writelines(f"NOT READ: {line}\n" for line in unread)
    return 3 if unread else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.refresh.names", description=__doc__)
    add = parser.add_argument
    add("--offline", action="store_true", help="use the folder only, however old it is")
    add("--cache", type=Path, default=_cache_folder(), metavar="DIR", help="the folder")
    add("--index-url", action="append", metavar="URL", help="instead of what pip is configured for")
    add("--bounds-only", action="store_true", help="write only name-bounds, by the names at hand")
    add(
        "--package",
        action="append",
        default=[],
        metavar="NAME",
        help="of name-bounds or exports, only this",
    )
    add("--attributes-only", action="store_true", help="write only those of classes")
    add("--given-only", action="store_true", help="write only who has the names that are listed")
    add("--exports-only", action="store_true", help="add only names at the top of packages")
    add("--tables", type=Path, default=TABLES, metavar="DIR", help="where the tables are")
    return parser


def _made(
    tables: Tables, options: argparse.Namespace, index: Index, transport: Transport
) -> list[str]:
    """Make the tables that are asked for; return what was not read."""
    survey = Survey()
    if not (options.bounds_only or options.given_only or options.exports_only):
        put_classes(tables, survey, index, transport)
        put_read(tables, survey, "attributes")
    if options.attributes_only:
        return survey.unread
    if options.given_only:
        survey = _given_again(tables, index, transport)
        put_given(tables, survey)
        put_read(tables, survey, "last")
        return survey.unread
    if options.exports_only:
        survey = Survey()
        put_exports(tables, survey, index, transport, options.package)
        return survey.unread
    unread = survey.unread
    survey = Survey()
    if not options.bounds_only:
        survey = survey_of(index, transport)
        put_asked(tables, survey)
        put_given(tables, survey)
        put_read(tables, survey, "last", "asked")
    else:
        put_missing(tables, survey, index, transport, options.package)
    put_bounds(tables, survey, index, transport, options.package)
    return [*unread, *survey.unread]


def _given_again(tables: Tables, index: Index, transport: Transport) -> Survey:
    """Read in every release who has the names that names-given lists."""
    survey, listed = Survey(), tables.rows("names-given")
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
