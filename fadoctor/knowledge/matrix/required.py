"""What releases of packages require of the stack, by the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.rocm_labels import label_of
from fadoctor.knowledge.matrix.versions import is_in
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_text
from fadoctor.model.packages import (
    ALWAYS,
    PACKAGES,
    PARTLY,
    PARTLY_ALONG,
    PARTLY_EXTRAS,
    RELEASES,
    TORCH,
    TRITON,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix

CONDITIONS = "requirement-platforms"
_NO_TABLE = "the tables do not list its requirements"


def required(
    package: str,
    facts: Mapping[str, Fact],
    matrix: Matrix,
    holds: Callable[[str], bool | None],
    extras: Collection[str] = (),
) -> Fact:
    """Return what the tables say that a release requires, of the stack.

    `holds` says whether a marker holds on the machine, None where nobody knows; `extras`: those
    that were asked for.
    """
    version = facts[f"{package}.version"]
    if package == TORCH:
        return _of_torch(facts, matrix, holds)
    if package in ALWAYS:
        needs = ALWAYS[package]
        source = "required by every release" if needs else f"{package} requires none"
        return Known({**needs}, source)
    if package in PARTLY:
        found = _in_part(package, version, matrix, extras)
    elif package in RELEASES:
        found = _in_whole(package, version, matrix)
    else:
        return Unknown(_NO_TABLE, f"{package}.requires")
    return _here(package, version, found, facts.get("host.platform"), matrix)


def _here(package: str, version: Fact, found: Fact, platform: Fact | None, matrix: Matrix) -> Fact:
    """Return of what a release requires that which it requires on the platform."""
    if not isinstance(platform, Known) or not isinstance(version, Known):
        return found
    if not isinstance(found, Known) or not isinstance(found.value, dict):
        return found
    left_out = set(elsewhere(package, str(version.value), str(platform.value), matrix))
    kept = {name: text for name, text in found.value.items() if name not in left_out}
    return Known(kept, found.source)


def elsewhere(package: str, version: str, platform: str, matrix: Matrix) -> Iterator[str]:
    """Yield what a release of a package, or distribution, requires on other platforms alone."""
    names = {package, *PACKAGES.get(package, ())}
    for row in matrix.tables[CONDITIONS].rows:
        is_about = not names.isdisjoint(cell_words(row["package"]))
        if is_about and platform not in cell_words(row["platforms"]):
            yield from (
                cell_words(row["needs"]) if is_in(version, str(row["version"])) is True else ()
            )


def of_other_pythons(name: str, version: str, python: str, matrix: Matrix) -> Iterator[str]:
    """Yield what a release of a distribution requires on other Pythons alone.

    Of a Python that is not known, "", every one is another.
    """
    for row in matrix.tables[CONDITIONS].rows:
        pythons = row.get("pythons")
        if isinstance(pythons, str) and name in cell_words(row["package"]):
            is_meant = is_in(version, str(row["version"])) is True
            if is_meant and is_in(python, pythons) is not True:
                yield from cell_words(row["needs"])


def _in_whole(package: str, version: Fact, matrix: Matrix) -> Fact:
    """Return what a release requires; Unknown where a cell is."""
    table, columns = RELEASES[package]
    rows = matrix.find(table, {"version": version})
    if _is_true(rows.cell("undeclared")):
        return Unknown("its metadata declare no requirement", f"matrix {table}")
    found: dict[str, str] = {}
    for column, name in columns.items():
        match rows.cell(column):
            case Known(value=str(text)):
                found[name] = text
            case Unknown() as unknown:
                return unknown
            case _:
                pass
    return Known(found, f"matrix {table}")


def _is_true(cell: Fact) -> bool:
    return isinstance(cell, Known) and cell.value is True


def _in_part(package: str, version: Fact, matrix: Matrix, extras: Collection[str]) -> Fact:
    """Return what a release requires, as far as the tables say.

    Unknown where an extra requires it that nobody asked for.
    """
    table, columns = PARTLY[package]
    rows = matrix.find(table, {"version": version})
    cells = {name: rows.cell(column) for column, name in columns.items()}
    told = {name: str(cell.value) for name, cell in cells.items() if isinstance(cell, Known)}
    is_asked = not set(extras).isdisjoint(PARTLY_EXTRAS.get(package, ()))
    is_asked = is_asked or isinstance(rows.cell("in_extra"), Absent)
    if not told or not is_asked:
        return Unknown(_NO_TABLE, f"{package}.requires")
    return Known(told, f"matrix {table}")


def in_extras(package: str, version: Fact, matrix: Matrix) -> dict[str, str]:
    """Return what a release requires in its extras, of what somebody may name beside it, too."""
    if package not in PARTLY:
        return {}
    table, columns = PARTLY[package]
    rows = matrix.find(table, {"version": version})
    every = {**columns, **PARTLY_ALONG.get(package, {})}
    cells = {name: rows.cell(column) for column, name in every.items()}
    return {name: str(cell.value) for name, cell in cells.items() if isinstance(cell, Known)}


def _of_torch(
    facts: Mapping[str, Fact], matrix: Matrix, holds: Callable[[str], bool | None]
) -> Fact:
    """Return the triton that torch pins. A build for ROCm pins that release too, built for AMD."""
    build = facts.get("torch.build")
    if isinstance(build, Known) and build.value == "cpu":
        return Known({}, "a CPU build requires no triton")
    version = facts["torch.version"]
    kind = build.value if isinstance(build, Known) else "other"
    if kind == "rocm" and not label_of(fact_text(version, "")):
        kind = "other"  # AMD's own builds
    if kind == "other":
        return Unknown("no table says what this build requires", "torch.requires")
    platform = facts.get("host.platform", Unknown("the platform is not known", "host"))
    rows = matrix.find("torch-releases", {"version": version, "platform": platform})
    pin, marker = rows.cell(TRITON), rows.cell("triton_marker")
    meant = holds(str(marker.value)) if isinstance(marker, Known) else True
    if isinstance(pin, Unknown) or meant is None:
        return pin if isinstance(pin, Unknown) else Unknown("its condition is not known", TRITON)
    needs = {TRITON: str(pin.value)} if isinstance(pin, Known) and meant else {}
    return Known(needs, "matrix torch-releases")
