"""What releases declare to require of others that lists pin beside them, by the tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.model.packages import FRAMEWORK_TABLE, PACKAGES
from fadoctor.repair.plan.released import accepts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix

_TABLES = ("declared-requirements", "helper-releases", FRAMEWORK_TABLE)
SOURCE = "matrix declared-requirements: what is not met"
_NAMES = {name for names in PACKAGES.values() for name in names}


_NAME = re.compile(r"[\w.-]+", re.ASCII)


def _name_of(requirement: str) -> str:
    """Return the name that a requirement of a table begins with: to parse each costs far more."""
    match = _NAME.match(requirement)
    return match[0] if match else ""


class Declared:
    """What tables say that releases declare; it keeps what it has looked up."""

    def __init__(self, matrix: Matrix, unasked: Iterable[str] = (), python: str = "") -> None:
        """Take the matrix, who requires the stack in extras that nobody asked for, and a Python."""
        self._matrix, self._python = matrix, python
        self._unasked = frozenset(unasked)
        rows = [row for table in _TABLES for row in matrix.tables[table].rows]
        self._askers = {str(row["package"]) for row in rows}
        cells = (row.get(column) for row in rows for column in ("requires", "also"))
        words = {word for cell in cells for word in str(cell or "").split()}
        self._named = self._askers | {_name_of(word) for word in words}
        self._known: dict[tuple[str, str], dict[str, str]] = {}

    def told_of(self, pinned: Mapping[str, str]) -> dict[str, str]:
        """Return the pins of which the table says anything: a lock has thousands of others."""
        return {name: version for name, version in pinned.items() if name in self._named}

    def of(self, name: str, version: str) -> dict[str, str]:
        """Return what a release of a distribution requires: name -> specifier."""
        if name not in self._askers or name in self._unasked:
            return {}
        asked = (name, version)
        if asked not in self._known:
            self._known[asked] = declared(name, version, self._matrix, self._python)
        return self._known[asked]

    def broken(self, name: str, version: str, there: Mapping[str, str]) -> dict[str, str]:
        """Return what a release requires and what is there does not meet."""
        return {
            other: text
            for other, text in self.of(name, version).items()
            if other in there and not accepts(text, there[other])
        }

    def askers(self, pinned: Mapping[str, str], there: Mapping[str, str]) -> dict[str, Fact]:
        """Return the facts of what is pinned, has none of its own, and misses what it requires."""
        found: dict[str, Fact] = {}
        count = 0
        for name in sorted(pinned.keys() - _NAMES):
            if broken := self.broken(name, pinned[name], there):
                facts: dict[str, Fact] = {
                    "distribution": Known(name, SOURCE),
                    "version": Known(pinned[name], SOURCE),
                    "installer": Unknown("pip, or another installer", SOURCE),
                    "requires": Known(broken, SOURCE),
                }
                found |= {f"requirer[{count}].{key}": fact for key, fact in facts.items()}
                count += 1
        return found | ({"requirer.count": Known(count, SOURCE)} if count else {})
