"""Each derived table, asked by what could refute it: releases drawn by the day, on the index."""

from __future__ import annotations

import io
import random
from typing import TYPE_CHECKING

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.tools.draw import cache, seed
from tools.refresh.cli import TABLES, main
from tools.refresh.index import Index
from tools.refresh.settings import read_settings
from tools.refresh.sources import SOURCES
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from pathlib import Path

DERIVED = sorted({source.table for source in SOURCES})
DRAWN = 2
"""Releases of each table and day."""


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


@pytest.mark.network
@pytest.mark.parametrize("table", DERIVED)
def test_drawn_releases_are_as_the_table_says(table: str, tmp_path: Path) -> None:
    dice = random.Random(f"{seed()} {table}")  # noqa: S311 -- a draw
    settings, folder = read_settings(), cache(tmp_path / "cache")
    index = Index(Transport(settings, folder), settings.indexes)
    packages = sorted({source.package for source in SOURCES if source.table == table})
    told: list[str] = []
    for package in dice.sample(packages, min(DRAWN, len(packages))):
        cells = spoken_of(table, package)
        known = [v for v in index.releases(package) if is_spoken_of(cells, v)]
        for version in dice.sample(known, min(DRAWN, len(known))):
            err = io.StringIO()
            options = ["--cache", str(folder), "--package", f"{package}=={version}"]
            main([*options, "--table", table], io.StringIO(), err)
            lines = err.getvalue().splitlines()
            told += [line for line in lines if line.startswith(("CONTRADICTION", "NOT READ"))]
    assert told == []
