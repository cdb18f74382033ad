"""Cells of the tables of names, drawn by the day, against the wheel of the release."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest
from packaging.version import Version

from tests.tools.draw import cache, seed
from tools.refresh.cli import TABLES, _cache_folder
from tools.refresh.index import Index
from tools.refresh.names.archive import open_sources
from tools.refresh.names.asked import Asked
from tools.refresh.names.attributes import Reader
from tools.refresh.names.given import Giver
from tools.refresh.names.packages import PACKAGES, argument_files, class_files
from tools.refresh.names.rows import MODULE
from tools.refresh.names.tables import rows_of
from tools.refresh.settings import read_settings
from tools.refresh.transport import Transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.refresh.index import Release

    Cell = dict[str, object]

WEEKLY = "weekly" in os.environ.get("FADOCTOR_TESTS_REQUIRE", "").split(",")
RELEASES, CELLS = 10 if WEEKLY else 4, 10
"""Releases that are drawn for each table, and cells of each of them: 200 in all once a week."""
ARGUMENTS = 20
REQUESTS = 1_500
DICE = random.Random(f"{seed()} names")  # noqa: S311 -- a draw


def is_there(row: Cell, version: Version) -> bool:
    """Return whether a row says that a release has its names."""
    spans = [(str(row.get("first", "0")), str(row.get("last", "99999")))]
    earlier = [
        each.partition(" to ") for each in str(row.get("earlier", "")).split(" and ") if each
    ]
    spans += [(low, high) for low, _, high in earlier]
    return "never" not in row and any(Version(a) <= version <= Version(b) for a, b in spans)


def test_a_row_is_read_as_it_is_meant() -> None:
    row: Cell = {"first": "2.0", "last": "2.5", "earlier": "1.0 to 1.1 and 1.4 to 1.4"}
    told = {text: is_there(row, Version(text)) for text in ("1.1", "1.2", "1.4", "2.5", "2.6")}
    assert told == {"1.1": True, "1.2": False, "1.4": True, "2.5": True, "2.6": False}
    assert not is_there({"never": True}, Version("1"))


@pytest.fixture(scope="module")
def index() -> Index:
    settings = read_settings()
    folder = cache(_cache_folder())
    return Index(Transport(settings, folder, requests=REQUESTS), settings.indexes)


def drawn(index: Index, table: str) -> Iterator[tuple[Release, list[tuple[Cell, str]]]]:
    """Yield releases that were read, each with rows about its package and one name of each."""
    read = {str(row["package"]): row for row in rows_of(TABLES / "names-read.yaml")}
    rows = rows_of(TABLES / f"{table}.yaml")
    rows = [row for row in rows if set(row) & {"first", "last"}]
    names = sorted({str(row["package"]) for row in rows})
    for package in DICE.choices(names, k=RELEASES):
        low, high = (Version(str(read[package][end])) for end in ("first", "last"))
        aside = str(read[package].get("unread", "")).split()
        versions = [
            version
            for version in index.releases(package)
            if low <= version <= high and not version.is_prerelease and str(version) not in aside
        ]
        own = [row for row in rows if row["package"] == package]
        cells = [(row, DICE.choice(str(row["name"]).split())) for row in DICE.choices(own, k=CELLS)]
        yield index.releases(package)[DICE.choice(versions)], cells


@pytest.mark.network
def test_names_that_releases_give(index: Index) -> None:
    told = []
    for release, cells in drawn(index, "names-given"):
        giver = Giver(open_sources(index._transport, release), {}, {})
        for row, name in cells:
            asked = Asked(str(row["module"]), "" if name == MODULE else name)
            if giver.has(asked) is not is_there(row, release.version):
                told.append(f"{release.package} {release.version} {asked}: {row}")
    assert told == []


@pytest.mark.network
def test_attributes_that_classes_have(index: Index) -> None:
    told = []
    assert set(class_files()) <= {each.distribution for each in PACKAGES}
    for release, cells in drawn(index, "names-attributes"):
        reader = Reader(class_files()[release.package])
        found = reader.classes(open_sources(index._transport, release))
        for row, name in cells:
            wanted = DICE.choice(str(row["class"]).split())
            own = [each for key, each in found.items() if f".{key}".endswith(f".{wanted}")]
            has = any(name in each.names for each in own)
            if has is not is_there(row, release.version):
                told.append(f"{release.package} {release.version} {wanted}.{name}: {row}")
    assert told == []


def lineages() -> dict[str, list[str]]:
    """Return the families of each class, the nearest first."""
    found: dict[str, list[str]] = {}
    for row in rows_of(TABLES / "names-bases.yaml"):
        for name in str(row["class"]).split():
            found.setdefault(name, []).extend(str(row["bases"]).split())
    return found


def cells_of(table: str) -> tuple[dict[tuple[str, str], Cell], dict[str, list[str]]]:
    """Return the row of each class and name, and the names of each class."""
    rows: dict[tuple[str, str], Cell] = {}
    names: dict[str, list[str]] = {}
    for row in rows_of(TABLES / f"{table}.yaml"):
        for owner in str(row["class"]).split():
            for name in str(row["name"]).split():
                rows[owner, name] = row
                names.setdefault(owner, []).append(name)
    return rows, names


@pytest.mark.network
def test_attributes_that_classes_have_by_their_families(index: Index) -> None:
    """What the nearest of a class and its families says, as fadoctor asks it."""
    told, families = [], lineages()
    rows, names = cells_of("names-attributes")
    for release, _ in drawn(index, "names-attributes"):
        reader = Reader(class_files()[release.package])
        found = reader.classes(open_sources(index._transport, release))
        simple = {key.rpartition(".")[2] for key in found} & families.keys()
        for owner in DICE.choices(sorted(simple), k=CELLS) if simple else ():
            lineage = [owner, *families[owner]]
            name = DICE.choice([name for each in lineage for name in names.get(each, [])] or [""])
            [row, *_] = [*(rows[each, name] for each in lineage if (each, name) in rows), {}]
            own = [each for key, each in found.items() if key.endswith(f".{owner}")]
            has = any(name in each.names for each in own)
            is_own = row.get("package") == release.package
            if is_own and has is not is_there(row, release.version):
                told.append(f"{release.package} {release.version} {owner}.{name}: {row}")
    assert told == []


@pytest.mark.network
def test_arguments_that_classes_take(index: Index) -> None:
    """What the nearest of a class and its families says, where it says it of that package."""
    told, families = [], lineages()
    rows, names = cells_of("names-arguments")
    foreign = {owner for (owner, _), row in rows.items() if row["package"] == "transformers"}
    for release, _ in drawn(index, "names-arguments"):
        reader, files = Reader(class_files()[release.package]), argument_files()[release.package]
        others = foreign if release.package != "transformers" else ()
        found = reader.arguments(open_sources(index._transport, release), files, others)
        taken = {key.rpartition(".")[2]: each for key, each in found.items()}
        taken = {key: each for key, each in taken.items() if key in names and not each.is_open}
        for owner in DICE.choices(sorted(taken), k=ARGUMENTS):
            lineage = [owner, *families.get(owner, [])]
            name = DICE.choice([name for each in lineage for name in names.get(each, [])])
            row = next(rows[each, name] for each in lineage if (each, name) in rows)
            own = [each for key, each in found.items() if key.endswith(f".{owner}")]
            has = any(name in each.names for each in own)
            if row["package"] == release.package and has is not is_there(row, release.version):
                told.append(f"{release.package} {release.version} {owner}({name}=): {row}")
    assert told == []
