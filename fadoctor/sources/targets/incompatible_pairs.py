"""Which installed packages do not go together, though no requirement says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fadoctor.knowledge.matrix.declared import BY_NAMES
from fadoctor.knowledge.matrix.query import Index
from fadoctor.knowledge.matrix.versions import parse_specifier, parse_version, version_part
from fadoctor.model.fact import Absent, Fact, Known, Unknown, fact_mapping, fact_text
from fadoctor.model.packages import PACKAGES
from fadoctor.sources.targets.unmet_requirements import NAMED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from fadoctor.knowledge.matrix.query import Matrix

TABLE = "pairs"
PAIRED = ("pair_told", "pair_why", "pair_other", "pair_warned")
"""What every package has; the second is there where the first is."""

_SOURCE = "the matrix of pairs, and the list of installed packages"
_LACKS_NAMES = "It imports names that the others have only in those releases."


def pair_facts(
    facts: Mapping[str, Fact], matrix: Matrix, packages: Collection[str], *, is_state: bool = False
) -> dict[str, Fact]:
    """Return with what of the installed packages each of some does not go.

    `is_state`: these are facts of a plan's state. There a name that is missing breaks a
    requirement, and what has to follow comes later: only those that were told before stay.
    """
    found: dict[str, Fact] = {}
    for package in packages:
        if isinstance(facts.get(f"{package}.version"), (Known, Unknown)):
            was_told = isinstance(facts.get(f"{package}.pair_told"), Known)
            tables = _tables(facts) if was_told or not is_state else (TABLE,)
            told = _of_package(package, facts, matrix, tables)
            found |= {f"{package}.{name}": fact for name, fact in told.items()}
    return found


def pairs_of(
    distribution: Fact,
    version: Fact,
    installed: Mapping[str, str],
    matrix: Matrix,
    table: str = TABLE,
) -> Iterator[tuple[str, Any, str, str]]:
    """Yield what a release goes with: of what, in which versions, and what happens otherwise.

    Last in which versions it only warns, by itself: "" in none.

    None as versions is none at all, a mapping is not known. Pairs that a rule of their own judges,
    since more than versions decides, are left out.
    """
    if not isinstance(distribution, Known) or not isinstance(version, Known):
        return
    for row in matrix.find(table, {"package": distribution, "version": version}).rows:
        if not row.get("rule") and installed.get(str(row["beside"])):
            what = str(row.get("what") or "")
            yield str(row["beside"]), row.get("fits"), what, str(row.get("warned") or "")


def paired_with(distributions: Collection[str], matrix: Matrix) -> tuple[str, ...]:
    """Return the prefixes of the packages of which the matrix says with what of some they go."""
    askers = _askers(matrix)
    names = frozenset().union(*(askers[each] for each in askers.keys() & set(distributions)))
    return tuple(key for key, several in PACKAGES.items() if not names.isdisjoint(several))


def _askers(matrix: Matrix) -> dict[str, set[str]]:
    """Return distribution -> those of which the tables say with what of it they go."""
    found: dict[str, set[str]] | None = matrix.read.get(PAIRED)
    if found is None:
        found = matrix.read[PAIRED] = {}
        for row in (row for table in (TABLE, BY_NAMES) for row in matrix.tables[table].rows):
            found.setdefault(str(row["beside"]), set()).update(str(row["package"]).split())
    return found


def _of_package(
    package: str, facts: Mapping[str, Fact], matrix: Matrix, tables: Collection[str]
) -> dict[str, Fact]:
    none: dict[str, Fact] = dict.fromkeys(PAIRED, Absent(f"{_SOURCE}: none"))
    named = facts.get(f"{package}.distribution")
    distribution = named if isinstance(named, Known) else Known(PACKAGES[package][0], package)
    tables = [t for t in tables if Index.of(matrix.tables[t]).names(str(distribution.value))]
    if not tables:
        return none
    version = facts[f"{package}.version"]
    is_listed = TABLE in tables
    if isinstance(version, Unknown):
        return dict.fromkeys(PAIRED, version) if is_listed else none
    installed = facts.get("packages.installed")
    there = _mapping(installed)
    if there is None:
        unread = installed or Unknown("it was not read", package)
        none = dict.fromkeys(PAIRED, unread) if is_listed else none
        there = fact_mapping(facts.get(NAMED))
    told: dict[str, str] = {}
    why: list[str] = []
    warned: list[bool] = []
    for table in tables:
        for beside, fits, what, warns in pairs_of(distribution, version, there, matrix, table):
            if isinstance(fits, dict):
                return dict.fromkeys(PAIRED, Unknown(str(fits.get("unknown", "")), _SOURCE))
            if fits is None or not _is_in(there[beside], str(fits)):
                range_ = f"it supports {fits}, but " if fits else ""
                told[beside] = f"({range_}{there[beside]} is installed)"
                why.append(what or _LACKS_NAMES)
                warned.append(bool(warns) and _is_in(there[beside], warns))
    if not told:
        return none
    words = " ".join(dict.fromkeys(why))
    others = {name: there[name] for name in told}
    other = _other(str(distribution.value), fact_text(version, ""), others, matrix, tables)
    return {
        "pair_told": Known(told, _SOURCE),
        "pair_why": Known(words, _SOURCE),
        "pair_other": Known(other, _SOURCE)
        if other
        else Absent("there is no known matching release"),
        "pair_warned": Known(value=True, source=_SOURCE)
        if all(warned)
        else Absent("it does more than warn"),
    }


def _mapping(fact: Fact | None) -> dict[str, str] | None:
    """Return the versions that a fact holds, None where it is not Known."""
    return fact.value if isinstance(fact, Known) and isinstance(fact.value, dict) else None


def _tables(facts: Mapping[str, Fact]) -> tuple[str, ...]:
    """Return the tables that say with what releases go: names that were followed need none."""
    is_followed = isinstance(facts.get("contract.count"), Known)
    return (TABLE,) if is_followed else (TABLE, BY_NAMES)


def _other(
    distribution: str,
    here: str,
    beside: Mapping[str, str],
    matrix: Matrix,
    tables: Collection[str],
) -> str:
    """Return the newest releases of a package that go with all of some, "" where none is known.

    Those of the major version that is here go first: a program is written for it.
    """
    rows = [row for table in tables for row in matrix.tables[table].rows]
    mine = [row for row in rows if row["package"] == distribution and not row.get("rule")]
    ranges = [*reversed(dict.fromkeys(str(row["version"]) for row in mine))]
    start = f">={version_part(here, 'major')}."
    for version in sorted(ranges, key=lambda each: not each.startswith(start)):
        fits = {str(row["beside"]): row.get("fits") for row in mine if row["version"] == version}
        specifiers = {name: fits.get(name) for name in beside}
        if all(isinstance(s, str) and _is_in(beside[n], s) for n, s in specifiers.items()):
            return f"{distribution}{version}"
    if BY_NAMES not in tables:
        return ""
    read = [row for row in matrix.tables[BY_NAMES].rows if row["package"] == distribution]
    if not {str(row["beside"]) for row in read}.issuperset(beside):
        return ""
    own = [row for row in mine if row["beside"] in beside]
    for version in dict.fromkeys(str(row["version"]) for row in reversed(read)):
        rows = [row for row in own if _overlap(version, str(row["version"]))]
        if all(_is_in(beside[str(row["beside"])], str(row.get("fits"))) for row in rows):
            return f"{distribution}{version}"  # these were read, and ask for nothing that is gone
    return ""


def _overlap(one: str, other: str) -> bool:
    """Return whether one range begins within another; what has no beginning is taken to."""
    starts = [_start(one), _start(other)]
    return not all(starts) or _is_in(starts[0], other) or _is_in(starts[1], one)


def _start(specifier: str) -> str:
    clauses = parse_specifier(specifier) or ()
    return next((each.version for each in clauses if each.operator in (">=", "==")), "")


def _is_in(version: str, specifier: str) -> bool:
    """Return whether a version is in a specifier; what cannot be read is taken to be."""
    allowed, parsed = parse_specifier(specifier), parse_version(version)
    return allowed is None or parsed is None or allowed.contains(parsed, prereleases=True)
