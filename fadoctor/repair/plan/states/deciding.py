"""Which packages decide how a rule about all that is installed comes out, in one environment.

Such a rule asks about a few of them, which tables and requirements name: it can be judged as soon
as these are decided, rather than once everything is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.declared import BY_NAMES
from fadoctor.knowledge.matrix.query import cell_words
from fadoctor.knowledge.matrix.same_version import TABLE as SAME_VERSION
from fadoctor.model.fact import fact_mapping, fact_text
from fadoctor.model.packages import PACKAGES, TORCH, package_of
from fadoctor.repair.plan.states.post_state import REQUIRED, SETTLED
from fadoctor.repair.plan.states.rule_inputs import EVERYTHING, facts_of_all
from fadoctor.sources.targets.incompatible_pairs import PAIRED
from fadoctor.sources.targets.incompatible_pairs import TABLE as PAIRS
from fadoctor.sources.targets.unmet_requirements import DERIVED, MINIMUMS, names_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fadoctor.knowledge.matrix.query import Matrix, Row
    from fadoctor.model.environment import Environment
    from fadoctor.repair.plan.states.relations import Relation
    from fadoctor.repair.plan.states.same_folder import SameFolder

_CHECKS = "requirement-checks"


class Deciding:
    """Those of one environment."""

    def __init__(self, environment: Environment, matrix: Matrix, same_folder: SameFolder) -> None:
        """Take the environment before any choice, and the tables."""
        self._environment = environment
        self._matrix = matrix
        self._same_folder = same_folder

    def of(self, relation: Relation) -> frozenset[str]:
        """Return the packages that decide it: `EVERYTHING` is left where no table names them."""
        if EVERYTHING not in relation.mentions:
            return relation.mentions
        found = {TORCH, *relation.mentions} - {EVERYTHING}
        for path in facts_of_all(relation.rule, relation.package):
            names = self._names(path, relation.package)
            if names is None:
                return relation.mentions
            for name in names:
                others = self._same_folder.others(name)
                found |= {package_of(each, each) for each in (name, *others)}
        return frozenset(found)

    def _names(self, path: str, package: str) -> set[str] | None:
        """Return the distributions that decide a fact, None where all may."""
        head, _, noun = path.partition(".")
        if head == "package" and noun in PAIRED:
            return set(self._pairs(package))
        if head == "package" and noun in DERIVED:
            return set(self._requirements(package))
        whole = next((name for name in SETTLED if path == name or path.startswith(f"{name}.")), "")
        return set(self._lines(whole)) if whole else None

    def _pairs(self, package: str) -> Iterator[str]:
        """Yield what the tables of pairs name beside any release of a package."""
        for row in (row for table in (PAIRS, BY_NAMES) for row in self._about(package, table)):
            yield str(row["beside"])

    def _requirements(self, package: str) -> Iterator[str]:
        """Yield what a package requires as it is, and what it compares.

        What a release that comes requires comes with it, so that nothing of it is unmet.
        """
        yield from fact_mapping(self._environment.fact(f"{package}.requires"))
        yield from fact_mapping(self._environment.fact(f"{package}.checks"))
        for row in self._about(package, _CHECKS):
            for column in ("checks", "if_there", "beside", "there"):
                yield from names_in(cell_words(row.get(column)))
        for table in (MINIMUMS, SAME_VERSION):
            for row in self._about(package, table):
                yield str(row["needs"])
                yield from cell_words(row.get("beside"))

    def _lines(self, fact: str) -> Iterator[str]:
        """Yield the packages whose lines in files a fact is about."""
        for name, text in fact_mapping(self._environment.fact(fact)).items():
            yield name
            said = REQUIRED.search(text)
            yield said["other"] if said else name

    def _about(self, package: str, table: str) -> Iterator[Row]:
        """Yield the rows of a table that are about a package, by any name."""
        own = fact_text(self._environment.fact(f"{package}.distribution"), "")
        rows = _by_package(self._matrix, table)
        for name in {own, *PACKAGES.get(package, (package,))}:
            yield from rows.get(name, ())


def _by_package(matrix: Matrix, table: str) -> dict[str, list[Row]]:
    """Return the rows of a table by package; every problem of a session asks for them."""
    asked = (Deciding, table)
    found: dict[str, list[Row]] | None = matrix.read.get(asked)
    if found is None:
        found = matrix.read[asked] = {}
        for row in matrix.tables[table].rows if table in matrix.tables else ():
            for name in dict.fromkeys(str(row["package"]).split()):
                found.setdefault(name, []).append(row)
    return found
