"""Each derived table, asked by what could refute it: a share of its releases by the day.

The name of a release decides about its day, for all tables alike: its files are fetched once.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.tools.draw import ROUNDS, cache, is_drawn, seed
from tools.refresh.cli import TABLES, _read_tables
from tools.refresh.compare import Report
from tools.refresh.index import Index
from tools.refresh.settings import read_settings
from tools.refresh.sources import SOURCES
from tools.refresh.transport import Transport
from tools.refresh.walk import Choice, refreshed

if TYPE_CHECKING:
    from tools.refresh.document import Document

DERIVED = sorted({source.table for source in SOURCES})


def spoken_of(table: str, package: str) -> list[str]:
    """Return the version cells of a table about a package."""
    rows = yaml.safe_load((TABLES / f"{table}.yaml").read_text("utf-8"))["rows"]
    return [
        str(row["version"]) for row in rows if package in str(row.get("package", package)).split()
    ]


def is_spoken_of(cells: list[str], version: Version) -> bool:
    """Return whether a table names a release, or has a range around it."""
    for cell in cells:
        if any(letter in cell for letter in "<>=~"):
            if SpecifierSet(cell).contains(version, prereleases=True):
                return True
        elif str(version) in cell.split():
            return True
    return False


def test_a_version_is_found_in_names_and_in_ranges() -> None:
    assert is_spoken_of(["1.0 1.1", ">=2,<3"], Version("1.1"))
    assert is_spoken_of([">=2,<3"], Version("2.5"))
    assert not is_spoken_of(["1.0 1.1", ">=2,<3"], Version("3.0"))


@pytest.mark.parametrize("step", [1, 7])
def test_daily_and_weekly_runs_draw_each_release_once_in_a_round(step: int) -> None:
    days = [date(2026, 11, 26) + timedelta(step * number) for number in range(ROUNDS)]
    for what in (f"torch 2.{number}.0" for number in range(40)):
        assert sum(is_drawn(what, day.isoformat()) for day in days) == 1


def test_a_word_draws_a_share_too() -> None:
    assert 0 < sum(is_drawn(f"torch 2.{number}.0", "another") for number in range(200)) < 40


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    settings = read_settings()
    folder = cache(tmp_path_factory.mktemp("drawn"))
    return Index(Transport(settings, folder), settings.indexes)


@pytest.fixture(scope="module")
def tables() -> dict[str, Document]:
    return _read_tables(TABLES)


@pytest.mark.network
@pytest.mark.parametrize("table", DERIVED)
def test_drawn_releases_are_as_the_table_says(
    table: str, index: Index, tables: dict[str, Document]
) -> None:
    report = Report()
    for package in sorted({source.package for source in SOURCES if source.table == table}):
        cells = spoken_of(table, package)
        for version in index.releases(package):
            if is_spoken_of(cells, version) and is_drawn(f"{package} {version}", seed()):
                refreshed(tables, index, Choice(frozenset({table}), package, version), report)
    assert [*report.contradictions, *report.unread] == []
