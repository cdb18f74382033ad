"""Parse the command line, print the diff and the report."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from packaging.version import InvalidVersion, Version

from fadoctor.knowledge.matrix.yaml_reader import read_yaml
from fadoctor.model.errors import RuleDataError
from tools.refresh import installable, stamp
from tools.refresh.compare import Report
from tools.refresh.document import Document
from tools.refresh.errors import RefreshError
from tools.refresh.index import Index
from tools.refresh.names.anew import REQUESTS, refreshed_names
from tools.refresh.names.tables import Tables
from tools.refresh.settings import read_settings, settings_for
from tools.refresh.sources import PACKAGES, SOURCES
from tools.refresh.spans import tables as spans_tables
from tools.refresh.transport import Transport
from tools.refresh.walk import Choice, pin_lines, refreshed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES = dict.fromkeys([*(source.table for source in SOURCES), installable.TABLE])
"""All tables that are derived."""

TABLES = Path(__file__).resolve().parents[2] / "rules" / "matrix"


def main(
    argv: Sequence[str] | None = None, out: TextIO | None = None, err: TextIO | None = None
) -> int:
    """Run; return 0, 1 for a contradiction, 2 for wrong usage, 3 where something was not read."""
    out, err = out or sys.stdout, err or sys.stderr
    options = _parser().parse_args(argv)
    report = Report()
    began = time.monotonic()
    try:
        choice = _choice(options)
        settings = settings_for(tuple(options.index_url)) if options.index_url else read_settings()
        spans = spans_tables.asked(options.table, every=options.all)
        transport = Transport(
            settings,
            options.cache,
            offline=options.offline,
            requests=REQUESTS if options.all or spans else 0,
        )
        index = Index(transport, settings.indexes)
        tables = _read_tables(options.tables)
        before = {name: document.text for name, document in tables.items()}
        found = refreshed(tables, index, choice, report)
        if options.pins:
            err.writelines(f"{_printable(line)}\n" for line in pin_lines(index, choice, report))
        after: dict[str, str] = {}
        if options.all:
            before |= Tables.of(options.tables).texts
            after = refreshed_names(before, index, transport, report)
            found |= _stamped(found, report)
        before |= spans_tables.texts_in(options.tables, spans)
        after |= spans_tables.refreshed_spans(before, index, report.unread, spans)
        after |= {name: document.text for name, document in found.items()}
        _check(before, after)
        out.write(_diff(before, after))
        if options.write:
            _write_tables(options.tables, before, after)
    except (RefreshError, RuleDataError, OSError) as error:
        err.write(f"refresh: {error}\n")
        return 2
    err.writelines(f"{line}\n" for line in _report_lines(report, transport, began))
    return 1 if report.contradictions else 3 if report.unread else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.refresh", description=__doc__)
    add = parser.add_argument
    add(
        "--table",
        action="append",
        default=[],
        choices=sorted({*_NAMES, *spans_tables.MAKERS}),
        help="one table; may be given several times",
    )
    add(
        "--all", action="store_true", help="every table, names too; uv is asked where it is at hand"
    )
    add("--package", default="", metavar="NAME[==VERSION]", help="one package, or one release")
    add("--newest", type=int, default=3, metavar="N", help="releases of each package (default 3)")
    add("--pins", action="store_true", help="list what the packages require of each other")
    add("--write", action="store_true", help="write the tables; the default prints a diff only")
    add("--overrule", action="store_true", help="let the packages win where they contradict")
    add("--offline", action="store_true", help="use the folder only, however old it is")
    add("--cache", type=Path, default=_cache_folder(), metavar="DIR", help="the folder")
    add("--index-url", action="append", metavar="URL", help="instead of what pip is configured for")
    add("--tables", type=Path, default=TABLES, metavar="DIR", help="where the tables are")
    return parser


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "fadoctor-refresh"


def _choice(options: argparse.Namespace) -> Choice:
    package, _, wanted = options.package.partition("==")
    if package and package not in PACKAGES:
        raise RefreshError(f"{package} is not one of {', '.join(PACKAGES)}")
    try:
        version = Version(wanted) if wanted else None
    except InvalidVersion as error:
        raise RefreshError(f"{wanted} is not a version") from error
    newest = max(1, options.newest)
    if options.all and (options.table or package):
        raise RefreshError("--all goes with neither --table nor --package")
    resolves = installable.uv_resolves if options.all and not options.offline else None
    tables = frozenset(options.table)
    return Choice(tables, package, version, newest, options.overrule, resolves)


def _read_tables(folder: Path) -> dict[str, Document]:
    paths = (folder / f"{name}.yaml" for name in (*_NAMES, stamp.TABLE))
    found = {path.stem: Document(path.read_text("utf-8")) for path in paths if path.is_file()}
    if not found:
        raise RefreshError(f"no tables in {folder}")
    return found


def _stamped(tables: Mapping[str, Document], report: Report) -> dict[str, Document]:
    """Return the table of days as it becomes, where the folder has it."""
    document = tables.get(stamp.TABLE)
    if document is None:
        return {}
    day = datetime.now(timezone.utc).date().isoformat()
    return {stamp.TABLE: stamp.stamped(document, day, report.unread)}


def _check(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise RuleDataError where a table would no longer be what fadoctor reads."""
    for name, text in after.items():
        if text != before[name]:
            read_yaml(text, f"{name}.yaml")


def _diff(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    lines: list[str] = []
    for name, text in after.items():
        path = f"rules/matrix/{name}.yaml"
        old, new = (each.splitlines(keepends=True) for each in (before[name], text))
        if old != new:
            lines += difflib.unified_diff(old, new, f"a/{path}", f"b/{path}")
    return "".join(lines)


def _write_tables(folder: Path, before: Mapping[str, str], after: Mapping[str, str]) -> None:
    for name, text in after.items():
        if text != before[name]:
            unfinished = folder / f".{name}.yaml.unfinished"
            unfinished.write_text(text, "utf-8")
            unfinished.replace(folder / f"{name}.yaml")


def _report_lines(report: Report, transport: Transport, began: float) -> list[str]:
    groups = (
        ("agrees", report.agreements),
        ("change", report.changes),
        ("note", report.notes),
        ("FOR A PERSON", report.persons),
        ("NOT READ", report.unread),
        ("CONTRADICTION", report.contradictions),
    )
    lines = [f"{word}: {line}" for word, found in groups for line in found]
    counts = ", ".join(f"{len(found)} x {word}" for word, found in groups)
    traffic = f"{transport.requests} requests, {transport.received >> 10} KiB"
    traffic += f", {time.monotonic() - began:.0f} s"
    return [_printable(line) for line in (*lines, f"{counts}; {traffic}")]


def _printable(line: str) -> str:
    """Return a line without what would steer a terminal: names of files come from outside."""
    return "".join(letter if letter.isprintable() else "?" for letter in line)
