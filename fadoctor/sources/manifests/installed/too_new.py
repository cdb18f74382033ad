"""What comes along in a release that a pinned package cannot be imported with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import BY_NAMES, declared, import_bounds
from fadoctor.knowledge.matrix.versions import parse_specifier, version_key, version_part
from fadoctor.model.fact import Absent, Fact, Known, fact_text, printable
from fadoctor.model.packages import TORCH, package_of
from fadoctor.sources.manifests.installed.contradicted import is_impossible
from fadoctor.sources.manifests.installed.planned_torch import is_conda
from fadoctor.sources.manifests.installed.range_ends import has_end
from fadoctor.sources.manifests.planned import speaks_of_image

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix
    from fadoctor.sources.manifests.installed.combine import Combined, Planned

TOO_NEW, TOO_NEW_BELOW = "packages.too_new", "packages.too_new_below"
TOO_NEW_UNLESS = "packages.too_new_unless"
_BOUND = re.compile(r"(?P<name>[\w.-]+)(?P<range>[<>=!~].{1,200})", re.ASCII)
# >=0.27.2,<0.28 has two
_EDGE = re.compile(r"[<>=~]=?=?\s{0,4}(\d[\w.]{0,30})")
_PAIRS, _CUDAS = "pairs", "files-for-cuda"
_NO_FACT = Absent("not read")
_SHOWN = 3
_SOURCE = f"matrix {BY_NAMES}, and what the files pin"


def too_new_facts(
    combined: Combined, facts: Mapping[str, Fact], others: Collection[str], matrix: Matrix
) -> dict[str, Fact]:
    """Return what comes along newer than what is pinned can import, and below which it may be.

    Only of what no file holds to a release and has no facts of its own: rules judge the others.
    What is pinned asks for names of it at import, so that it is required, whatever the tables list
    of metadata. `others`: what may keep it from its newest release in a way that no table says.
    Then the bound is right, whether it is needed or not; an image may hold a release that fits.
    """
    told: dict[str, str] = {}
    below: dict[str, str] = {}
    comes = {
        name: found for name, each in combined.packages.items() if (found := _comes(each, matrix))
    }
    is_unseen = combined.is_complete or any(map(speaks_of_image, combined.notes))
    for name, releases in () if is_unseen else comes.items():
        for other, fits, bound in _bounds(name, releases, matrix):
            asked = _asked(other, combined)
            if asked is None or package_of(other) or other in below:
                continue
            needs = [declared(n, found[0], matrix).get(other, "") for n, found in comes.items()]
            if _comes_newer(bound, (*needs, asked)):
                planned = combined.packages[name]
                which = f" {planned.version}" if planned.version else planned.specifier
                what = f"{name}{which} imports names of {other}{fits}"
                told[other] = f"({printable(what, 200)})"
                below[other] = ",".join(filter(None, (asked, bound)))
    for other, what, bound in () if is_unseen else _beside_torch(combined, facts, matrix):
        told[other] = f"({printable(what, 200)})"
        below[other] = ",".join(filter(None, (combined.packages[other].specifier, bound)))
    more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
    who = ", ".join(list(others)[:_SHOWN]) + more if below else ""
    return {
        TOO_NEW: Known(told, _SOURCE),
        TOO_NEW_BELOW: Known(_together(below), _SOURCE) if below else Absent(_SOURCE),
        TOO_NEW_UNLESS: Known(printable(who, 200), _SOURCE) if who else Absent(_SOURCE),
    }


def _beside_torch(
    combined: Combined, facts: Mapping[str, Fact], matrix: Matrix
) -> Iterator[tuple[str, str, str]]:
    """Yield what files leave open and is compiled for one torch, or for one CUDA, and its bound."""
    torch = combined.packages.get(TORCH)
    found = facts.get("torch.version", _NO_FACT)
    if torch is None or not torch.is_sure or not isinstance(found, Known):
        return
    rows = matrix.find(_PAIRS, {"package": Known(TORCH, "asked"), "version": found}).rows
    ends = {
        str(row["beside"]): (str(row["fits"]), _end(str(row["fits"])))
        for row in rows
        if isinstance(row.get("fits"), str) and not row.get("rule")
    }
    cuda = version_part(fact_text(facts.get("torch.cuda", _NO_FACT), ""), "major")
    for row in matrix.tables[_CUDAS].rows if cuda else ():
        name, begins = str(row["package"]), _EDGE.findall(str(row["version"]))
        planned = combined.packages.get(name)
        is_of_pypi = planned is not None and not (planned.index or combined.only_index)
        bound = f"<{begins[0]}"
        if (
            is_of_pypi
            and str(row["cuda"]) != cuda
            and _is_lower(bound, ends.get(name, ("", ""))[1])
        ):
            ends[name] = (f"{bound} for CUDA {cuda}", bound)
    for other, (fits, bound) in ends.items():
        asked = _asked(other, combined) if other in combined.packages else None
        if bound and asked is not None and not package_of(other) and _comes_newer(bound, (asked,)):
            yield other, f"torch {found.value} supports {other}{fits}", bound


def _is_lower(bound: str, than: str) -> bool:
    return not than or version_key(bound[1:]) < version_key(than[1:])


def _asked(name: str, combined: Combined) -> str | None:
    """Return the range in which files leave a package open; None where they hold it to one."""
    planned = combined.packages.get(name)
    if name in combined.bounds or planned is None:
        return None if name in combined.bounds else ""
    is_open = not (planned.version or planned.url or planned.open or is_conda(planned))
    return planned.specifier if is_open and planned.is_sure else None


def bounds_of(told: Fact | None) -> dict[str, str]:
    """Return the bounds by their packages, as the fact has them in one text."""
    words = str(told.value).split() if isinstance(told, Known) else []
    found = (_BOUND.fullmatch(word) for word in words)
    return {each["name"]: each["range"] for each in found if each}


def _together(below: Mapping[str, str]) -> str:
    return " ".join(f"{name}{bound}" for name, bound in below.items())


def _comes(planned: Planned, matrix: Matrix) -> tuple[str, ...]:
    """Return releases of which one surely comes, the newest first: a pin, or a closed range.

    Of a range its beginning, and where what is asked for at import changes within it.
    """
    if planned.url or planned.open or is_conda(planned) or not planned.is_sure:
        return ()
    if planned.version:
        return (planned.version,)
    allowed = parse_specifier(planned.specifier) if has_end(planned.specifier) else None
    rows = matrix.tables[BY_NAMES].rows if allowed is not None and BY_NAMES in matrix.tables else ()
    asked = [planned.specifier, *(str(r["version"]) for r in rows if r["package"] == planned.name)]
    edges = {edge for text in asked for edge in _EDGE.findall(text)} if len(asked) > 1 else set()
    found = (edge for edge in edges if allowed is not None and allowed.contains(edge))
    return tuple(sorted(found, key=version_key, reverse=True))


def _bounds(name: str, releases: tuple[str, ...], matrix: Matrix) -> Iterator[tuple[str, str, str]]:
    """Yield of what each of some releases imports names, where these are, and below which."""
    each = [import_bounds(name, version, matrix) for version in releases]
    for other, fits in each[0].items():
        ends = [_end(found.get(other, "")) for found in each]
        if all(ends):
            yield other, fits, max(ends, key=lambda end: version_key(end[1:]))


def _end(fits: str) -> str:
    """Return the upper end of a range, "" where it has none."""
    clauses = parse_specifier(fits) if fits else None
    return next((str(clause) for clause in clauses or () if clause.operator == "<"), "")


def _comes_newer(bound: str, needs: Iterable[str]) -> bool:
    """Return whether an installer may take a release beyond a bound, and could one below it."""
    asked = [text for text in needs if text]
    beyond = f">={bound.removeprefix('<')}"
    return not is_impossible((*asked, beyond)) and not is_impossible((*asked, bound))
