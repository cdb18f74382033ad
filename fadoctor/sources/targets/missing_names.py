"""What tables say of a name that one installed package asks of another in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fadoctor.knowledge.matrix.attribute_tables import ATTRIBUTES, AttributeTables
from fadoctor.knowledge.matrix.load import load_apart
from fadoctor.knowledge.matrix.name_tables import MODULE, MissingName, NameTables, releases_read
from fadoctor.knowledge.matrix.query import Matrix
from fadoctor.model.fact import Absent, Fact, Known

if TYPE_CHECKING:
    from collections.abc import Mapping

TOLD = ("told", "way", "upgrade", "other")
"""The facts that follow, of each name."""

_SOURCE = "releases that were read"


def asked_of(module: str, name: str) -> str:
    """Return a name as one text, of which `wanted_in` makes what the tables are asked for."""
    return f"{module}:{name}" if name else module


def wanted_in(text: str) -> MissingName:
    """Return what a text means that `asked_of` made."""
    module, _, name = text.partition(":")
    return MissingName(module, name or MODULE)


def tabled(facts: Mapping[str, Fact], count: int) -> dict[str, Fact]:
    """Return what tables say of each of some names: who has it, and what could be installed.

    The tables are read only where there is a name, and are not a part of the common way.
    """
    if not count:
        return {}
    matrix = Matrix(load_apart())
    found: dict[str, Fact] = {}
    for index in range(count):
        told = (tables_of(facts, f"contract[{index}]", matrix)).facts()
        for name in TOLD:
            value = told.get(name)
            fact: Fact = Known(value, _SOURCE) if value else Absent("the tables do not list it")
            found[f"contract[{index}].{name}"] = fact
    return found


def tables_of(facts: Mapping[str, Fact], contract: str, matrix: Matrix) -> NameTables:
    """Return the tables of one name, by the head of its facts."""
    asker, version, provider, provided = (
        _text(facts, f"{contract}.{name}")
        for name in ("asker", "asker_version", "provider", "provider_version")
    )
    wanted = wanted_in(_text(facts, f"{contract}.asked"))
    module = {str(row["package"]): name for name, row in releases_read(matrix).items()}
    owner, _, attribute = wanted.name.rpartition(".")
    here = {module.get(asker, asker): version, module.get(provider, wanted.top): provided}
    if owner and ATTRIBUTES in matrix.tables:
        return AttributeTables(matrix, owner, attribute, lambda name: here.get(name, ""))
    return NameTables(matrix, wanted, module.get(asker, asker), lambda name: here.get(name, ""))


def is_wanted(facts: Mapping[str, Fact], contract: str, matrix: Matrix) -> bool | None:
    """Return whether a name is asked for in vain between the versions that facts name.

    None where nobody has read one of them.
    """
    tables = tables_of(facts, contract, matrix)
    asks = tables.asks(_text(facts, f"{contract}.asker_version"))
    has = tables.has(_text(facts, f"{contract}.provider_version"))
    if asks is False or has is True:
        return False
    return True if asks and has is False else None


def _text(facts: Mapping[str, Fact], name: str) -> str:
    fact = facts.get(name)
    return str(fact.value) if isinstance(fact, Known) else ""
