"""What releases declare to require, by all tables that list it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.required import elsewhere, of_other_pythons
from fadoctor.knowledge.matrix.requirement_parser import asked_for
from fadoctor.knowledge.matrix.versions import version_key
from fadoctor.model.fact import Known
from fadoctor.model.packages import (
    COMPANIONS,
    FRAMEWORK_TABLE,
    HUGGINGFACE_HUB,
    PACKAGES,
    TRANSFORMERS,
    package_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.knowledge.matrix.requirement_parser import AskedFor

BY_NAMES = "name-bounds"
"""The table of the releases beside which one can be imported, by the names that it asks for."""
_DECLARED, _OWN = "declared-requirements", ("requires",)
RELEASE_REQUIRES = "release-requires"
"""The table of what every release of some packages requires, as their metadata say it."""
_TABLES = {
    RELEASE_REQUIRES: _OWN,
    _DECLARED: _OWN,
    "helper-releases": ("requires", "also"),
    FRAMEWORK_TABLE: ("requires",),
}
"""Table -> its columns of requirements; what a later one says of a package counts."""

_CHOSEN = COMPANIONS | {"compressed-tensors"}
_LOWEST = re.compile(r"[>=]=([\w.]{1,40})")
_IS_OPEN = re.compile(r">=[\w.]{1,40}")


def declared(name: str, version: str, matrix: Matrix, python: str = "") -> dict[str, str]:
    """Return what a release of a distribution requires: name -> specifier, without its extras.

    Without what it requires on other Pythons alone, where a Python is named.
    """
    known: dict[tuple[str, str, str], dict[str, str]] = matrix.read.setdefault(declared, {})
    asked = (name, version, python)
    if asked not in known:
        known[asked] = _declared_by(name, version, matrix, python)
    return {**known[asked]}


def _declared_by(name: str, version: str, matrix: Matrix, python: str) -> dict[str, str]:
    """Return what `declared` keeps."""
    keys = {"package": Known(name, "asked"), "version": Known(version, "asked")}
    found = {
        each.name: each.specifier
        for table, columns in _TABLES.items()
        for row in matrix.find(table, keys).rows
        for each in _requirements(row, columns)
    }
    for other in of_other_pythons(name, version, python, matrix) if python else ():
        found.pop(other, None)
    for other, text in _along(found, matrix, python):
        found[other] = f"{found[other]},{text}" if found.get(other) else text
    if name == TRANSFORMERS:
        needs = matrix.find("transformers-hub-library", {"version": keys["version"]}).cell("needs")
        found |= {HUGGINGFACE_HUB: str(needs.value)} if isinstance(needs, Known) else {}
    return found


def _along(asked: dict[str, str], matrix: Matrix, python: str) -> list[tuple[str, str]]:
    """Return what comes along with packages that no plan chooses: name and specifier.

    What they require on some Pythons alone counts where the Python is known.

    With a pinned one, and with each release since one that is asked for where a row without an end
    says so.
    """
    found = []
    for name, specifier in asked.items():
        lowest = _LOWEST.match(specifier)
        if lowest is None or package_of(name) in PACKAGES or name in _CHOSEN:
            continue
        keys = {"package": Known(name, "asked"), "version": Known(lowest[1], "asked")}
        elsewhere_alone = frozenset(of_other_pythons(name, lowest[1], python, matrix))
        for row in matrix.find(_DECLARED, keys).rows:
            if specifier == f"=={lowest[1]}" or _IS_OPEN.fullmatch(str(row["version"])):
                needs = _requirements(row, _OWN)
                found += [(e.name, e.specifier) for e in needs if e.name not in elsewhere_alone]
    return found


def on_platform(name: str, version: str, platform: str, matrix: Matrix) -> dict[str, str]:
    """Return of what a release declares to require that which it requires on a platform."""
    found = declared(name, version, matrix)
    left_out = set(elsewhere(name, version, platform, matrix)) if found and platform else ()
    return {other: text for other, text in found.items() if other not in left_out}


def import_bounds(name: str, version: str, matrix: Matrix) -> dict[str, str]:
    """Return beside which releases of others a release can be imported: name -> specifier.

    By the names that its import asks for; its metadata often do not say so.
    """
    keys = {
        "package": Known(name, "asked"),
        "version": Known(version.partition("+")[0], "asked"),
    }
    rows = matrix.find(BY_NAMES, keys).rows if BY_NAMES in matrix.tables else ()
    return {str(row["beside"]): str(row["fits"]) for row in rows}


def narrowed(needs: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Return requirements that hold both; of two lower bounds the higher one."""
    return {**needs, **{name: _both(needs.get(name, ""), text) for name, text in more.items()}}


def _both(one: str, other: str) -> str:
    clauses = dict.fromkeys(filter(None, (*one.split(","), *other.split(","))))
    lower = [each for each in clauses if each.startswith(">=")]
    highest = max(lower, key=lambda each: version_key(each[2:]), default="")
    return ",".join(each for each in clauses if each not in lower or each == highest)


def _requirements(row: Row, columns: tuple[str, ...]) -> Iterator[AskedFor]:
    for column in columns:
        if column == "requires" and row.get("in_extra") is True:
            continue
        for text in cell_words(row.get(column)):
            each = asked_for(text)
            if each is not None and not each.is_marked:
                yield each
