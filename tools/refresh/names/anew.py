"""Read the names anew where a package has other releases than those that were read."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from tools.refresh.errors import FetchError
from tools.refresh.names.packages import EXPORTS, PACKAGES, Package, class_files
from tools.refresh.names.survey import Survey
from tools.refresh.names.tables import (
    NAMES,
    OF_CLASSES,
    OF_MODULES,
    READ,
    Tables,
    put_asked,
    put_bounds,
    put_classes,
    put_given,
    put_read,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tools.refresh.compare import Report
    from tools.refresh.index import Index
    from tools.refresh.transport import Transport

REQUESTS = 60_000
"""Of one run: some thousand releases, a few ranges of each."""


def refreshed_names(
    texts: Mapping[str, str], index: Index, transport: Transport, report: Report
) -> dict[str, str]:
    """Return the tables of names as they become.

    Where no package has another release than those of names-read, they stay. Else all are made from
    the sources, as from nothing: what did not change lies in the folder. Tables stay where
    something could not be fetched for them; a later run goes on from there.
    """
    tables = Tables(texts)
    if READ not in tables.texts:
        return tables.texts
    try:
        classes, modules = (list(_moved(tables, index, end)) for end in ("attributes", "last"))
        tables = _with_classes(tables, index, transport, report, classes)
        tables = _with_modules(tables, index, transport, report, modules)
    except FetchError as error:
        report.unread += [f"{name}: {error}" for name in NAMES]
    return tables.texts


def _with_classes(
    before: Tables, index: Index, transport: Transport, report: Report, moved: Sequence[str]
) -> Tables:
    """Return the tables with those of classes made anew, where a package has other releases."""
    if not moved:
        report.agreements += [f"{READ}: classes: releases"]
        return before
    tables, survey = Tables(before.texts), Survey()
    put_classes(tables, survey, index, transport)
    put_read(tables, survey, "attributes")
    return tables if _is_whole(survey, report, OF_CLASSES, moved) else before


def _with_modules(
    before: Tables, index: Index, transport: Transport, report: Report, moved: Sequence[str]
) -> Tables:
    """Return the tables with what modules have and ask made anew, where there are others."""
    if not moved:
        report.agreements += [f"{READ}: modules: releases"]
        return before
    tables, survey = Tables(before.texts), survey_of(index, transport)
    put_asked(tables, survey)
    put_given(tables, survey)
    put_read(tables, survey, "last", "asked")
    put_bounds(tables, survey, index, transport)
    return tables if _is_whole(survey, report, OF_MODULES, moved) else before


def survey_of(index: Index, transport: Transport) -> Survey:
    """Return what all releases ask and give."""
    survey = Survey()
    for package in PACKAGES:
        if package.asks:
            sys.stderr.write(f"what {package.distribution} asks\n")
            survey.add_asker(package, index, transport)
    survey.add_imports(index, transport)
    for package in PACKAGES:
        if package.distribution in EXPORTS:
            survey.add_exports(package, index, transport)
        if package.gives:
            sys.stderr.write(f"what {package.distribution} gives\n")
            survey.add_giver(package, survey.wanted(package), index, transport)
    return survey


def _is_whole(survey: Survey, report: Report, names: Sequence[str], moved: Sequence[str]) -> bool:
    """Report what was made; return False where something could not be fetched for it."""
    if survey.failed:
        report.unread += [f"{name}: {survey.failed[0]}" for name in names]
        return False
    report.notes += [f"{READ}: {line}" for line in survey.unread]
    report.changes += [f"{READ}: {each}" for each in moved]
    return True


def _moved(tables: Tables, index: Index, column: str) -> Iterator[str]:
    """Yield the packages with other releases than those that a column of names-read goes to."""
    known = {str(row["package"]): row for row in tables.rows(READ)}
    counts = Survey()
    for package in PACKAGES:
        if not _has(package, column):
            continue
        versions = [str(version) for version in counts.count(package, index)]
        row = known.get(package.distribution, {})
        listed = str(row.get("releases", row.get("last", ""))).split()
        new = [version for version in versions if version not in listed]
        gone = [version for version in listed if version not in versions]
        if new or gone or (versions and str(row.get(column)) != versions[-1]):
            told = [*(f"{v} is new" for v in new), *(f"{v} is gone" for v in gone)]
            what = "classes" if column == "attributes" else "modules"
            yield f"{package.distribution}: {what}, {', '.join(told) or 'read to its newest'}"


def _has(package: Package, column: str) -> bool:
    return column != "attributes" or package.distribution in class_files()
