"""When releases were published: what came long after a release was never tried with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.versions import version_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.repair.plan.choices.choice import Choice

TABLE = "release-months"
_LONG = 3
"""Months after which a release is long after another."""
_ALONGSIDE = 1
"""Months within which it was there when the other was in use."""


class ReleaseMonths:
    """Those of one knowledge base."""

    def __init__(self, matrix: Matrix) -> None:
        """Read the table, which is compiled apart."""
        rows = matrix.tables[TABLE].rows if TABLE in matrix.tables else ()
        self._months = {
            (str(row["package"]), version): _number(str(row["month"]))
            for row in rows
            for version in cell_words(row["version"])
        }

    def of_their_time(
        self, found: Sequence[Choice], askers: Iterable[tuple[str, str]]
    ) -> list[Choice]:
        """Return releases with those first that were there when what asks for them was in use.

        The oldest asker for whose time there is one decides: newer askers say from which release on
        they work, and none says until which one. As they are where none is long after it, or nobody
        knows.
        """
        months = [self.of(each.distribution, each.version) for each in found]
        for asker in sorted({month for each in askers if (month := self.of(*each)) is not None}):
            minors = {
                version_part(each.version, "minor")
                for each, month in zip(found, months, strict=True)
                if month is not None and month <= asker + _ALONGSIDE
            }
            if not minors:
                continue
            if not any(month is not None and month > asker + _LONG for month in months):
                break
            # what mends such a release came later
            return sorted(found, key=lambda each: version_part(each.version, "minor") not in minors)
        return list(found)

    def end_of_their_time(self, found: Sequence[Choice], askers: Iterable[tuple[str, str]]) -> str:
        """Return the bound that keeps away what came long after who asks, "" where nothing did."""
        timely = self.of_their_time(found, askers)
        if not timely or timely[0] == found[0]:
            return ""
        major, _, minor = (version_part(timely[0].version, "minor") or "").partition(".")
        return f"<{major}.{int(minor) + 1}" if minor.isdigit() else ""

    def long_after(self, late: tuple[str, str], early: tuple[str, str]) -> int:
        """Return how many months a release came after another, 0 for few, or where nobody knows."""
        first, second = self.of(*early), self.of(*late)
        passed = second - first if first is not None and second is not None else 0
        return passed if passed > _LONG else 0

    def newest_of(self, releases: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the one of some releases that was published last, none where nobody knows."""
        dated = [(month, each) for each in releases if (month := self.of(*each)) is not None]
        return [max(dated)[1]] if dated else []

    def of(self, distribution: str, version: str) -> int | None:
        """Return the month of a release as a number, None where nobody knows."""
        return self._months.get((distribution, version_part(version, "base") or version))


def _number(month: str) -> int:
    """Return ``2025-10`` as a number of months."""
    year, _, of_year = month.partition("-")
    return int(year) * 12 + int(of_year)
