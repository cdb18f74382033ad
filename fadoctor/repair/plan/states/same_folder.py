"""Distributions that are one package under two names: of both, the second writes over the first.

Whoever removes the first one later takes files of the second along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.model.fact import fact_mapping
from fadoctor.sources.targets.unmet_requirements import NAMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.model.fact import Fact
    from fadoctor.repair.plan.choices.choice import Choice


class SameFolder:
    """Which distributions write into one folder, by the table."""

    def __init__(self, matrix: Matrix) -> None:
        table = matrix.tables.get("shared-folders")
        rows = table.rows if table is not None else ()
        self._others: dict[str, frozenset[str]] = {}
        for row in rows:
            names = frozenset(cell_words(row["package"]))
            self._others |= {name: names - {name} for name in names}

    def others(self, name: str) -> frozenset[str]:
        """Return the distributions that write into the folder of one."""
        return self._others.get(name, frozenset())

    def replaced(self, facts: Mapping[str, Fact], choices: Iterable[Choice]) -> tuple[str, ...]:
        """Return the distributions that are there, and whose folder one that comes takes over."""
        coming = {name for each in choices for name in (each.distribution, *each.brings)}
        others = frozenset[str]().union(*(self._others.get(name, ()) for name in coming)) - coming
        if not others:
            return ()
        named, installed = (fact_mapping(facts.get(n)) for n in (NAMED, "packages.installed"))
        return tuple(sorted(others.intersection((*named, *installed))))
