"""The tables of names as texts: people write their heads, and a survey all of their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml
from packaging.version import Version

from tools.refresh.names.arguments import is_told
from tools.refresh.names.bounds import STARTS, given_of
from tools.refresh.names.packages import EXPORTS, PACKAGES, Package, argument_files, class_files
from tools.refresh.names.rows import MODULE, asked_rows, given_rows, unsteady
from tools.refresh.names.told import NO_OTHERS, Others

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tools.refresh.index import Index
    from tools.refresh.names.survey import Survey
    from tools.refresh.transport import Transport

READ = "names-read"
OF_CLASSES = ("names-attributes", "names-bases", "names-arguments")
OF_MODULES = ("names-given", "names-asked", "name-bounds")
NAMES = (*OF_CLASSES, *OF_MODULES, READ)
"""All that are written here."""
_ROWS = "rows:\n"


class Tables:
    """Texts by the names of the tables; nothing is written before all of it is made."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    @classmethod
    def of(cls, folder: Path) -> Tables:
        """Read those of a folder."""
        paths = (folder / f"{name}.yaml" for name in NAMES)
        return cls({path.stem: path.read_text("utf-8") for path in paths if path.is_file()})

    def rows(self, name: str) -> list[dict[str, object]]:
        """Return the rows of a table."""
        return _rows(self.texts[name])

    def replace(self, name: str, rows: Iterable[str]) -> None:
        """Put rows behind the head of a table."""
        head, mark, _ = self.texts[name].partition(_ROWS)
        self.texts[name] = f"{head}{mark}{''.join(rows)}"

    def write(self, folder: Path) -> None:
        """Write what differs from what lies there."""
        for name, text in self.texts.items():
            path = folder / f"{name}.yaml"
            if path.read_text("utf-8") != text:
                unfinished = path.with_name(f".{path.name}.unfinished")
                unfinished.write_text(text, "utf-8")
                unfinished.replace(path)


def rows_of(path: Path) -> list[dict[str, object]]:
    """Return the rows of a table as it lies there."""
    return _rows(path.read_text("utf-8"))


def _rows(text: str) -> list[dict[str, object]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, list[dict[str, object]]] = yaml.load(text, loader)  # noqa: S506 -- a safe one
    return found["rows"] or []


def put_classes(tables: Tables, survey: Survey, index: Index, transport: Transport) -> list[str]:
    """Put the tables of classes; return the packages. Others may inherit from the first one's."""
    given: list[str] = []
    bases: list[str] = []
    first: Others | None = None
    names = class_files()
    for name, files in names.items():
        history = survey.classes(name, files, first or NO_OTHERS, index, transport)
        given += history.given_rows(name)
        bases += history.base_rows()
        first = first or history.others()
    tables.replace("names-attributes", given)
    tables.replace("names-bases", bases)
    put_arguments(tables, survey)
    return list(names)


def put_arguments(tables: Tables, survey: Survey) -> None:
    """Put which arguments classes take. Messages name a class without its module."""
    lineage = {
        name: str(row["bases"]).split()
        for row in tables.rows("names-bases")
        for name in str(row["class"]).split()
    }
    taken: list[str] = []
    first: Others | None = None
    for name in argument_files():
        history = survey.arguments(name, first or NO_OTHERS, lineage)
        taken += history.given_rows(name, is_told)
        first = first or history.others()
    tables.replace("names-arguments", taken)


def put_asked(tables: Tables, survey: Survey) -> None:
    """Put what packages ask of each other."""
    counted = {asked for seen in survey.gives.values() for asked in unsteady(seen)}
    rows = (
        row
        for name, seen in survey.asks.items()
        for row in asked_rows(name, seen, counted, survey.versions[name])
    )
    tables.replace("names-asked", rows)


def put_given(tables: Tables, survey: Survey) -> None:
    """Put what packages have of what is asked."""
    rows = (
        row
        for name, seen in survey.gives.items()
        for row in given_rows(name, seen, survey.versions[name])
    )
    tables.replace("names-given", rows)


def put_bounds(
    tables: Tables,
    survey: Survey,
    index: Index,
    transport: Transport,
    only: Collection[str] = (),
) -> None:
    """Put which releases go together, by the names at hand; of some packages, or of all."""
    given = given_of(tables.rows("names-given"))
    before = tables.texts["name-bounds"].partition(_ROWS)[2].splitlines(keepends=True)
    rows: list[str] = []
    for name in STARTS:
        if only and name not in only:
            rows += (row for row in before if f"package: {name}," in row)
        else:
            rows += survey.bounds(name, given, index, transport)
    tables.replace("name-bounds", rows)


def put_missing(
    tables: Tables,
    survey: Survey,
    index: Index,
    transport: Transport,
    only: Collection[str] = (),
) -> None:
    """Put, behind the names at hand, those that imports ask for and that nothing was read of."""
    listed = _listed(tables)
    survey.add_imports(index, transport, only)
    for package in PACKAGES:
        own = (each for each in survey.loads if each.module.split(".")[0] == package.module)
        wanted = sorted(each for each in own if (each.module, each.name or MODULE) not in listed)
        if package.gives and wanted:
            survey.add_giver(package, wanted, index, transport)
    _put_behind(tables, survey)
    _put_newly_read(tables, survey)


def put_exports(
    tables: Tables,
    survey: Survey,
    index: Index,
    transport: Transport,
    only: Collection[str] = (),
) -> None:
    """Put, behind the names at hand, those at the top of packages that came or went."""
    listed = _listed(tables)
    for package in PACKAGES:
        if package.distribution not in (only or EXPORTS):
            continue
        survey.add_exports(package, index, transport)
        own = survey.exports[package.distribution]
        wanted = sorted(each for each in own if tuple(each) not in listed)
        survey.add_giver(package, wanted, index, transport)
    _put_behind(tables, survey)


def _listed(tables: Tables) -> set[tuple[str, str]]:
    """Return the modules and names of which names-given has a row."""
    return {
        (str(row["module"]), name)
        for row in tables.rows("names-given")
        for name in str(row["name"]).split()
    }


def _put_behind(tables: Tables, survey: Survey) -> None:
    """Put what packages give behind the rows of names-given."""
    head, mark, rows = tables.texts["names-given"].partition(_ROWS)
    new = (
        row
        for name, seen in survey.gives.items()
        for row in given_rows(name, seen, survey.versions[name])
    )
    tables.texts["names-given"] = f"{head}{mark}{rows}{''.join(new)}"


def _put_newly_read(tables: Tables, survey: Survey) -> None:
    """Put the releases of packages that were read for the first time."""
    known = {str(row["package"]) for row in tables.rows(READ)}
    new = [e for e in PACKAGES if e.distribution in survey.gives.keys() - known]
    head, mark, rows = tables.texts[READ].partition(_ROWS)
    for package in new:
        cells = _read_to(package, {}, survey, ("last",))
        told = {"package": package.distribution, "module": package.module, **cells}
        rows += f"  - {{{', '.join(f'{key}: {cell}' for key, cell in told.items())}}}\n"
    tables.texts[READ] = f"{head}{mark}{rows}"


def put_read(tables: Tables, survey: Survey, *ends: str) -> None:
    """Put up to which release each package was read, for the tables that were made now."""
    known = {str(row["package"]): row for row in tables.rows(READ)}
    tables.replace(READ, read_rows(survey, known, ends))


def read_rows(
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
