"""What comes along in a release that a pinned package cannot be imported with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import declared
from fadoctor.knowledge.matrix.versions import parse_specifier
from fadoctor.model.fact import Absent, Fact, Known, printable
from fadoctor.model.packages import package_of
from fadoctor.sources.manifests.contradicted import is_impossible
from fadoctor.sources.manifests.planned_torch import is_conda

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.combine import Combined, Planned

_TABLE = "name-bounds"
TOO_NEW, TOO_NEW_BELOW = "packages.too_new", "packages.too_new_below"
_SOURCE = f"matrix {_TABLE}, and what the files pin"


def too_new_facts(combined: Combined, others: Collection[str], matrix: Matrix) -> dict[str, Fact]:
    """Return what comes along newer than what is pinned can import, and below which it may be.

    Only of what no file names and has no facts of its own: rules judge the others. What is pinned
    asks for names of it at import, so that it is required, whatever the tables list of metadata.
    `others`: what may keep it from its newest release in a way that no table says.
    """
    told: dict[str, str] = {}
    below: dict[str, str] = {}
    if not (combined.is_complete or others):
        pinned = [each for each in combined.packages.values() if _is_pinned(each)]
        for planned in pinned:
            for other, fits, bound in _bounds(planned, matrix):
                is_named = other in combined.packages or other in combined.bounds
                if is_named or package_of(other) or other in below:
                    continue
                needs = [declared(e.name, e.version, matrix).get(other, "") for e in pinned]
                if _comes_newer(bound, needs):
                    what = f"{planned.name} {planned.version} imports names of {other}{fits}"
                    told[other] = f"({printable(what, 200)})"
                    below[other] = bound
    return {
        TOO_NEW: Known(told, _SOURCE),
        TOO_NEW_BELOW: Known(_together(below), _SOURCE) if below else Absent(_SOURCE),
    }


def bounds_of(told: Fact | None) -> dict[str, str]:
    """Return the bounds by their packages, as the fact has them in one text."""
    words = str(told.value).split() if isinstance(told, Known) else []
    return {name: f"<{end}" for name, _, end in (word.partition("<") for word in words)}


def _together(below: Mapping[str, str]) -> str:
    return " ".join(f"{name}{bound}" for name, bound in below.items())


def _is_pinned(planned: Planned) -> bool:
    is_plain = planned.version and not (planned.url or planned.open or is_conda(planned))
    return bool(is_plain) and planned.is_sure


def _bounds(planned: Planned, matrix: Matrix) -> Iterator[tuple[str, str, str]]:
    """Yield of what a release imports names, in which releases these are, and below which."""
    keys = {
        "package": Known(planned.name, "asked"),
        "version": Known(planned.version.partition("+")[0], "asked"),
    }
    for row in matrix.find(_TABLE, keys).rows:
        fits = str(row["fits"])
        ends = [str(clause) for clause in parse_specifier(fits) or () if clause.operator == "<"]
        if ends:
            yield str(row["beside"]), fits, ends[0]


def _comes_newer(bound: str, needs: Iterable[str]) -> bool:
    """Return whether an installer may take a release beyond a bound, and could one below it."""
    asked = [text for text in needs if text]
    beyond = f">={bound.removeprefix('<')}"
    return not is_impossible((*asked, beyond)) and not is_impossible((*asked, bound))
