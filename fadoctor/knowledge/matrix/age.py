"""How far the tables reach: the newest release of each package that they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.versions import parse_version
from fadoctor.model.fact import Known
from fadoctor.model.packages import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fadoctor.model.environment import Environment
    from fadoctor.model.rule import Knowledge, Table

_SUFFIX = "-releases"


def newest_of(tables: Mapping[str, Table]) -> dict[str, str]:
    """Return package -> newest version, of every table that lists the releases of one."""
    found = {}
    for name, table in tables.items():
        package = name.removesuffix(_SUFFIX).replace("-", "_")
        if (
            name.endswith(_SUFFIX)
            and package in PACKAGES
            and table.keys.get("version") == "release"
        ):
            texts = " ".join(str(row.get("version", "")) for row in table.rows).split()
            known = [(version, text) for text in texts if (version := parse_version(text))]
            if known:
                found[package] = max(known)[1]
    return found


def newer_than_tables(environment: Environment, knowledge: Knowledge) -> str:
    """Return a sentence about what is newer than anything that the tables list; mostly none."""
    names = []
    for package, newest in knowledge.newest.items():
        fact = environment.facts.get(f"{package}.version")
        if isinstance(fact, Known) and fact.value != newest and _is_newer(str(fact.value), newest):
            names.append(f"{PACKAGES[package][0]} {fact.value}")
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return f"{_listed(names)} {verb} newer than these tables of {knowledge.version}"


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _is_newer(text: str, newest: str) -> bool:
    """Return whether a version is newer; a build of the same release (``+cu130``) is not."""
    version, known = parse_version(text.partition("+")[0]), parse_version(newest.partition("+")[0])
    return version is not None and known is not None and version > known
