"""What releases declare to require of others that lists pin beside them, by the tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import BY_NAMES, declared, import_bounds, narrowed
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.required import in_extras
from fadoctor.knowledge.matrix.requirement_parser import asked_for
from fadoctor.model.fact import Fact, Known, Unknown
from fadoctor.model.packages import FRAMEWORK_TABLE, PACKAGES
from fadoctor.repair.plan.choices.released import accepts
from fadoctor.sources.manifests.installed.contradicted import is_impossible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix

_DECLARED = "declared-requirements"
_TABLES = (_DECLARED, "helper-releases", FRAMEWORK_TABLE)
SOURCE = "matrix declared-requirements: what is not met"
_NAMES = {name for names in PACKAGES.values() for name in names}


_NAME = re.compile(r"[\w.-]+", re.ASCII)
# >=0.14.1,<0.15.0
_BEGIN, _END = re.compile(r">=(\d[\w.]{0,30})"), re.compile(r"<(\d[\w.]{0,30})")


def _name_of(requirement: str) -> str:
    """Return the name that a requirement of a table begins with: to parse each costs far more."""
    match = _NAME.match(requirement)
    return match[0] if match else ""


def _is_beyond(specifier: str, first: str, last: str) -> bool:
    """Return whether a range admits releases before the first or after the last of two others."""
    begin, end = _BEGIN.search(first), _END.search(last)
    if begin is None or end is None:
        return True
    return not all(is_impossible((specifier, e)) for e in (f"<{begin[1]}", f">={end[1]}"))


class Declared:
    """What tables say that releases declare; it keeps what it has looked up."""

    def __init__(
        self,
        matrix: Matrix,
        unasked: Iterable[str] = (),
        python: str = "",
        extras: Iterable[str] = (),
        locked: Mapping[str, str] | None = None,
    ) -> None:
        """Take the matrix, who requires the stack in extras that nobody asked for, and a Python.

        `extras`: packages whose extras somebody asked for. `locked`: what a lock holds together.
        """
        self._matrix, self._python, self._locked = matrix, python, locked or {}
        self._unasked = frozenset(unasked)
        self._in_extras = {PACKAGES[package][0]: package for package in extras}
        rows = [row for table in _TABLES for row in matrix.tables[table].rows]
        self._askers = {str(row["package"]) for row in rows}
        cells = (row.get(column) for row in rows for column in ("requires", "also"))
        by_names = matrix.tables[BY_NAMES].rows if BY_NAMES in matrix.tables else ()
        words = {word for cell in cells for word in str(cell or "").split()}
        self._named = self._askers | {_name_of(word) for word in words}
        self._named |= {str(row[end]) for row in by_names for end in ("package", "beside")}
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
            found = declared(name, version, self._matrix, self._python)
            self._known[asked] = self._of_extras(name, version) | found
        return self._known[asked]

    def of_range(self, name: str, specifier: str) -> dict[str, tuple[str, ...]]:
        """Return what each release in a range requires: name -> the ranges, of old ones first.

        Nothing of a range beyond what the table has, and of a package that not each one requires.
        """
        rows = [
            row
            for row in self._matrix.tables[_DECLARED].rows
            if row["package"] == name and not is_impossible((specifier, str(row["version"])))
        ]
        if not rows or _is_beyond(specifier, str(rows[0]["version"]), str(rows[-1]["version"])):
            return {}
        needs = [
            {
                each.name: each.specifier
                for text in cell_words(row["requires"])
                if (each := asked_for(text))
            }
            for row in rows
        ]
        return {
            other: tuple(dict.fromkeys(each[other] for each in needs))
            for other in needs[0]
            if all(each.get(other) for each in needs)
        }

    def _of_extras(self, name: str, version: str) -> dict[str, str]:
        """Return what a release requires in the extras that somebody asked for."""
        package = self._in_extras.get(name, "")
        return in_extras(package, Known(version, SOURCE), self._matrix)

    def broken(self, name: str, version: str, there: Mapping[str, str]) -> dict[str, str]:
        """Return what a release requires and what is there does not meet."""
        return {
            other: text
            for other, text in self.of(name, version).items()
            if other in there
            and not accepts(text, there[other])
            and not self.is_locked({name: version, other: there[other]})
        }

    def is_locked(self, pins: Mapping[str, str]) -> bool:
        """Return whether a lock holds some releases together: its tool was told to let them be."""
        return bool(self._locked) and all(self._locked.get(n) == v for n, v in pins.items())

    def askers(self, pinned: Mapping[str, str], there: Mapping[str, str]) -> dict[str, Fact]:
        """Return the facts of what is pinned, has none of its own, and misses what it requires."""
        found: dict[str, Fact] = {}
        count = 0
        for name in sorted(pinned.keys() - _NAMES):
            broken = self.broken(name, pinned[name], there)
            names = import_bounds(name, pinned[name], self._matrix).items()
            unfit = {o: text for o, text in names if o in there and not accepts(text, there[o])}
            if broken := narrowed(broken, unfit):
                facts: dict[str, Fact] = {
                    "distribution": Known(name, SOURCE),
                    "version": Known(pinned[name], SOURCE),
                    "installer": Unknown("pip, or another installer", SOURCE),
                    "requires": Known(broken, SOURCE),
                }
                found |= {f"requirer[{count}].{key}": fact for key, fact in facts.items()}
                count += 1
        return found | ({"requirer.count": Known(count, SOURCE)} if count else {})
